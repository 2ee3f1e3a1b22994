"""Intervals of an agreement: percentile bootstrap over images, all rows of an image together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.metaeval.tau import STATISTICS, Ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.metaeval.protocols import Labels, Numbers

RESAMPLES: Final = 1000
SEED: Final = 12345
LEVEL: Final = 0.95

Interval = tuple[float, float]


def image_numbers(images: Sequence[str]) -> Labels:
    """Return the number of each row's image, in order of first appearance: int64, shape (rows,)."""
    place: dict[str, int] = {}
    return np.array([place.setdefault(image, len(place)) for image in images], np.int64)


def drawn(images: Labels, resamples: int, seed: int) -> Numbers:
    """Return how often each image is drawn in each resample: float64, shape (resamples, images)."""
    count = int(images.max(initial=-1)) + 1
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    out = np.empty((resamples, count))
    for row in range(resamples):
        out[row] = np.bincount(rng.integers(0, count, count), minlength=count)
    return out


def percentiles(values: Numbers, level: float = LEVEL) -> Interval | None:
    """Return the percentile interval of resampled values; None where fewer than two are defined."""
    kept = values[~np.isnan(values)]
    if len(kept) < 2:
        return None
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def of_agreement(
    ordered: Ordered, images: Labels, resamples: int = RESAMPLES, seed: int = SEED
) -> Mapping[str, Interval | None]:
    """Return the interval of tau_b, tau_c, Spearman and Pearson.

    Parameters
    ----------
    ordered
        The two variables.
    images
        The image of each row, int64, shape (rows,); images are the resampled unit.
    resamples
        How many; 0 gives no interval.
    seed
        A non-negative integer.
    """
    made = []
    for counts in drawn(images, resamples, seed):
        one = ordered.agreement(counts[images])
        made.append([getattr(one, name) for name in STATISTICS])
    values = np.array(made, np.float64).reshape(-1, len(STATISTICS))
    return {name: percentiles(values[:, column]) for column, name in enumerate(STATISTICS)}


def of_means(
    values: Numbers,
    images: Labels,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    shares: Numbers | None = None,
) -> Interval | None:
    """Return the interval of the mean of some rows' values; images are the resampled unit.

    Parameters
    ----------
    values
        float64, shape (rows,).
    images
        The image of each row, int64, shape (rows,).
    resamples, seed
        As in :func:`of_agreement`.
    shares
        What each row weighs, float64, shape (rows,); None: all the same.
    """
    count = int(images.max(initial=-1)) + 1
    held = np.ones(len(values)) if shares is None else shares
    sums, sizes = np.bincount(images, values * held, count), np.bincount(images, held, count)
    means = np.full(resamples, np.nan)
    for row, weights in enumerate(drawn(images, resamples, seed)):
        size = float(np.einsum("i,i->", weights, sizes))
        means[row] = float(np.einsum("i,i->", weights, sums)) / size if size else np.nan
    return percentiles(means)
