"""Columns beside CLIP-S that need no references: self-retrieval, separation from random pairs, diversity."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.evaluate.measures import Measure
from clipstore.evaluate.names import DIVERSITY, RETRIEVAL
from clipstore.metrics import diversity
from clipstore.metrics.recipes import spoken
from clipstore.metrics.retrieval import retrieve
from clipstore.metrics.score import Signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from clipstore.evalset.systems import System
    from clipstore.metrics.recipes import Recipe
    from clipstore.store import Space

Z_NOTE: Final = (
    "own image against the set's other images, in standard deviations of this model: no scale of quality across models"
)
POOL_NOTE: Final = (
    "depends on how many images the set has and how alike they are; "
    "interval from order statistics, no test of a median (R@1, R@5, R@10 have one)"
)
WORDS_NOTE: Final = "no quality: longer is not better, so no system is set bold"
DISTINCT_NOTE: Final = (
    "different n-grams over all: falls with the number of captions; no interval, "
    "since a resample repeats captions, which by itself lowers it"
)


def retrieval_measures(
    space: Space,
    systems: Sequence[System],
    image_ids: Sequence[int | None],
    recipe: Recipe,
    metrics: Sequence[str],
    signature: Signature,
) -> dict[str, Measure]:
    """Return R@k, median rank and z of each system's captions against the images of the set.

    Parameters
    ----------
    space
        Holds the vectors; nothing is encoded here.
    systems
        In the order of the eval set.
    image_ids
        Of each item, None where it has no image.
    recipe
        Gives the prefix.
    metrics
        Of :data:`clipstore.evaluate.names.RETRIEVAL`.
    signature
        That of CLIP-S: model and set.
    """
    present = [id_ for id_ in dict.fromkeys(image_ids) if id_ is not None]
    place = {id_: row for row, id_ in enumerate(present)}
    images = space.gather_images(np.array(present, np.int64))
    ranks = np.full((len(systems), len(image_ids)), np.nan)
    z = np.full_like(ranks, np.nan)
    for row, system in enumerate(systems):
        held = [
            (item, text, place[id_])
            for item, (text, id_) in enumerate(zip(system.texts, image_ids, strict=True))
            if text is not None and text.strip() and id_ is not None
        ]
        if not held:
            continue
        items = [item for item, _, _ in held]
        said = spoken(recipe, [text for _, text, _ in held])
        captions = space.gather_texts(space.text_keys([said[text] for _, text, _ in held], recipe.prefix))
        found = retrieve(captions, images, np.array([own for _, _, own in held], np.int64))
        ranks[row, items], z[row, items] = found.ranks, found.z
    dropped = {"w", "recipe", "refs"}
    kept = [field for field in signature.fields if field[0] not in dropped]
    fields = (*[field for field in kept if field[0] != "v"], ("pool", str(len(present))), kept[-1])
    return {
        metric: _retrieval(metric, ranks, z, Signature(RETRIEVAL[metric], fields, signature.note)) for metric in metrics
    }


def _retrieval(
    metric: str, ranks: npt.NDArray[np.float64], z: npt.NDArray[np.float64], signature: Signature
) -> Measure:
    if metric == "z":
        return Measure(metric, signature, z, note=Z_NOTE)
    if metric == "median-rank":
        return Measure(metric, signature, ranks, "median", higher_is_better=False, note=POOL_NOTE)
    most = int(metric.partition("@")[2])
    hits = np.where(np.isnan(ranks), np.nan, ranks <= most)
    return Measure(metric, signature, hits, percent=True, epsilon=0.0)


def diversity_measures(
    systems: Sequence[System], metrics: Sequence[str], signed: Sequence[tuple[str, str]]
) -> Mapping[str, Measure]:
    """Return mean words and distinct-n of each system's captions.

    Parameters
    ----------
    systems
        In the order of the eval set.
    metrics
        Of :data:`clipstore.evaluate.names.DIVERSITY`.
    signed
        Fields that end each signature.
    """
    if not metrics:
        return {}
    counts = np.array(
        [[np.nan if text is None else diversity.word_count(text) for text in system.texts] for system in systems],
        np.float64,
    )
    nowhere = np.full_like(counts, np.nan)
    out: dict[str, Measure] = {}
    for metric in metrics:
        if metric == "mean-words":
            signature = Signature(DIVERSITY[metric], (("tok", "space"), *signed))
            out[metric] = Measure(metric, signature, counts, epsilon=0.0, quality=False, note=WORDS_NOTE)
            continue
        n = int(metric.rpartition("-")[2])
        recount = partial(_distinct, n)
        totals = tuple(recount(one.texts) for one in systems)
        signature = Signature(DIVERSITY[metric], (("tok", "words"), *signed))
        out[metric] = Measure(metric, signature, nowhere, "value", totals=totals, note=DISTINCT_NOTE, recount=recount)
    return out


def _distinct(n: int, texts: Sequence[str | None]) -> float | None:
    return diversity.distinct((text for text in texts if text is not None), n)
