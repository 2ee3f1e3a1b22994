"""``measure``: systems on an eval set with every metric asked for, from the store where it knows them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, final

from clipstore import formats
from clipstore.errors import InputError, NoReferences
from clipstore.evalset.systems import systems_of
from clipstore.evaluate.caption_metrics import diversity_measures, retrieval_measures
from clipstore.evaluate.circular import chosen_by
from clipstore.evaluate.measured import Items, Measured, MeasuredSystem
from clipstore.evaluate.names import DIVERSITY, IMAGE, RETRIEVAL, USUAL_TEXT, metric_names
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.evaluate.text_metrics import text_measures
from clipstore.evaluate.verb import score_systems
from clipstore.formats import Captions, Hints
from clipstore.metrics import recipes
from clipstore.metrics.names import TEXT
from clipstore.store import Space
from clipstore.store.identify import identify
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.evalset import EvalSet
    from clipstore.evalset.evalset import MissingRule
    from clipstore.evalset.systems import EmptyRule, System
    from clipstore.evaluate.measures import Measure
    from clipstore.evaluate.results import Scores
    from clipstore.metrics.recipes import Recipe
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store import Progress, Store


def measure(
    where: Space | Store,
    systems: Mapping[str, formats.Source | Captions],
    evalset: EvalSet,
    metrics: Sequence[str] | None = None,
    *,
    recipe: str | None = None,
    missing: MissingRule = "error",
    empty: EmptyRule = "error",
    hints: Hints | None = None,
    encode: bool = True,
    progress: Progress = silent,
) -> Measured:
    """Measure systems with any metrics, for :func:`clipstore.compare`.

    Parameters
    ----------
    where
        The vectors of one encoder; a store is enough where no metric looks at images.
    systems
        Name -> captions, as for :func:`clipstore.score`.
    evalset
        The images that count, with references.
    metrics
        Names, any spelling; None: CLIP-S (and RefCLIP-S where there are references), or text
        metrics for a set without images.
    recipe
        How the numbers are made; the model's own unless given: see :func:`recipe_of`.
    missing, empty, hints, encode, progress
        As for :func:`clipstore.score`.

    Raises
    ------
    InputError
        When a name is no metric, or none of those asked can be had.
    NoReferences
        When a metric needs references and the set has none.
    """
    hints = hints or Hints()
    read = {
        name: given if isinstance(given, Captions) else formats.read_captions(given, hints)
        for name, given in systems.items()
    }
    evalset = evalset.covering(read.values(), hints, missing)
    aligned = systems_of(read, evalset, missing=missing, empty=empty, hints=hints)
    made = None if recipe is None else recipes.recipe(recipe)
    return measure_systems(where, aligned, evalset, metrics, made, encode=encode, progress=progress)


def measure_systems(
    where: Space | Store,
    systems: Sequence[System],
    evalset: EvalSet,
    metrics: Sequence[str] | None = None,
    recipe: Recipe | None = None,
    *,
    encode: bool = True,
    progress: Progress = silent,
) -> Measured:
    """Measure systems that already stand in the order of the eval set: see :func:`measure`."""
    if not systems:
        msg = "there are no systems to measure"
        raise InputError(msg)
    names = wanted(evalset, metrics)
    own = recipe or recipe_of(where)
    work = _Work(where, systems, evalset, own)
    scores = None
    if needs_images(names):
        space = work.space()
        scores = score_systems(space, systems, evalset, own, encode=encode, progress=progress)
    without = "ref-clip-s" in names and own.references == "none"
    problems = (f"RefCLIP-S: recipe {own.name} has no score with references; left out",) if without and metrics else ()
    return work.measured(names, scores, problems)


def wanted(evalset: EvalSet, metrics: Sequence[str] | None) -> list[str]:
    """Return the metrics to measure: those asked, else what the set allows.

    Raises
    ------
    NoReferences
        When a metric needs references and the set has none.
    InputError
        When a metric needs images and the set has none.
    """
    referenced = any(item.references for item in evalset.items)
    if not metrics:
        usual = IMAGE if evalset.has_images else USUAL_TEXT
        asked = [name for name in usual if referenced or name == "clip-s"]
    else:
        asked = metric_names(metrics)
    lacking = [name for name in asked if name in {*TEXT, "ref-clip-s"} and not referenced]
    if lacking or not asked:
        msg = f"{', '.join(lacking) or 'text metrics'}: no image of the set has references; give some with --refs"
        raise NoReferences(msg)
    if needs_images(asked) and not evalset.has_images:
        msg = f"{', '.join(name for name in asked if needs_images([name]))}: the set has no images; give --images"
        raise InputError(msg)
    return asked


def needs_images(names: Sequence[str]) -> bool:
    """Return whether some metric looks at images, and so needs an encoder's vectors."""
    return any(name in IMAGE or name in RETRIEVAL for name in names)


