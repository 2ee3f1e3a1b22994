"""``metaeval``: from what people said and a set of metrics to how they agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from clipstore.errors import InputError
from clipstore.evaluate.names import IMAGE
from clipstore.metaeval import agreement, pictures
from clipstore.metaeval.external import External
from clipstore.metaeval.intervals import RESAMPLES, SEED
from clipstore.metaeval.protocols import TIES, Ratings
from clipstore.metaeval.published import published
from clipstore.metaeval.results import MetaEvaluation
from clipstore.metaeval.scoring import REFERENCE_FREE, Rows, Scored, Sources, chosen, score_rows
from clipstore.metrics import recipes
from clipstore.store.progress import silent

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from clipstore.encoders.protocol import PairScorer
    from clipstore.metaeval.protocols import Numbers, Pairs, Ties
    from clipstore.metaeval.scoring import UserMetric
    from clipstore.store import Progress, Space, Store

_Value = TypeVar("_Value")


def metaeval(
    judged: Ratings | Pairs,
    where: Space | Store,
    *,
    images: Path | Mapping[str, Path] | None = None,
    metrics: Sequence[str] | None = None,
    scores: Mapping[str, str | os.PathLike[str] | External] | None = None,
    functions: Mapping[str, UserMetric] | None = None,
    scorers: Mapping[str, PairScorer] | None = None,
    recipe: str = "hessel2021",
    ties: Ties = "random",
    resamples: int = RESAMPLES,
    seed: int = SEED,
    encode: bool = True,
    progress: Progress = silent,
) -> MetaEvaluation:
    """Return how metrics agree with people, beside what papers print.

    Parameters
    ----------
    judged
        Ratings or pairs, as from a reader of :mod:`clipstore.metaeval.readers`.
    where
        The vectors of one encoder; a store is enough where no metric looks at images.
    images
        Their folder, or image name -> file; None: metrics that look at images are left out, and said so.
    metrics
        Names; None: CLIP-S, RefCLIP-S and the usual text metrics. Empty: only ``scores`` and ``functions``.
    scores
        Name -> file of scores made elsewhere: ``FILE[,FILE...][:COLUMN]``.
    functions
        Name -> a metric of your own: (image files, captions, references) to one number each.
    scorers
        Name -> a scorer of image and caption together, such as BLIP's; its numbers are kept in the store.
    recipe
        How CLIP-S and its kin are made.
    ties
        What a pair with equal scores earns.
    resamples, seed
        Of the bootstrap over images; 0 resamples: no intervals.
    encode, progress
        As for :func:`clipstore.score`.

    Raises
    ------
    InputError
        When a name is no metric, or a file of scores does not fit.
    NotStored
        When something is not encoded and ``encode`` is False.
    """
    _check(ties, resamples, seed)
    found = dict(images) if isinstance(images, Mapping) else pictures.find(images, judged.images) if images else {}
    external = _external(scores or {})
    sources = Sources(where, found, external, functions or {}, scorers or {}, recipes.recipe(recipe), encode, progress)
    asked = chosen(metrics, extra=bool(external or functions or scorers), images=images is not None)
    notes = _of_images(judged, found) if images is not None else ()
    base = MetaEvaluation(judged, (), ties=ties, resamples=resamples, seed=seed, notes=(*judged.notes, *notes))
    if isinstance(judged, Ratings):
        return _ratings(base, judged, asked, sources)
    return _pairs(base, judged, asked, sources)


def _check(ties: str, resamples: int, seed: int) -> None:
    if ties not in TIES or resamples < 0 or seed < 0:
        msg = f"ties is one of {', '.join(TIES)}; resamples and seed are not negative"
        raise InputError(msg)


def _external(scores: Mapping[str, str | os.PathLike[str] | External]) -> dict[str, External]:
    return {name: one if isinstance(one, External) else External.read(name, str(one)) for name, one in scores.items()}


def _of_images(judged: Ratings | Pairs, found: Mapping[str, Path]) -> tuple[str, ...]:
    names = set(judged.images)
    lost = sorted(names - found.keys())
    if not lost:
        return ()
    return (
        f"{len(lost):,} of {len(names):,} images are not in the folder (first: {lost[0]}); their rows have no CLIP-S",
    )


def _described(benchmark: str, name: str, scored: Scored, sources: Sources) -> dict[str, Any]:
    """Return what a result says beside its numbers; CLIP-S made by another recipe goes by that recipe's name."""
    label = sources.recipe.shown[IMAGE.index(name)] if name in IMAGE and name in scored.signatures else ""
    return {
        "published": published(benchmark, label or name),
        "signature": scored.signatures.get(name, ""),
        "label": label,
    }


def _ratings(base: MetaEvaluation, judged: Ratings, metrics: Sequence[str], sources: Sources) -> MetaEvaluation:
    scored = score_rows(Rows(judged.images, judged.captions, judged.references), metrics, sources)
    results = [
        replace(
            agreement.rated(name, values, judged, base.resamples, base.seed),
            **_described(judged.name, name, scored, sources),
        )
        for name, values in scored.values.items()
    ]
    return replace(
        base, metrics=results, scores=scored.values, problems=scored.problems, notes=(*base.notes, *scored.notes)
    )


def _pairs(base: MetaEvaluation, judged: Pairs, metrics: Sequence[str], sources: Sources) -> MetaEvaluation:
    made = [_drawn(judged, draw, metrics, sources) for draw in range(len(judged.draws))]
    first = made[0]
    scores: dict[str, list[tuple[Numbers, Numbers]]] = {
        name: [(one.values[name][::2], one.values[name][1::2]) for one in made if name in one.values]
        for name in first.values
    }
    results = [
        replace(
            agreement.preferred(name, draws, judged, base.ties, base.resamples, base.seed),
            **_described(judged.name, name, first, sources),
        )
        for name, draws in scores.items()
    ]
    kept: dict[str, Any] = dict(scores)
    return replace(base, metrics=results, scores=kept, problems=first.problems, notes=(*base.notes, *first.notes))


def _drawn(judged: Pairs, draw: int, metrics: Sequence[str], sources: Sources) -> Scored:
    """Score A, B of each pair under one draw of references; from the second on, only what reads references."""
    both = zip(judged.first, judged.second, strict=True)
    rows = Rows(_twice(judged.images), [caption for pair in both for caption in pair], _twice(judged.draws[draw]))
    if draw == 0:
        return score_rows(rows, metrics, sources)
    again = [name for name in metrics if name not in REFERENCE_FREE]
    return score_rows(rows, again, replace(sources, external={}, scorers={}))


def _twice(values: Sequence[_Value]) -> list[_Value]:
    return [value for value in values for _ in range(2)]


def length(_images: object, captions: Sequence[str], _references: object) -> list[float]:
    """Return the number of words of each caption: the baseline that every metric should beat."""
    return [float(len(caption.split())) for caption in captions]
