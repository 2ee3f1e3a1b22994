"""One image of an eval set: its references, and every system's caption with scores, rank and word differences."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clipstore import keys
from clipstore.compare.record import key_of, number
from clipstore.errors import InputError
from clipstore.evalset.systems import one_each
from clipstore.evaluate.measuring import measure_systems, needs_images, wanted
from clipstore.evaluate.names import IMAGE
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.metrics import clip_s
from clipstore.metrics.recipes import spoken
from clipstore.store import Space
from clipstore.store.progress import silent
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.evalset import EvalSet
    from clipstore.evalset.systems import System
    from clipstore.evaluate.measured import Measured
    from clipstore.items import EvalItem, ItemKey
    from clipstore.metrics.recipes import Recipe
    from clipstore.metrics.score import Signature
    from clipstore.store import Progress, Store


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One system's caption of the image.

    Parameters
    ----------
    system, caption
        Who said what; the caption is None where the system has none.
    scores
        Metric -> number of this image, None where it is not defined.
    rank
        By the first metric, 1 first, equal ones share a rank; None without a number.
    reference, similarity
        Number of the closest reference (1 first) and the cosine to it; None without a model.
    difference
        The caption against the best one: ``[-word-]`` only in the best, ``{+word+}`` only here.
    """

    system: str
    caption: str | None
    scores: Mapping[str, float | None]
    rank: int | None
    reference: int | None
    similarity: float | None
    difference: str


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """An image with all that is known of it.

    Parameters
    ----------
    key
        The user's id.
    file
        Its file, where one is known.
    image_id
        Its content id, 16 hex digits.
    references
        In order.
    lines
        One a system, best first; those without a caption last.
    headers
        Metric -> header.
    signatures
        How the numbers were made.
    """

    key: ItemKey
    file: str | None
    image_id: str | None
    references: tuple[str, ...]
    lines: tuple[Line, ...]
    headers: Mapping[str, str]
    signatures: tuple[str, ...]

    def table(self) -> Table:
        """Return one row a system."""
        columns = [Column("#"), Column("system", "left"), *(Column(shown) for shown in self.headers.values())]
        columns += [Column("best ref"), Column("cos"), Column("caption", "left"), Column("against the best", "left")]
        rows = []
        for line in self.lines:
            scores = ["-" if (value := line.scores[metric]) is None else f"{value:.4f}" for metric in self.headers]
            closest = "-" if line.reference is None else str(line.reference)
            cosine = "-" if line.similarity is None else f"{line.similarity:.3f}"
            rank = "-" if line.rank is None else str(line.rank)
            caption = "(no caption)" if line.caption is None else line.caption
            rows.append((rank, line.system, *scores, closest, cosine, caption, line.difference))
        return Table(tuple(columns), tuple(rows), self.signatures)

    def reference_table(self) -> Table:
        """Return one row a reference, below what names the image."""
        head = " ".join(part for part in (str(self.key), self.file, self.image_id and f"id {self.image_id}") if part)
        rows = tuple((str(place), text) for place, text in enumerate(self.references, 1))
        return Table((Column("ref"), Column(f"references of {head}", "left")), rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON values."""
        return {
            "schema": 1,
            "image": self.key,
            "file": self.file,
            "image_id": self.image_id,
            "references": list(self.references),
            "systems": [
                {
                    "name": line.system,
                    "caption": line.caption,
                    "metrics": {key_of(metric): number(value) for metric, value in line.scores.items()},
                    "rank": line.rank,
                    "best_reference": line.reference,
                    "reference_similarity": number(line.similarity),
                    "difference": line.difference,
                }
                for line in self.lines
            ],
            "signatures": list(self.signatures),
        }


def find(evalset: EvalSet, given: str) -> int:
    """Return the row of an image by its id, its file's name or its content id.

    Raises
    ------
    InputError
        When the set has no such image; the message shows what its ids look like.
    """
    for row, item in enumerate(evalset.items):
        if str(item.key) == given or (item.image_id is not None and keys.to_hex(item.image_id) == given):
            return row
    try:
        met = evalset.rows_of([given], "IMAGE_ID", missing="skip").keys[0]
    except InputError:
        met = None
    if met is None:
        some = ", ".join(str(key) for key in evalset.keys[:3])
        msg = f"no image {given!r} in the set of {len(evalset.items):,}; its ids look like {some}"
        raise InputError(msg)
    return evalset.keys.index(met)


def show(
    where: Space | Store,
    systems: Sequence[System],
    evalset: EvalSet,
    row: int,
    metrics: Sequence[str] | None = None,
    recipe: Recipe | None = None,
    *,
    encode: bool = True,
    progress: Progress = silent,
) -> Shown:
    """Return one image with every system's caption.

    CLIP-S and RefCLIP-S are those of this image alone, so nothing else is read; other
    metrics are measured over the whole set, since they depend on it.

    Parameters
    ----------
    where
        As for :func:`clipstore.evaluate.measuring.measure`.
    systems
        In the order of the set.
    evalset
        The set.
    row
        Which image, from :func:`find`.
    metrics, recipe, encode, progress
        As for :func:`clipstore.evaluate.measuring.measure`.
    """
    item, made_by = evalset.items[row], recipe or recipe_of(where)
    names = wanted(evalset, metrics)
    alone = all(name in IMAGE for name in names)
    kept = _only(evalset, row) if alone else evalset
    place = 0 if alone else row
    own = [one_each(one.name, (item.key,), (one.texts[row],)) for one in systems] if alone else systems
    made = measure_systems(where, own, kept, metrics, made_by, encode=encode, progress=progress)
    closest = _closest(where, item, systems, row, made_by) if needs_images(names) and isinstance(where, Space) else {}
    signatures = [str(measure.signature) for measure in made.measures.values()]
    if alone and all(one.image_id is not None for one in evalset.items):
        signatures = [str(_of_whole(measure.signature, evalset)) for measure in made.measures.values()]
    return Shown(
        item.key,
        evalset.paths[row] if evalset.paths else None,
        None if item.image_id is None else keys.to_hex(item.image_id),
        item.references,
        tuple(_lines(made, place, systems, row, closest)),
        {name: measure.shown for name, measure in made.measures.items() if measure.aggregate != "value"},
        tuple(signatures),
    )


def _of_whole(signature: Signature, evalset: EvalSet) -> Signature:
    """Return the signature of one image's numbers as that of the set they belong to."""
    counts = [len(item.references) for item in evalset.items]
    low, high = min(counts), max(counts)
    held = {
        "set": evalset.digest([item.image_id for item in evalset.items])[:8],
        "refs": str(low) if low == high else f"{low}-{high}",
    }
    return replace(signature, fields=tuple((name, held.get(name, value)) for name, value in signature.fields))


def _only(evalset: EvalSet, row: int) -> EvalSet:
    return replace(evalset, items=(evalset.items[row],), paths=evalset.paths[row : row + 1], unpaired=(), alternates={})


def _closest(
    space: Space, item: EvalItem, systems: Sequence[System], row: int, recipe: Recipe
) -> dict[str, tuple[int, float]]:
    """Return system -> number of its closest reference and the cosine to it."""
    texts = {one.name: text for one in systems if (text := one.texts[row]) is not None and text.strip()}
    if not item.references or not texts:
        return {}
    said = spoken(recipe, [*item.references, *texts.values()])
    references = space.gather_texts(space.text_keys([said[text] for text in item.references], recipe.prefix))
    captions = space.gather_texts(space.text_keys([said[text] for text in texts.values()], recipe.prefix))
    out = {}
    own = np.arange(len(references))
    for place, name in enumerate(texts):
        cosines = clip_s.similarities(captions, np.full(len(own), place), references, own)
        best = int(cosines.argmax())
        out[name] = (best + 1, float(cosines[best]))
    return out


def _lines(
    made: Measured, place: int, systems: Sequence[System], row: int, closest: Mapping[str, tuple[int, float]]
) -> list[Line]:
    shown = {name: one for name, one in made.measures.items() if one.aggregate != "value"}
    first = next(iter(shown.values()), None)
    sign = -1 if first is not None and not first.higher_is_better else 1
    scores = [
        {name: number(float(measure.per_item[at, place])) for name, measure in shown.items()}
        for at in range(len(systems))
    ]
    heads = [next(iter(one.values()), None) for one in scores]
    known = [sign * head for head in heads if head is not None]
    ranks = [None if head is None else 1 + sum(other > sign * head for other in known) for head in heads]
    order = sorted(range(len(systems)), key=lambda at: (ranks[at] is None, ranks[at] or 0))
    best = systems[order[0]].texts[row] or ""
    out = []
    for at in order:
        text = systems[at].texts[row]
        reference, similarity = closest.get(systems[at].name, (None, None))
        shown_difference = "" if text is None or at == order[0] else difference(best, text)
        out.append(Line(systems[at].name, text, scores[at], ranks[at], reference, similarity, shown_difference))
    return out


def difference(best: str, other: str) -> str:
    """Return two captions as one line: ``[-word-]`` only in the first, ``{+word+}`` only in the second."""
    left, right = best.split(), other.split()
    parts = []
    for what, i, j, m, n in difflib.SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if what == "equal":
            parts.append(" ".join(left[i:j]))
            continue
        if j > i:
            parts.append(f"[-{' '.join(left[i:j])}-]")
        if n > m:
            parts.append(f"{{+{' '.join(right[m:n])}+}}")
    return " ".join(parts)
