"""Intervals: percentile bootstrap with one shared matrix of resamples, Student t for few items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.significance.product import Summed
from clipstore.significance.results import Interval
from clipstore.significance.streams import counts
from clipstore.significance.student import two_sided_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.significance.streams import Matrix

STUDENT_BELOW = 100
"""With fewer items than this a mean's interval is Student's."""

LEAST_ITEMS = 2
"""With fewer items than this there is no interval."""

# Means closer than this times their size rank as equal: last bits of one product of matrices.
_SAME_RANK = 1e-12


def resampled_means(columns: Matrix, resamples: int, seed: int, cells: int | None = None) -> Matrix:
    """Return the mean of each column in each bootstrap resample of the items.

    Every column sees the same resamples, so differences of two columns and ranks
    need no draw of their own (Koehn 2004; STATISTICS 3.2).

    Parameters
    ----------
    columns
        float64, shape (columns, items); NaN where a column has no number.
    resamples
        Rows of the answer.
    seed
        A non-negative integer.
    cells
        Cells of one block; changes memory, not numbers.

    Returns
    -------
    Matrix
        float64, shape (columns, resamples); NaN where a resample holds no item of a column.
    """
    held = ~np.isnan(columns)
    filled = Summed(np.where(held, columns, 0.0).T)
    masks, inverse = np.unique(held, axis=0, return_inverse=True)
    which, present = inverse.reshape(-1), Summed(masks.T.astype(np.float64))
    out = np.empty((len(columns), resamples))
    whole = bool(held.all())  # then every resample holds as many items as there are
    start = 0
    for block in counts(seed, columns.shape[1], resamples, cells):
        stop = start + len(block)
        if whole:
            out[:, start:stop] = (filled(block) / columns.shape[1]).T
            start = stop
            continue
        kept = present(block)[:, which]
        with np.errstate(invalid="ignore", divide="ignore"):
            out[:, start:stop] = np.where(kept > 0, filled(block) / kept, np.nan).T
        start = stop
    return out


@final
@dataclass(frozen=True, slots=True)
class Resampled:
    """The means of one set of resamples: of every system, and of every pair's difference.

    Parameters
    ----------
    systems
        float64, shape (systems, resamples).
    """

    systems: Matrix
    _own: dict[tuple[int, int], Matrix]

    @classmethod
    def of(cls, scores: Matrix, pairs: Sequence[tuple[int, int]], resamples: int, seed: int) -> Resampled:
        """Draw once for all systems, and for the differences of pairs that cover different items."""
        held = ~np.isnan(scores)
        odd = [(a, b) for a, b in pairs if not np.array_equal(held[a], held[b])]
        columns = np.concatenate([scores, *((scores[a] - scores[b])[None] for a, b in odd)])
        means = resampled_means(columns, resamples, seed)
        return cls(means[: len(scores)], dict(zip(odd, means[len(scores) :], strict=True)))

    def difference(self, a: int, b: int) -> Matrix:
        """Return the mean difference of a pair, on its common items, in each resample."""
        own = self._own.get((a, b))
        return self.systems[a] - self.systems[b] if own is None else own


def percentile(draws: Matrix, level: float) -> Interval:
    """Return the percentile interval of resampled values (Efron 1979): their outer quantiles cut off evenly."""
    kept = draws[~np.isnan(draws)]
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, "bootstrap")


def student(values: Matrix, level: float) -> Interval:
    """Return mean ± t s / √n of two or more numbers, s with n - 1 (Student 1908)."""
    n, mean = len(values), float(values.mean())
    half = two_sided_quantile(level, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return Interval(mean - half, mean + half, level, "student")


def mean_interval(values: Matrix, draws: Matrix | None, level: float) -> Interval | None:
    """Return the interval of a mean: none below 2 items, Student below 100, else the percentile bootstrap.

    Parameters
    ----------
    values
        The numbers that there are, float64, shape (n,).
    draws
        Their mean in each resample, float64, shape (resamples,); needed from 100 items on.
    level
        Coverage.
    """
    if len(values) < LEAST_ITEMS:
        return None
    if len(values) < STUDENT_BELOW or draws is None:
        return student(values, level)
    return percentile(draws, level)


def rank_intervals(draws: Matrix, level: float, *, higher_is_better: bool = True) -> list[tuple[int, int]]:
    """Return the ranks that each system holds in the middle ``level`` of the resamples.

    A rank is 1 plus the number of systems that are better; equal values share the better rank.

    Parameters
    ----------
    draws
        Value of each system in each resample, float64, shape (systems, resamples).
    level
        Coverage.
    higher_is_better
        Which end is rank 1.
    """
    values = draws if higher_is_better else -draws
    out = []
    for row in values:
        better = (values > row + _SAME_RANK * np.abs(row)).sum(axis=0)
        low = np.quantile(better, (1 - level) / 2, method="lower")
        high = np.quantile(better, (1 + level) / 2, method="higher")
        out.append((int(low) + 1, int(high) + 1))
    return out
