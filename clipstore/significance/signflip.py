"""The paired sign-flip test: Fisher's randomisation, the same as swapping two systems' outputs item by item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.significance.product import Summed
from clipstore.significance.streams import CELLS, coins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.significance.streams import Matrix

EXACT_UP_TO = 16
"""Up to this many non-zero differences every sign pattern is counted."""

# Two sums closer than this times their size are the same sum; by the precision of the scores: STATISTICS 3.2.
_SAME_FP32, _SAME_FP64 = 1e-5, 1e-12


@final
@dataclass(frozen=True, slots=True)
class Flipped:
    """What the test says of one pair.

    Parameters
    ----------
    p
        Two-sided; None where the pair has no item in common.
    resamples
        Draws behind it; None where every pattern was counted or nothing differs.
    """

    p: float | None
    resamples: int | None

    @property
    def exact(self) -> bool:
        """Whether no draw was needed."""
        return self.p is not None and self.resamples is None


@lru_cache(maxsize=EXACT_UP_TO + 1)
def _patterns(items: int) -> Matrix:
    """Return every sign pattern whose first sign is +, the all-plus one first; the other half mirrors them."""
    codes = np.arange(1 << (items - 1), dtype=np.int64)
    bits = (codes[:, None] >> np.arange(items)) & 1
    return np.roll(1.0 - 2.0 * bits, 1, axis=1)


def enumerated(differences: Matrix, slack: float) -> float:
    """Return the exact p of up to 16 non-zero differences: the share of sign patterns at least as far out.

    Parameters
    ----------
    differences
        Non-zero differences, float64, shape (m,), 1 <= m <= 16.
    slack
        Sums this close to the observed one count as equal to it.
    """
    sums = np.abs(_patterns(len(differences)) @ differences)
    return float(np.count_nonzero(sums >= sums[0] - slack) / len(sums))


def slack_of(a: Matrix, b: Matrix, relative: float, epsilon: float) -> float:
    """Return how far two flipped sums of ``a - b`` may lie apart and still be the same number.

    ``relative`` of the observed sum, or what the rounding of the scores themselves can
    make, whichever is more; and the rounding of the sums of ``a`` and of ``b``, which
    are taken one by one.

    Parameters
    ----------
    a, b
        Scores of the two systems on their common items, float64.
    relative
        1e-5 for float32 scores, 1e-12 for float64 ones.
    epsilon
        Machine epsilon of the scores as they came.
    """
    sizes = np.abs(a) + np.abs(b)
    given = epsilon / 2 * float(sizes[a != b].sum())
    return max(relative * abs(float((a - b).sum())), given) + 1e-14 * float(sizes.sum())


def sign_flip(
    scores: Matrix, pairs: Sequence[tuple[int, int]], resamples: int, seed: int, *, single: bool
) -> list[Flipped]:
    """Return the two-sided sign-flip test of each pair of systems.

    ``p = (1 + #{T_b >= T}) / (B + 1)`` with ``T = abs(sum of differences)``: >= and +1,
    Phipson and Smyth 2010 (arXiv 1603.05766). All pairs share the signs. A flipped sum of
    differences is the difference of two flipped sums, so one product of matrices a system,
    not a pair, does the work.

    Parameters
    ----------
    scores
        float64, shape (systems, items); NaN where a system has no number: such items are left out of its pairs.
    pairs
        Rows of the two systems of each pair.
    resamples
        Draws for pairs with more than 16 non-zero differences.
    seed
        A non-negative integer.
    single
        Whether the scores were float32 before they came here.
    """
    relative, epsilon = (_SAME_FP32, float(np.finfo(np.float32).eps)) if single else (_SAME_FP64, 0.0)
    out: list[Flipped | None] = []
    sampled: list[int] = []
    columns = _Columns(scores)
    for place, (left, right) in enumerate(pairs):
        common = ~(np.isnan(scores[left]) | np.isnan(scores[right]))
        a, b = scores[left][common], scores[right][common]
        different = (a - b)[a != b]
        slack = slack_of(a, b, relative, epsilon)
        if len(a) == 0 or len(different) == 0:
            out.append(Flipped(1.0 if len(a) else None, None))
        elif len(different) <= EXACT_UP_TO:
            out.append(Flipped(enumerated(different, slack), None))
        else:
            out.append(None)
            sampled.append(place)
            columns.add(left, right, common, abs(float((a - b).sum())) - slack)
    hits = columns.count(resamples, seed) if sampled else []
    for place, hit in zip(sampled, hits, strict=True):
        out[place] = Flipped((1 + hit) / (resamples + 1), resamples)
    return [one for one in out if one is not None]


class _Columns:
    """The columns whose flipped sums are needed, and which two of them make each pair."""

    def __init__(self, scores: Matrix) -> None:
        self._scores = scores
        self._held = ~np.isnan(scores)
        self._rows: list[Matrix] = [np.zeros(scores.shape[1])]
        self._place: dict[int, int] = {}
        self._pairs: list[tuple[int, int]] = []
        self._least: list[float] = []

    def add(self, left: int, right: int, common: np.ndarray[tuple[int], np.dtype[np.bool_]], least: float) -> None:
        """Take in a pair: two systems' columns where they cover the same items, else a column of its own."""
        if np.array_equal(self._held[left], self._held[right]):
            self._pairs.append((self._system(left), self._system(right)))
        else:
            self._rows.append(np.where(common, self._scores[left] - self._scores[right], 0.0))
            self._pairs.append((len(self._rows) - 1, 0))
        self._least.append(least)

    def _system(self, row: int) -> int:
        if row not in self._place:
            self._rows.append(np.where(self._held[row], self._scores[row], 0.0))
            self._place[row] = len(self._rows) - 1
        return self._place[row]

    def count(self, resamples: int, seed: int) -> list[int]:
        """Return for each pair how many flipped sums lie at least as far out as its observed one."""
        columns = np.stack(self._rows)
        summed = Summed(columns.T)
        totals = columns.sum(axis=1)[:, None]
        left, right = np.array(self._pairs).T
        least = np.array(self._least)[:, None]
        hits = np.zeros(len(least), np.int64)
        items = columns.shape[1]
        cells = CELLS * items // max(items, len(least))
        for block in coins(seed, items, resamples, cells):
            sums = 2 * np.ascontiguousarray(summed(block).T) - totals
            hits += np.count_nonzero(np.abs(sums[left] - sums[right]) >= least, axis=1)
        return [int(hit) for hit in hits]
