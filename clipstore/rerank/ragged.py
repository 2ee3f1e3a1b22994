"""Ragged lists in flat arrays: the candidates of all images side by side, and where each image's start.

No loop over images: sums, maxima and orders go by ``np.*.reduceat`` and sorts. A list is
never empty. Ties go to the earlier candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clipstore.arrays import Ids

Numbers = npt.NDArray[np.float64]
"""One float64 a candidate or an image."""

Flags = npt.NDArray[np.bool_]
"""One yes or no a candidate or an image."""


@final
@dataclass(frozen=True, eq=False)
class Ragged:
    """The shape of a set of lists.

    Parameters
    ----------
    starts
        Where each list begins in the flat arrays, int64, shape (lists,), strictly rising from 0.
    total
        Length of the flat arrays.
    """

    starts: Ids
    total: int

    @classmethod
    def of_counts(cls, counts: Ids) -> Ragged:
        """Return the shape of lists of these lengths, int64, shape (lists,), each at least 1."""
        ends = np.cumsum(counts)
        return cls(np.asarray(ends - counts, np.int64), int(ends[-1]) if len(ends) else 0)

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def counts(self) -> Ids:
        """Length of each list, int64, shape (lists,)."""
        return np.asarray(np.diff(self.starts, append=self.total), np.int64)

    @cached_property
    def owners(self) -> Ids:
        """The list of each candidate, int64, shape (total,)."""
        return np.repeat(np.arange(len(self.starts), dtype=np.int64), self.counts)

    @cached_property
    def places(self) -> Ids:
        """The place of each candidate in its list, 0 first, int64, shape (total,)."""
        return np.asarray(np.arange(self.total) - self.starts[self.owners], np.int64)

    @cached_property
    def width(self) -> int | None:
        """The length of every list where all are equal, else None."""
        counts = self.counts
        return int(counts[0]) if len(counts) and bool((counts == counts[0]).all()) else None

    def sums(self, values: Numbers) -> Numbers:
        """Return the sum of each list, float64, shape (lists,)."""
        return np.asarray(np.add.reduceat(values, self.starts)) if self.total else np.empty(0)

    def means(self, values: Numbers) -> Numbers:
        """Return the mean of each list, float64, shape (lists,)."""
        return np.asarray(self.sums(values) / self.counts)

    def maxima(self, values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """Return the largest value of each list, shape (lists,)."""
        return np.asarray(np.maximum.reduceat(values, self.starts)) if self.total else values[:0]

    def best(self, scores: npt.NDArray[np.floating]) -> Ids:
        """Return where in the flat arrays the best candidate of each list stands, the earliest of equals.

        Parameters
        ----------
        scores
            float32 or float64, shape (total,), no NaN.
        """
        if self.width is not None:
            return np.asarray(self.starts + scores.reshape(-1, self.width).argmax(axis=1), np.int64)
        if not self.total:
            return np.empty(0, np.int64)
        top = scores == self.maxima(scores)[self.owners]
        where = np.where(top, np.arange(self.total), self.total)
        return np.asarray(np.minimum.reduceat(where, self.starts), np.int64)

    def order(self, scores: npt.NDArray[np.floating]) -> Ids:
        """Return the flat places, list after list, the best of each list first, the earlier of equals first."""
        if self.width is not None:
            within = np.argsort(-scores.reshape(-1, self.width), axis=1, kind="stable")
            return np.asarray((within + self.starts[:, None]).ravel(), np.int64)
        return np.lexsort((-scores, self.owners)).astype(np.int64)

    def ranks(self, scores: npt.NDArray[np.floating]) -> Ids:
        """Return the rank of each candidate in its list, 1 best, equals share the better one; shape (total,)."""
        order = self.order(scores)
        ordered = scores[order]
        fresh = np.ones(self.total, np.bool_)
        fresh[1:] = ordered[1:] != ordered[:-1]
        fresh[self.starts] = True
        first = np.maximum.accumulate(np.where(fresh, np.arange(self.total), 0))
        out = np.empty(self.total, np.int64)
        out[order] = self.places[first] + 1
        return out

    def within(self, flags: Flags) -> tuple[Ragged, Ids]:
        """Return the shape of what is left of the lists where ``flags`` hold, and which lists have any left.

        Parameters
        ----------
        flags
            shape (total,).
        """
        counts = np.bincount(self.owners[flags], minlength=len(self))
        kept = np.flatnonzero(counts)
        return Ragged.of_counts(counts[kept].astype(np.int64)), kept

    def blocks(self, size: int) -> Iterator[tuple[slice, slice]]:
        """Cut between lists: yield (lists, candidates) of about ``size`` candidates each, at least one list."""
        ends = self.starts + self.counts
        first = 0
        while first < len(self):
            last = max(first + 1, int(np.searchsorted(ends, self.starts[first] + size, "right")))
            yield slice(first, last), slice(int(self.starts[first]), int(ends[last - 1]))
            first = last

    def part(self, lists: slice) -> Ragged:
        """Return the shape of some neighbouring lists alone."""
        return Ragged.of_counts(self.counts[lists])
