"""Kendall's tau_b and tau_c, Spearman and Pearson of weighted rows, quick enough to resample thousands of times.

The rows are ordered once. A resample changes only how often each row counts, so one
costs O(n log k), where k is the number of distinct values of the coarser variable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from clipstore.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from clipstore.metaeval.protocols import Labels, Numbers

STATISTICS: Final = ("tau_b", "tau_c", "spearman", "pearson")


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """How two variables agree; NaN where it is not defined.

    Parameters
    ----------
    tau_b
        (P - Q) / sqrt((n0 - ties in x)(n0 - ties in y)), n0 all pairs of rows: Kendall 1945.
    tau_c
        2 (P - Q) m / (n^2 (m - 1)), m the smaller number of distinct values: Stuart 1953.
    spearman
        Pearson's r of mid-ranks.
    pearson
        Pearson's r.
    """

    tau_b: float
    tau_c: float
    spearman: float
    pearson: float


@final
@dataclass(frozen=True, eq=False, slots=True)
class _Bit:
    """One bit of the coarser variable's rank: rows grouped by the higher bits, ordered by the other variable."""

    order: Labels
    ones: npt.NDArray[np.bool_]
    run: Labels  # where the rows of equal x start, of each row
    group: Labels  # where the group starts, of each row

    @classmethod
    def of(cls, x: Labels, y: Labels, bit: int) -> _Bit:
        above = y >> (bit + 1)
        order = np.lexsort((x, above))
        new_group = np.diff(above[order], prepend=-1) != 0
        new_run = new_group | (np.diff(x[order], prepend=-1) != 0)
        return cls(order, ((y[order] >> bit) & 1).astype(bool), _starts(new_run), _starts(new_group))

    def concordance(self, weights: Numbers) -> float:
        """Return concordant less discordant pairs among those whose ranks first differ in this bit."""
        own = weights[self.order]
        zeros = np.where(self.ones, 0.0, own)
        below = np.concatenate(((0.0,), np.cumsum(zeros)))
        every = np.concatenate(((0.0,), np.cumsum(own)))
        zeros_before = below[self.run] - below[self.group]
        all_before = every[self.run] - every[self.group]
        return _dot(own, zeros_before) - _dot(zeros, all_before)


def _dot(x: Numbers, y: Numbers) -> float:
    """Return the sum of products without BLAS, whose threads cost more here than they bring."""
    return float(np.einsum("i,i->", x, y))


def _starts(new: npt.NDArray[np.bool_]) -> Labels:
    """Return, for each row, the latest row up to it where something new starts."""
    found: Labels = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    return found


@final
class Ordered:
    """Two variables, ordered once: their agreement under any weights of the rows.

    Parameters
    ----------
    x, y
        float64, shape (rows,), without NaN.

    Raises
    ------
    InputError
        When they differ in length or hold NaN.
    """

    def __init__(self, x: Numbers, y: Numbers) -> None:
        if len(x) != len(y) or np.isnan(x).any() or np.isnan(y).any():
            msg = f"two variables of equal length without NaN are needed, not {len(x):,} and {len(y):,} rows"
            raise InputError(msg)
        self._x, self._y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        self._ranks = tuple(np.unique(one, return_inverse=True)[1].astype(np.int64) for one in (self._x, self._y))
        fine, coarse = sorted(self._ranks, key=lambda one: -int(one.max(initial=0)))
        bits = int(coarse.max(initial=0)).bit_length()
        self._bits = [_Bit.of(fine, coarse, bit) for bit in range(bits)]

    def agreement(self, weights: Numbers | None = None) -> Agreement:
        """Return the agreement where row ``i`` counts ``weights[i]`` times.

        Parameters
        ----------
        weights
            float64 whole numbers, shape (rows,); None: each row once.
        """
        w = np.ones(len(self._x)) if weights is None else weights
        n = float(w.sum())
        counts = [np.asarray(np.bincount(rank, weights=w), np.float64) for rank in self._ranks]
        balance = sum(bit.concordance(w) for bit in self._bits)
        pairs = n * (n - 1) / 2
        tied_x, tied_y = (_dot(count, count - 1) / 2 for count in counts)
        under = (pairs - tied_x) * (pairs - tied_y)
        distinct = min(int(np.count_nonzero(count)) for count in counts)
        ranks = [(np.cumsum(count) - count / 2)[rank] for count, rank in zip(counts, self._ranks, strict=True)]
        return Agreement(
            balance / math.sqrt(under) if under > 0 else math.nan,
            2 * balance * distinct / (n * n * (distinct - 1)) if distinct > 1 else math.nan,
            correlation(ranks[0], ranks[1], w),
            correlation(self._x, self._y, w),
        )


def correlation(x: Numbers, y: Numbers, weights: Numbers) -> float:
    """Return Pearson's r of weighted rows, NaN where a variable is constant."""
    n = weights.sum()
    if not n:
        return math.nan
    dx, dy = x - _dot(weights, x) / n, y - _dot(weights, y) / n
    wx = weights * dx
    under = _dot(wx, dx) * _dot(weights, dy * dy)
    return _dot(wx, dy) / math.sqrt(under) if under > 0 else math.nan


def kendall(x: npt.ArrayLike, y: npt.ArrayLike) -> Agreement:
    """Return tau_b, tau_c, Spearman and Pearson of two variables.

    Parameters
    ----------
    x, y
        Numbers, shape (rows,).

    Raises
    ------
    InputError
        When they differ in length or hold NaN.
    """
    return Ordered(np.asarray(x, np.float64), np.asarray(y, np.float64)).agreement()
