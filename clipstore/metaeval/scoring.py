"""Scores of rows (image, caption, references) by every metric: through the store, a file, or a function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import numpy as np

from clipstore.errors import InputError
from clipstore.evalset import EvalSet
from clipstore.evalset.systems import one_each
from clipstore.evaluate.measuring import measure_systems, needs_images
from clipstore.evaluate.names import IMAGE, metric_names
from clipstore.items import EvalItem, Image
from clipstore.metaeval import cider, cross
from clipstore.metrics import recipes
from clipstore.metrics.names import SHOWN, TEXT
from clipstore.metrics.text import JavaFault
from clipstore.store import Space
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clipstore.encoders.protocol import PairScorer
    from clipstore.evaluate.measured import Measured
    from clipstore.metaeval.external import External
    from clipstore.metaeval.protocols import Numbers, References
    from clipstore.metrics.recipes import Recipe
    from clipstore.store import Progress, Store

    UserMetric = Callable[[Sequence[Path | None], Sequence[str], Sequence[References]], Sequence[float]]

USUAL: Final = ("bleu-1", "bleu-4", "rouge-l", "meteor", "cider")
"""What is evaluated beside CLIP-S and RefCLIP-S unless asked otherwise."""

REFERENCE_FREE: Final = frozenset({"clip-s"})
"""Metrics that read no reference: one draw of references is as good as five."""

_NO_IMAGES: Final = "looks at images: give their folder with --images"
_NO_REFERENCES: Final = "compares with references, and the benchmark has none"
_NO_NUMBER: Final = "no single caption has a number: it is one of a whole system, or every image is missing"
_NO_SPACE: Final = "needs an encoder: pass a space, as from store.space(MODEL)"


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """What a metric sees: columns of equal length.

    Parameters
    ----------
    images
        Names of images.
    captions
        Of each row.
    references
        Of each row.
    """

    images: Sequence[str]
    captions: Sequence[str]
    references: Sequence[References]

    def __len__(self) -> int:
        return len(self.images)


@final
@dataclass(frozen=True, eq=False)
class Sources:
    """Where scores come from.

    Parameters
    ----------
    where
        The vectors of one encoder; a store is enough where no metric looks at images.
    files
        Image name -> its file.
    external
        Name -> scores from a file.
    functions
        Name -> a metric of the user's own.
    scorers
        Name -> a scorer of image and caption together.
    recipe
        How CLIP-S and its kin are made.
    encode
        False refuses to encode.
    progress
        Told about the stages.
    """

    where: Space | Store
    files: Mapping[str, Path] = field(default_factory=dict)
    external: Mapping[str, External] = field(default_factory=dict)
    functions: Mapping[str, UserMetric] = field(default_factory=dict)
    scorers: Mapping[str, PairScorer] = field(default_factory=dict)
    recipe: Recipe = recipes.HESSEL2021
    encode: bool = True
    progress: Progress = silent


@final
@dataclass(frozen=True, eq=False)
class Scored:
    """Scores by metric.

    Parameters
    ----------
    values
        Metric -> float64, shape (rows,); NaN where it has none.
    signatures
        Metric -> how its numbers were made.
    problems
        Metric -> why it could not be had.
    notes
        What a reader must know.
    """

    values: dict[str, Numbers] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def chosen(metrics: Sequence[str] | None, *, extra: bool, images: bool) -> list[str]:
    """Return the metrics to evaluate, by canonical name.

    Parameters
    ----------
    metrics
        As asked; None: the usual ones, or none beside scores from elsewhere.
    extra
        Whether there are scores from files or functions.
    images
        Whether there are images: without them CLIP-S is not asked for unless by name.
    """
    if metrics is not None:
        return metric_names(metrics)
    if extra and not images:
        return []
    return [*IMAGE, *USUAL]


def score_rows(rows: Rows, metrics: Sequence[str], sources: Sources) -> Scored:
    """Score every row by each metric; one that can't be had is a problem, not an end.

    Parameters
    ----------
    rows
        Images, captions and references.
    metrics
        Canonical names.
    sources
        Where scores come from.

    Raises
    ------
    NotStored
        When something is not encoded and ``sources.encode`` is False.
    """
    out = Scored(problems=_impossible(rows, metrics, sources))
    possible = [name for name in metrics if name not in out.problems]
    notes: tuple[str, ...] = ()
    if possible:
        _through_store(rows, possible, sources, out)
    for name, scorer in sources.scorers.items():
        if sources.files:
            out.values[name] = cross.score(
                scorer,
                sources.where.catalogue,
                rows.images,
                rows.captions,
                sources.files,
                encode=sources.encode,
                progress=sources.progress,
            )
            out.signatures[name] = f"{name}|scorer:{scorer.fingerprint.digest[:8]}"
        else:
            out.problems[name] = _NO_IMAGES
    for name, external in sources.external.items():
        out.values[name], note = external.of(rows)
        notes += (note,) if note else ()
    paths = [sources.files.get(image) for image in rows.images]
    for name, function in sources.functions.items():
        out.values[name] = _called(name, function(paths, rows.captions, rows.references), len(rows))
    order = (*metrics, *sources.scorers, *sources.external, *sources.functions)
    ordered = {name: out.values[name] for name in order if name in out.values}
    for name in [name for name, values in ordered.items() if np.isnan(values).all()]:
        del ordered[name]
        out.problems[name] = _NO_NUMBER
    return Scored(ordered, out.signatures, out.problems, notes)


def _impossible(rows: Rows, metrics: Sequence[str], sources: Sources) -> dict[str, str]:
    referenced = any(rows.references)
    out = {}
    for name in metrics:
        if needs_images([name]) and not sources.files:
            out[name] = _NO_IMAGES
        elif needs_images([name]) and not isinstance(sources.where, Space):
            out[name] = _NO_SPACE
        elif name in {*TEXT, "ref-clip-s"} and not referenced:
            out[name] = _NO_REFERENCES
    return out


def _called(name: str, made: Sequence[float], count: int) -> Numbers:
    values = np.asarray(made, np.float64)
    if values.shape != (count,):
        msg = f"{name} gave numbers of shape {values.shape} for {count:,} captions: give one each"
        raise InputError(msg)
    return values


def _through_store(rows: Rows, metrics: Sequence[str], sources: Sources, out: Scored) -> None:
    """Measure by item, an image with its references; CIDEr counts every row of an item as a document."""
    held = _grouped(rows)
    _measured(rows, [name for name in metrics if name != "cider"], sources, out, held)
    if "cider" not in metrics:
        return
    try:
        values, signature = cider.by_rows(rows.captions, [rows.references[own[0]] for own in held], held)
    except (InputError, JavaFault) as error:
        out.problems["cider"] = str(error)
    else:
        out.values["cider"], out.signatures["cider"] = values, signature


def _grouped(rows: Rows) -> list[list[int]]:
    """Return the rows of each distinct (image, references)."""
    groups: dict[tuple[str, References], list[int]] = {}
    for row, key in enumerate(zip(rows.images, rows.references, strict=True)):
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _measured(rows: Rows, metrics: Sequence[str], sources: Sources, out: Scored, held: list[list[int]]) -> None:
    """Measure the rows as systems: the first caption of each item, its second, ..."""
    if not metrics:
        return
    names = [str(number) for number in range(len(held))]
    pictures = [_image(sources.files.get(rows.images[own[0]])) for own in held]
    items = tuple(
        EvalItem(name, picture, references=rows.references[own[0]])
        for name, picture, own in zip(names, pictures, held, strict=True)
    )
    evalset = EvalSet(items, paths=tuple(None if one is None else one.name for one in pictures))
    systems = [
        one_each(f"{turn}", names, [rows.captions[own[turn]] if turn < len(own) else None for own in held])
        for turn in range(max(map(len, held)))
    ]
    try:
        measured = measure_systems(
            sources.where, systems, evalset, metrics, sources.recipe, encode=sources.encode, progress=sources.progress
        )
    except InputError as error:
        if any(needs_images([name]) for name in metrics):
            raise
        out.problems.update(dict.fromkeys(metrics, str(error)))  # no Java, no pycocoevalcap
        return
    _collect(measured, held, metrics, len(rows), out)


def _collect(measured: Measured, held: list[list[int]], metrics: Sequence[str], count: int, out: Scored) -> None:
    for name in metrics:
        measure = measured.measures.get(name)
        if measure is None:
            why = [line for line in measured.notes if SHOWN.get(name, name) in line]
            out.problems[name] = why[0] if why else "; ".join(measured.notes) or "could not be had"
            continue
        values = np.full(count, np.nan)
        for item, own in enumerate(held):
            values[own] = measure.per_item[: len(own), item]
        out.values[name] = values
        out.signatures[name] = str(measure.signature)


def _image(path: Path | None) -> Image | None:
    return None if path is None else Image(path, path.name)