@final
@dataclass(frozen=True, eq=False)
class _Work:
    """One measuring: where, which systems, on which set."""

    where: Space | Store
    systems: Sequence[System]
    evalset: EvalSet
    recipe: Recipe

    def space(self) -> Space:
        if isinstance(self.where, Space):
            return self.where
        msg = "these metrics look at images: pass a space, as from store.space(MODEL)"
        raise InputError(msg)

    @property
    def _catalogue(self) -> Catalogue:
        return self.where.catalogue

    def _image_ids(self, scores: Scores | None) -> list[int | None]:
        """Return each item's image id; None where it has no image, or one that can't be encoded."""
        items = self.evalset.items
        ids: list[int | None] = [item.image_id for item in items]
        rows = [row for row, item in enumerate(items) if item.image is not None]
        if rows:
            images = [image for row in rows if (image := items[row].image) is not None]
            failed = {failure.name for failure in scores.failures} if scores is not None else set[str]()
            for row, image, id_ in zip(rows, images, identify(self._catalogue, images, silent).ids, strict=True):
                ids[row] = None if image.name in failed else id_
        return ids

    def measured(self, names: Sequence[str], scores: Scores | None, problems: tuple[str, ...] = ()) -> Measured:
        """Put every metric beside the others, in the order asked."""
        ids = self._image_ids(scores)
        digest = self.evalset.digest(ids) if scores is None else scores.set_digest
        counts = sorted({len(item.references) for item in self.evalset.items if item.references})
        blank = any(text is not None and not text.strip() for system in self.systems for text in system.texts)
        signed = [("set", digest[:8])]
        if counts:
            signed.append(("refs", str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"))
        if blank:
            signed.append(("empty", "zero"))
        version = ("v", metadata.version("clipstore"))
        made: dict[str, Measure] = {} if scores is None else dict(Measured.of_scores(scores).measures)
        of_captions = [name for name in names if name in DIVERSITY]
        made |= diversity_measures(self.systems, of_captions, [signed[0], version])
        retrieval = [name for name in names if name in RETRIEVAL]
        if retrieval and scores is not None:
            signature = scores.signatures["clip-s"]
            made |= retrieval_measures(self.space(), self.systems, ids, self.recipe, retrieval, signature)
        of_text = [name for name in names if name in TEXT]
        if of_text:
            texts = text_measures(self._catalogue, self.systems, self.evalset, of_text, [*signed, version])
            made, problems = made | dict(texts.measures), (*problems, *texts.problems)
        measures = {name: made[name] for name in names if name in made}
        if not measures:
            raise InputError("; ".join(problems) or "no metric could be had")
        return self._whole(measures, scores, ids, digest, problems)

    def _whole(
        self,
        measures: Mapping[str, Measure],
        scores: Scores | None,
        ids: Sequence[int | None],
        digest: str,
        problems: tuple[str, ...],
    ) -> Measured:
        evalset = self.evalset
        paths = evalset.paths or (None,) * len(evalset.items)
        items = Items(
            evalset.keys,
            tuple(item.references for item in evalset.items),
            tuple(item.tags for item in evalset.items),
            tuple(path or "" for path in paths),
            tuple(ids),
        )
        warnings = [f"{system.name}: {line}" for system in self.systems for line in system.warnings]
        base = Measured(
            evalset.name,
            digest,
            items,
            len(evalset.items) + len(evalset.unpaired),
            tuple(evalset.unpaired),
            tuple(_system(system, scores) for system in self.systems),
            measures,
            described=(*evalset.described, *(one.described for one in self.systems if one.described)),
            warnings=(*evalset.warnings, *warnings),
            notes=problems,
        )
        if scores is None:
            return base
        space = self.space()
        encoder = {
            "model": space.shown,
            "fingerprint": space.fingerprint.digest,
            "weights": str(space.fingerprint.fields.get("weights", "")),
        }
        chosen = chosen_by(self._catalogue, evalset, self.systems, space.fingerprint.digest)
        shown = ", ".join(measure.shown for name, measure in measures.items() if needs_images([name]))
        bounds = {name: f"chosen with the model behind {shown} ({how}): an upper bound" for name, how in chosen.items()}
        return replace(
            base,
            systems=tuple(
                replace(one, warnings=(*one.warnings, bounds[one.name])) if one.name in bounds else one
                for one in base.systems
            ),
            notes=(*base.notes, *(f"{name}: {said}" for name, said in bounds.items())),
            recipe=self.recipe.name,
            missing=scores.missing,
            encoder=encoder,
            failures=scores.failures,
            work=scores.work,
            warnings=scores.warnings,
        )


def _system(system: System, scores: Scores | None) -> MeasuredSystem:
    if scores is None:
        texts = [text for text in system.texts if text is not None]
        words = sum(len(text.split()) for text in texts) / len(texts) if texts else None
        return MeasuredSystem(system.name, system.digest, system.n, system.texts, None, words, system.warnings)
    scored = scores[system.name]
    return MeasuredSystem(
        system.name,
        system.digest,
        scored.n,
        system.texts,
        scored.cut,
        scored.words,
        system.warnings,
        cut_items=scored.cut_items,
    )
