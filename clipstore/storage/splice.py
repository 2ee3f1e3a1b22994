"""A splice: one segment made of rows of others, streamed, bit for bit, the first row of an id kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import Damaged
from clipstore.storage import durable, layout
from clipstore.storage import segments as files
from clipstore.storage.segments import SegmentFile
from clipstore.storage.translate import REPAIR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from clipstore.storage.catalogue.segments import SegmentRow
    from clipstore.storage.layout import Dtype

_BLOCK = 1 << 22  # bytes of vectors held at once


@final
@dataclass(frozen=True, eq=False)
class Source:
    """A segment to take rows from.

    Parameters
    ----------
    path
        Its file.
    row
        Its row.
    keep
        Which of its rows count, bool of shape (rows,); None for all.
    """

    path: Path
    row: SegmentRow
    keep: np.ndarray | None = None


def write(folder: Path, sources: Sequence[Source], dtype: Dtype) -> SegmentFile | None:
    """Write the rows of the sources as one segment of ``folder``; None when no row is left.

    Ids and places are held (20 bytes a row), vectors a few megabytes at a time.

    Parameters
    ----------
    folder
        Where segments of their space and modality lie.
    sources
        In the order in which they are searched: of rows with one id the first stays. All of one dimension.
    dtype
        Number format of the new segment; with that of a source, its vectors are copied bit for bit.

    Raises
    ------
    Gone
        When a source's file is not there.
    Damaged
        When a source's bytes are not those that were committed: a copy would hide it.
    CannotWrite
        When the disk is full; nothing is left behind.
    """
    opened = [_verified(source) for source in sources]
    ids, owners, places = _order(sources, [segment.ids for segment in opened])
    if not len(ids):
        return None
    rows, dim = len(ids), sources[0].row.dim
    views = [segment.vectors() for segment in opened]

    def parts() -> Iterator[bytes]:
        yield layout.header(rows, dim, dtype)
        step = max(1, _BLOCK // (4 * dim))
        for start in range(0, rows, step):
            block = slice(start, start + step)
            yield _block(views, owners[block], places[block], dim, dtype).tobytes()
        yield layout.COUNT.pack(rows)
        yield ids.astype("<i8").tobytes()

    path, digest = durable.write(folder, parts(), lambda digest: f"{files.name_of(digest)}{files.SUFFIX}")
    return SegmentFile(
        path.stem,
        rows,
        dim,
        dtype,
        layout.VECTORS_OFFSET[dtype],
        layout.ids_offset(rows, dim, dtype),
        layout.file_size(rows, dim, dtype),
        digest,
    )


def _verified(source: Source) -> files.Segment:
    segment = files.open(source.path, source.row)
    if files.checksum(source.path) != source.row.sha256:
        msg = f"{source.path}: this segment is damaged (its bytes are not those committed): {REPAIR}"
        raise Damaged(msg)
    return segment


def _order(sources: Sequence[Source], ids: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sorted distinct ids, the number of the source of each, and its row there."""
    kept = [
        np.arange(len(own)) if source.keep is None else np.flatnonzero(source.keep)
        for source, own in zip(sources, ids, strict=True)
    ]
    joined = np.concatenate([own[rows] for own, rows in zip(ids, kept, strict=True)])
    distinct, first = np.unique(joined, return_index=True)
    ends = np.cumsum([len(rows) for rows in kept])
    owners = np.searchsorted(ends, first, side="right").astype(np.int32)
    return distinct, owners, np.concatenate(kept)[first]


def _block(views: Sequence[np.ndarray], owners: np.ndarray, places: np.ndarray, dim: int, dtype: Dtype) -> np.ndarray:
    result = np.empty((len(owners), dim), dtype=layout.NUMBERS[dtype])
    for owner in np.unique(owners):
        mine = np.flatnonzero(owners == owner)
        result[mine] = views[owner][places[mine]]
    return result
