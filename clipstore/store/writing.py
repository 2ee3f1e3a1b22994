"""Committing vectors in chunks: bytes first, row second, so that a killed run keeps what it had."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from clipstore.storage import compact, halves
from clipstore.storage import segments as segment_files
from clipstore.storage.catalogue import contents, segments, settings, spaces
from clipstore.storage.catalogue.segments import SegmentRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.contents import ImageRow
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.segments import SegmentFile

ROWS = 4096
"""A chunk is committed at this many rows ..."""

SECONDS = 10.0
"""... or when this long has passed since the last commit."""


@final
class Writer:
    """Collects the vectors of one modality and commits them in chunks.

    Parameters
    ----------
    catalogue
        Where rows go.
    space
        The space that the vectors belong to.
    modality
        ``image`` or ``text``.
    environment
        Versions and device of the encoder, recorded with each segment.
    prefix
        For texts: what stood before each, recorded so that keys can be derived again.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        space: SpaceRow,
        modality: Literal["image", "text"],
        environment: Mapping[str, str],
        prefix: str = "",
    ) -> None:
        self._catalogue = catalogue
        self._space = space
        self._modality = modality
        self._environment = environment
        self._prefix = prefix
        self._last = time.monotonic()
        self.committed = 0
        self._clear()

    def _clear(self) -> None:
        self._ids: list[Ids] = []
        self._vectors: list[Vectors] = []
        self._texts: dict[int, str] = {}
        self._images: list[ImageRow] = []
        self._cuts: list[tuple[int, int, int]] = []
        self._waiting = 0

    def add_texts(
        self, ids: Ids, vectors: Vectors, raw: Mapping[int, str], cuts: Sequence[tuple[int, int, int]]
    ) -> None:
        """Take a batch of text vectors.

        Parameters
        ----------
        ids, vectors
            Vector keys and their unit vectors, shapes (rows,) and (rows, dim).
        raw
            Text id -> raw text, of the texts behind these keys.
        cuts
            (vector key, tokens kept, tokens cut) where something was cut.
        """
        self._texts.update(raw)
        self._cuts.extend(cuts)
        self._take(ids, vectors)

    def add_images(self, ids: Ids, vectors: Vectors, rows: Sequence[ImageRow]) -> None:
        """Take a batch of image vectors, shapes (rows,) and (rows, dim), with their catalogue rows."""
        self._images.extend(rows)
        self._take(ids, vectors)

    def _take(self, ids: Ids, vectors: Vectors) -> None:
        self._ids.append(ids)
        self._vectors.append(vectors)
        self._waiting += len(ids)
        if self._waiting >= ROWS or time.monotonic() - self._last > SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit what is waiting: the segment's bytes, then its row, in this order."""
        if not self._waiting:
            return
        ids, vectors = np.concatenate(self._ids), np.concatenate(self._vectors)
        folder = self._catalogue.folder / "vectors" / self._space.digest / self._modality
        written = segment_files.write(folder, ids, vectors, self._space.dtype)
        with self._catalogue.write() as tx:
            spaces.register(tx, self._space.digest, self._space.fields, self._space.dim, self._space.dtype)
            environment = settings.environment(tx, self._environment)
            contents.add_texts(tx, list(self._texts), list(self._texts.values()))
            contents.add_images(tx, self._images)
            contents.add_cuts(tx, self._space.digest, self._cuts)
            if self._modality == "text":
                spaces.add_prompt(tx, self._space.digest, self._prefix)
            segments.add(tx, _row(written, self._space.digest, self._modality, environment))
            halves.record(tx, self._space, vectors)
        self.committed += self._waiting
        self._last = time.monotonic()
        self._clear()
        compact.tidy(self._catalogue, self._space.digest, self._modality)


def _row(written: SegmentFile, digest: str, modality: Literal["image", "text"], environment: int) -> SegmentRow:
    return SegmentRow(
        name=written.name,
        digest=digest,
        modality=modality,
        rows=written.rows,
        dim=written.dim,
        dtype=written.dtype,
        vectors_offset=written.vectors_offset,
        ids_offset=written.ids_offset,
        bytes=written.bytes,
        sha256=written.sha256,
        layout=written.layout,
        environment=environment,
        created=time.time(),
    )
