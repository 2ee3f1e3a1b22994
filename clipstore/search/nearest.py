"""The nearest of a pool: segments and a trained index are opened once, and asked as often as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import InputError
from clipstore.search.pools import TextPool
from clipstore.storage import trained
from clipstore.storage.catalogue import segments
from clipstore.storage.search import Hits, exact
from clipstore.storage.segments import Gone

if TYPE_CHECKING:
    from collections.abc import Callable
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
class Nearest:
    """The nearest vectors of a pool.

    Parameters
    ----------
    space
        The vectors of one encoder.
    pool
        Captions or images.
    index
        A trained index in place of an exact search.

    Raises
    ------
    InputError
        When the store holds no vector of this kind, or the index can't be made.
    """

    def __init__(self, space: Space, pool: TextPool | ImagePool, index: Approximate | None = None) -> None:
        self._space, self._index = space, index
        self._captions = isinstance(pool, TextPool)
        self._allowed = pool.allowed
        self._rows: list[SegmentRow] = []
        self._trained: Trained | None = None
        self._only: Only | None = None
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

    def _search(self, vectors: Vectors, k: int) -> Hits:
        if self._index is None or self._trained is None:
            return exact(self._space.catalogue.folder, self._rows, vectors, k, self._allowed)
        return self._trained.search(vectors, k, self._only, self._index.nprobe)

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
        if self._index is None or self._trained is None:
            return None
        return self._trained.recall(vectors, RECALL_AT, self._only, self._index.nprobe)

    def _open(self) -> None:
        with self._space.catalogue.read() as tx:
            rows = segments.all(tx, self._space.fingerprint.digest, "text" if self._captions else "image")
        if not rows:
            what = "captions" if self._captions else "images"
            msg = f"the store holds no {what} encoded with {self._space.shown}: score or add some first"
            raise InputError(msg)
        if self._index is not None:
            self._trained = trained.open_or_make(self._space.catalogue.folder, rows, self._index.factory)
            self._only = None if self._allowed is None else self._trained.only(self._allowed)
        self._rows = rows

    def _retried(self, ask: Callable[[], Answer]) -> Answer:
        """Ask the segments that were committed; read the catalogue again where one was compacted away meanwhile."""
        for attempt in range(_ATTEMPTS):
            try:
                if not self._rows:
                    self._open()
                return ask()
            except Gone:
                self._rows = []
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError  # the loop returns or raises
