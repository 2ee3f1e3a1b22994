"""``score``: from captions and an eval set to numbers, through the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore import formats
from clipstore.encoders import canonical
from clipstore.evalset.systems import System, systems_of
from clipstore.evaluate import runs
from clipstore.evaluate.filling import fill
from clipstore.evaluate.results import Scores, SystemScore
from clipstore.evaluate.signatures import Configuration, signatures
from clipstore.formats import Captions, Hints
from clipstore.metrics import clip_s, recipes, ref_clip_s
from clipstore.metrics.score import Score
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.arrays import Scores as Numbers
    from clipstore.evalset import EvalSet
    from clipstore.evalset.evalset import MissingRule
    from clipstore.evalset.systems import EmptyRule
    from clipstore.evaluate.filling import Filled
    from clipstore.metrics.recipes import Recipe
    from clipstore.metrics.score import Signature
    from clipstore.store import Progress, Space


def score(
    space: Space,
    systems: Mapping[str, formats.Source | Captions],
    evalset: EvalSet,
    *,
    recipe: str = "hessel2021",
    missing: MissingRule = "error",
    empty: EmptyRule = "error",
    hints: Hints | None = None,
    encode: bool = True,
    progress: Progress = silent,
) -> Scores:
    """Score systems with CLIP-S and, where there are references, RefCLIP-S.

    What the store lacks is encoded first; a fully cached call loads no model.

    Parameters
    ----------
    space
        The vectors of one encoder, from :meth:`clipstore.Store.space`.
    systems
        Name -> captions: a path, a dict, rows, or captions already read.
    evalset
        The images that count, with references.
    recipe
        How the numbers are made; ``hessel2021`` is the paper's.
    missing
        ``error`` refuses captions without image and images without caption; ``skip`` scores
        what both have.
    empty
        ``error`` refuses empty captions; ``zero`` scores them 0.
    hints
        Overrides for formats and id kinds.
    encode
        False refuses to encode anything.
    progress
        Told about the stages.

    Raises
    ------
    Unpaired, InputError
        When captions and images do not fit together.
    NotStored
        When something is missing and ``encode`` is False.
    """
    made = recipes.recipe(recipe)
    hints = hints or Hints()
    read = {
        name: given if isinstance(given, Captions) else formats.read_captions(given, hints)
        for name, given in systems.items()
    }
    evalset = evalset.covering(read.values(), hints, missing)
    aligned = systems_of(read, evalset, missing=missing, empty=empty, hints=hints)
    return score_systems(space, aligned, evalset, made, encode=encode, progress=progress)


def score_systems(
    space: Space,
    systems: Sequence[System],
    evalset: EvalSet,
    recipe: Recipe,
    *,
    encode: bool = True,
    progress: Progress = silent,
) -> Scores:
    """Score systems that already stand in the order of the eval set: see :func:`score`."""
    captioned = [any(system.texts[row] is not None for system in systems) for row in range(len(evalset.items))]
    written = [text for system in systems for text in system.texts if text is not None and text.strip()]
    read = evalset.without_references() if recipe.references == "none" else evalset
    filled = fill(space, read, written, recipe, captioned, encode=encode, progress=progress)
    image_ids = filled.image_ids
    gathered = _Gathered.of(space, read, filled)
    empty = any(text is not None and not text.strip() for system in systems for text in system.texts)
    left_out = [
        key
        for row, key in enumerate(evalset.keys)
        if filled.ready[row] is None or any(system.texts[row] is None for system in systems)
    ]
    digest = evalset.digest(image_ids)
    configuration = Configuration(
        recipe,
        digest,
        [len(item.references) for item in evalset.items],
        skipped=bool(evalset.unpaired) or any(text is None for system in systems for text in system.texts),
        unreadable=bool(filled.work.images.failures),
        empty=empty,
        counts=[
            sum(text is not None and ready is not None for text, ready in zip(system.texts, filled.ready, strict=True))
            for system in systems
        ],
        of=len(evalset.items) + len(evalset.unpaired),
    )
    signed = signatures(space, configuration)
    scored = tuple(_system_score(space, system, evalset, gathered, recipe, signed) for system in systems)
    results = Scores(
        systems=scored,
        signatures=signed,
        set_name=evalset.name,
        set_digest=digest,
        of=len(evalset.items) + len(evalset.unpaired),
        missing=(*evalset.unpaired, *left_out),
        failures=filled.work.images.failures,
        work=filled.work,
        described=(*evalset.described, *(system.described for system in systems if system.described)),
        warnings=(*space.notes, *evalset.warnings, *_flagged(filled), *_warnings(systems, scored, evalset)),
    )
    runs.record(space, results, systems, evalset, image_ids)
    return results


@final
@dataclass(frozen=True, slots=True)
class _Gathered:
    """The vectors that a scoring needs, each once, and where each item's stand."""

    images: Vectors
    image_row: list[int]  # of each item, -1 where it has no image
    captions: Vectors
    caption_row: dict[str, int]
    caption_keys: Ids
    references: Vectors
    reference_rows: list[list[int]]  # of each item

    @classmethod
    def of(
        cls,
        space: Space,
        evalset: EvalSet,
        filled: Filled,
    ) -> _Gathered:
        present = [id_ for id_ in dict.fromkeys(filled.ready) if id_ is not None]
        place = {id_: row for row, id_ in enumerate(present)}
        reference_row = {text: row for row, text in enumerate(filled.references)}
        work = filled.work
        return cls(
            space.gather_images(np.array(present, np.int64)),
            [-1 if id_ is None else place[id_] for id_ in filled.ready],
            space.gather_texts(work.captions.keys),
            {text: row for row, text in enumerate(filled.captions)},
            work.captions.keys,
            space.gather_texts(work.references.keys),
            [[reference_row[text] for text in item.references] for item in evalset.items],
        )


