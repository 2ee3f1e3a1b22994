"""The nearest of a pool: segments and a trained index are opened once, and asked as often as one likes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import InputError
from clipstore.search.pools import TextPool
from clipstore.storage import trained
from clipstore.storage.catalogue import segments
from clipstore.storage.search import Hits, exact, joined, recall
from clipstore.storage.segments import Gone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar

    from clipstore.arrays import Ids, Vectors
    from clipstore.search.pools import ImagePool
    from clipstore.search.verb import Approximate
    from clipstore.storage.catalogue.segments import SegmentRow
    from clipstore.storage.trained import Only, Trained
    from clipstore.store import Space

    Answer = TypeVar("Answer")

RECALL_AT = 10
SAMPLE = 200  # queries of the recall that is printed

_ATTEMPTS = 5


def sample(count: int) -> Ids:
    """Return the places of at most 200 queries of ``count``, evenly over all."""
    return np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64)


@final
@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """What one store has of a pool: its segments, and the trained index over them where one serves."""

    root: Path
    rows: list[SegmentRow]
    index: Trained | None = None
    only: Only | None = None


@final
class Nearest:
    """The nearest vectors of a pool, in a store and those that it rests on.

    Parameters
    ----------
    space
        The vectors of one encoder.
    pool
        Captions or images.
    index
        A trained index in place of an exact search. Of a base it serves where the base has it, for nothing is
        written there; else the base is searched exactly.

    Raises
    ------
    InputError
        When the store holds no vector of this kind, or the index can't be made.
    """

    def __init__(self, space: Space, pool: TextPool | ImagePool, index: Approximate | None = None) -> None:
        self._space, self._index = space, index
        self._captions = isinstance(pool, TextPool)
        self._allowed = pool.allowed
        self._parts: list[_Part] = []
        self._retried(lambda: None)

    def search(self, vectors: Vectors, k: int) -> Hits:
        """Return the ``k`` nearest of the pool for each vector.

        Parameters
        ----------
        vectors
            Unit vectors, float32, shape (queries, dim).
        k
            How many.

        Raises
        ------
        InputError
            When the index can't be asked for a part of the store.
        """
        return self._retried(lambda: self._search(vectors, k))

    def _search(self, vectors: Vectors, k: int, *, exactly: bool = False) -> Hits:
        found = Hits.none(len(vectors), k)
        for part in self._parts:
            if exactly or self._index is None or part.index is None:
                hits = exact(part.root, part.rows, vectors, k, self._allowed)
            else:
                hits = part.index.search(vectors, k, part.only, self._index.nprobe)
            found = joined(found, hits, k)
        return found

    def recall(self, vectors: Vectors) -> float | None:
        """Return the share of the exact ten nearest that the index finds in this pool; None where search is exact.

        Parameters
        ----------
        vectors
            What was asked; of more than 200 an even sample counts.
        """
        if self._index is None or not len(vectors):
            return None
        return self._retried(lambda: self._recall(vectors[sample(len(vectors))]))

    def _recall(self, vectors: Vectors) -> float | None:
        if all(part.index is None for part in self._parts):
            return None
        return recall(self._search(vectors, RECALL_AT), self._search(vectors, RECALL_AT, exactly=True))

    def _open(self) -> None:
        own = self._space.catalogue
        parts = []
        for one in (*own.bases, own):
            with one.read() as tx:
                rows = segments.all(tx, self._space.fingerprint.digest, "text" if self._captions else "image")
            if rows:
                parts.append(self._part(one.folder, rows, is_base=one is not own))
        if not parts:
            what = "captions" if self._captions else "images"
            msg = f"the store holds no {what} encoded with {self._space.shown}: score or add some first"
            raise InputError(msg)
        self._parts = parts

    def _part(self, root: Path, rows: list[SegmentRow], *, is_base: bool) -> _Part:
        if self._index is None:
            return _Part(root, rows)
        find = trained.known if is_base else trained.open_or_make
        index = find(root, rows, self._index.factory)
        return _Part(root, rows, index, None if index is None or self._allowed is None else index.only(self._allowed))

    def _retried(self, ask: Callable[[], Answer]) -> Answer:
        """Ask the segments that were committed; read the catalogue again where one was compacted away meanwhile."""
        for attempt in range(_ATTEMPTS):
            try:
                if not self._parts:
                    self._open()
                return ask()
            except Gone:
                self._parts = []
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError  # the loop returns or raises
