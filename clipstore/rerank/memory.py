"""A memory of captions: their vectors in one matrix, the oldest half forgotten when it is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.rerank.ragged import Flags

_START = 1024


@final
class Memory:
    """Raw caption -> row of a matrix of vectors.

    Parameters
    ----------
    dim
        Length of a vector.
    limit
        How many captions stay; one call that needs more gets it.
    """

    def __init__(self, dim: int, limit: int) -> None:
        self._limit = max(limit, 1)
        self._row: dict[str, int] = {}
        self._vectors: Vectors = np.empty((min(_START, self._limit), dim), np.float32)
        self.encoded = 0

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, caption: str) -> bool:
        return caption in self._row

    @property
    def vectors(self) -> Vectors:
        """The matrix; rows beyond those in use hold nothing."""
        return self._vectors

    def places(self, captions: Sequence[str]) -> tuple[Ids, Flags]:
        """Return the row of each caption, -1 where it is not known, and which are known."""
        get = self._row.get
        places = np.fromiter((get(caption, -1) for caption in captions), np.int64, len(captions))
        return places, places >= 0

    def make_room(self, count: int) -> bool:
        """Forget the older half, or more, where ``count`` new captions would not fit; say whether any went."""
        if len(self._row) + count <= self._limit or not self._row:
            return False
        kept = list(self._row)[max(len(self._row) // 2, len(self._row) + count - self._limit) :]
        rows = [self._row[text] for text in kept]
        self._vectors[: len(rows)] = self._vectors[rows]
        self._row = {text: row for row, text in enumerate(kept)}
        return True

    def add(self, captions: Sequence[str], vectors: Vectors) -> None:
        """Remember captions that are not known yet, with their vectors, shape (len(captions), dim)."""
        start, stop = len(self._row), len(self._row) + len(captions)
        if stop > len(self._vectors):
            more = np.empty((max(stop, min(2 * len(self._vectors), self._limit)), self._vectors.shape[1]), np.float32)
            more[:start] = self._vectors[:start]
            self._vectors = more
        self._vectors[start:stop] = vectors
        self._row.update(zip(captions, range(start, stop), strict=True))