def _system_score(
    space: Space,
    system: System,
    evalset: EvalSet,
    gathered: _Gathered,
    recipe: Recipe,
    signed: Mapping[str, Signature],
) -> SystemScore:
    n = len(evalset.items)
    captioned = [row for row in range(n) if system.texts[row] is not None and gathered.image_row[row] >= 0]
    texts = {row: text for row in captioned if (text := system.texts[row]) is not None}
    scored = [row for row in captioned if texts[row].strip()]
    blank = np.array([row for row in captioned if not texts[row].strip()], np.int64)
    caption_rows = np.array([gathered.caption_row[texts[row]] for row in scored], np.int64)
    image_rows = np.array([gathered.image_row[row] for row in scored], np.int64)
    cosines = clip_s.similarities(gathered.images, image_rows, gathered.captions, caption_rows)
    image_term = clip_s.clip_s(cosines, recipe.weight, clamp=recipe.clamp)
    numbers = {"clip-s": _spread(n, scored, image_term, blank)}
    if "ref-clip-s" in signed:
        reference_term = _reference_term(gathered, scored, caption_rows)
        joined = _spread(n, scored, recipes.reference_score(recipe, image_term, reference_term), blank)
        joined[[not rows for rows in gathered.reference_rows]] = np.nan
        numbers["ref-clip-s"] = joined
    strips = space.fingerprint.cleaning == canonical.OPENAI_BPE
    cuts = space.cuts(np.unique(gathered.caption_keys[caption_rows]))
    tokens = [cuts.get(key, 0) for key in gathered.caption_keys[caption_rows].tolist()]
    return SystemScore(
        name=system.name,
        metrics={metric: Score(evalset.keys, values, signed[metric]) for metric, values in numbers.items()},
        captions=system.digest,
        n=len(captioned),
        of=n + len(evalset.unpaired),
        words=sum(len(text.split()) for text in texts.values()) / len(texts) if texts else None,
        cut=sum(count > 0 for count in tokens),
        cut_tokens=sum(tokens),
        cut_items=tuple(row for row, count in zip(scored, tokens, strict=True) if count),
        stripped=sum(canonical.specials(text) > 0 for text in texts.values()) if strips else 0,
        described=system.described,
        warnings=system.warnings,
    )


def _spread(n: int, rows: list[int], values: Numbers, blank: Ids) -> Numbers:
    """Lay values out over the whole set: NaN where there is no caption, 0 where it is empty."""
    out = np.full(n, np.nan, np.float32)
    out[rows] = values
    out[blank] = 0
    return out


def _reference_term(gathered: _Gathered, scored: list[int], caption_rows: Ids) -> Numbers:
    counts = np.array([len(gathered.reference_rows[row]) for row in scored], np.int64)
    flat = np.array([one for row in scored for one in gathered.reference_rows[row]], np.int64)
    cosines = clip_s.similarities(gathered.captions, np.repeat(caption_rows, counts), gathered.references, flat)
    return ref_clip_s.best_reference(cosines, np.cumsum(counts) - counts, len(scored))


def _flagged(filled: Filled) -> list[str]:
    """Say what was done to images beyond the official preprocessing, such as scaling from 16 bit."""
    return [f"{count:,} image{'s' if count > 1 else ''}: {flag}" for flag, count in filled.work.images.flags.items()]


def _warnings(systems: Sequence[System], scored: Sequence[SystemScore], evalset: EvalSet) -> list[str]:
    lines = []
    bare = sum(not item.references for item in evalset.items)
    if 0 < bare < len(evalset.items):
        lines.append(f"RefCLIP-S leaves out {bare:,} of {len(evalset.items):,} images: they have no references")
    for system, one in zip(systems, scored, strict=True):
        if one.stripped:
            special = "special strings such as <|endoftext|>"
            lines.append(f"{system.name}: {special} were left out of {one.stripped:,} captions")
        lines += [f"{system.name}: {line}" for line in system.warnings]
    return lines
