"""A shelf: all committed segments of one space and modality, looked up together without faiss."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

from clipstore import keys
from clipstore.errors import NotStored
from clipstore.storage import segments
from clipstore.storage.segments import Gone

__all__ = ["Gone", "Shelf"]

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clipstore.arrays import Ids, Vectors
    from clipstore.storage.catalogue.segments import SegmentRow

_Held = TypeVar("_Held")

_KEPT_MAPPED = 256  # a mapping holds a file descriptor; past this many they are made per gather
_BLOCK = 4096  # rows copied at once
_MANY_TIMES = 64  # with so many ids to one wanted, the others are not read


@final
class Shelf:
    """Segments to look up in. Safe in threads; safe in a forked child.

    Parameters
    ----------
    root
        The store's folder.
    rows
        Rows of the segments, in the order in which they are searched: the first that has an id gives its vector.
    before
        A shelf of the same store and kind: what it has read of these segments, which never change, is taken over.
    """

    def __init__(self, root: Path, rows: Sequence[SegmentRow], before: Shelf | None = None) -> None:
        self._root = root
        self._rows = tuple(rows)
        self._segments: dict[str, segments.Segment] = {}
        self._views: dict[str, np.ndarray] = {}
        if before is not None and before._root == root:  # noqa: SLF001 - its like
            self._segments |= _kept(before._segments, self.names)  # noqa: SLF001
            self._views |= _kept(before._views, self.names if len(rows) <= _KEPT_MAPPED else ())  # noqa: SLF001

    @property
    def rows(self) -> int:
        """How many vectors the segments hold; a vector stored twice counts twice."""
        return sum(row.rows for row in self._rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the segments, to see whether the catalogue's still are the same."""
        return tuple(row.name for row in self._rows)

    def contains(self, ids: Ids) -> np.ndarray:
        """Say of each id whether it is stored: bool of shape (rows,).

        Raises
        ------
        Gone
            When a segment's file is not there: read the catalogue again and retry.
        Damaged
            When a segment's file is not what its row says.
        """
        wanted, inverse = np.unique(ids, return_inverse=True)
        where, _ = self._find(wanted)
        return (where >= 0)[inverse]

    def gather(self, ids: Ids) -> Vectors:
        """Return the vectors of ids, in their order.

        Parameters
        ----------
        ids
            int64 of shape (rows,), in any order, repeats allowed.

        Returns
        -------
        Vectors
            float32 of shape (rows, dim).

        Raises
        ------
        NotStored
            When any is missing; the message counts them and names the first.
        Gone
            When a segment's file is not there: read the catalogue again and retry.
        Damaged
            When a segment's file is not what its row says.
        """
        wanted, inverse = np.unique(ids, return_inverse=True)
        where, places = self._find(wanted)
        self._refuse_missing(wanted[where < 0])
        if not len(wanted):
            return np.empty((0, self._rows[0].dim if self._rows else 0), dtype=np.float32)
        where, places = where[inverse], places[inverse]
        result = np.empty((len(inverse), self._rows[int(where[0])].dim), dtype=np.float32)
        for number in np.unique(where):
            view = self._view(self._rows[number])
            self._copy(view, places, np.flatnonzero(where == number), result)
        return result

    def _find(self, wanted: Ids) -> tuple[np.ndarray, np.ndarray]:
        """Return for each sorted id the number of its segment (-1: none) and its row there."""
        where = np.full(len(wanted), -1, dtype=np.int32)
        places = np.zeros(len(wanted), dtype=np.int64)
        for number, row in enumerate(self._rows):
            open_ones = np.flatnonzero(where < 0)
            if not len(open_ones):
                break
            hits, there = _found(wanted[open_ones], self._segment(row))
            where[open_ones[hits]] = number
            places[open_ones[hits]] = there
        return where, places

    def _segment(self, row: SegmentRow) -> segments.Segment:
        found = self._segments.get(row.name)
        if found is None:
            found = segments.open(row.path(self._root), row)
            found = self._segments.setdefault(row.name, found)
        return found

    def _view(self, row: SegmentRow) -> np.ndarray:
        found = self._views.get(row.name)
        if found is None:
            found = self._segment(row).vectors()
            if len(self._rows) <= _KEPT_MAPPED:
                found = self._views.setdefault(row.name, found)
        return found

    @staticmethod
    def _copy(view: np.ndarray, places: np.ndarray, targets: np.ndarray, result: Vectors) -> None:
        whole = len(targets) == len(result) and view.dtype == result.dtype
        source, target = view.view(np.uint8), result.view(np.uint8)
        for start in range(0, len(targets), _BLOCK):
            block = targets[start : start + _BLOCK]
            if whole:  # as bytes the payload is aligned, so ``take`` copies these rows only, and straight into place
                stop = start + len(block)
                np.take(source, places[start:stop], axis=0, out=target[start:stop], mode="clip")
            else:
                result[block] = view[places[block]]

    @staticmethod
    def _refuse_missing(missing: Ids) -> None:
        if not len(missing):
            return
        first = ", ".join(keys.to_hex(int(key)) for key in missing[:5])
        msg = f"{len(missing)} vectors are not in the store (first: {first}): encode them first (without --no-encode)"
        raise NotStored(msg)


def _found(wanted: np.ndarray, segment: segments.Segment) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in sorted ``wanted``, and rows of the segment, of the ids that both have."""
    few = len(wanted) * _MANY_TIMES < segment.row.rows
    return _bisected(wanted, segment.mapped_ids) if few else _matches(wanted, segment.ids)


def _bisected(wanted: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`_matches` does, touching few pages of ``there``: what a look-up costs is not its length."""
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(there), np.int64)
    for _ in range(len(there).bit_length()):
        middle = (low + high) // 2
        less = (low < high) & (there[np.minimum(middle, len(there) - 1)] < wanted)
        low, high = np.where(less, middle + 1, low), np.where(less, high, np.minimum(middle, high))
    inside = np.minimum(low, len(there) - 1)
    hits = np.flatnonzero((low < len(there)) & (there[inside] == wanted))
    return hits, inside[hits]


def _kept(held: Mapping[str, _Held], names: Sequence[str]) -> dict[str, _Held]:
    found = ((name, held.get(name)) for name in names)
    return {name: one for name, one in found if one is not None}


def _matches(wanted: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in sorted ``wanted``, and in sorted ``there``, of the ids that both have."""
    if len(there) < len(wanted):
        found, hits = _matches(there, wanted)
        return hits, found
    places = np.searchsorted(there, wanted)
    places[places == len(there)] = 0
    hits = np.flatnonzero(there[places] == wanted) if len(there) else np.empty(0, dtype=np.int64)
    return hits, places[hits]
