"""Rows of segments: the committed files of vectors. A file without a row does not exist for a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from clipstore.storage.catalogue.spaces import number_of
from clipstore.storage.catalogue.statements import Tx, next_id, rows, run, run_in
from clipstore.storage.faults import reach

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from clipstore.storage.layout import Dtype

Modality = Literal["image", "text"]


@final
@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One committed segment.

    Parameters
    ----------
    name
        The file's name without extension, 32 hex digits: half chance, half checksum.
    digest
        Fingerprint of its space.
    modality
        ``image`` (ids are image ids) or ``text`` (ids are vector keys).
    rows, dim, dtype
        Shape and number format of its vectors.
    vectors_offset, ids_offset
        Where vectors and ids begin in the file, in bytes.
    bytes
        Size of the file.
    sha256
        Checksum of the file, 64 hex digits.
    layout
        Version of the file's layout.
    environment
        Number of the environment that made the vectors, if known.
    created
        Seconds since the epoch.
    """

    name: str
    digest: str
    modality: Modality
    rows: int
    dim: int
    dtype: Dtype
    vectors_offset: int
    ids_offset: int
    bytes: int
    sha256: str
    layout: int
    environment: int | None
    created: float

    def path(self, store: Path) -> Path:
        """Return where its file lies in the store's folder."""
        return store / "vectors" / self.digest / self.modality / f"{self.name}.faiss"


_COLUMNS = (
    "id, name, space_id, modality, row_count, dim, dtype, vectors_offset, ids_offset, "
    "byte_count, sha256, layout, environment_id, created"
)
_QUERY = (
    "SELECT g.name, s.digest, g.modality, g.row_count, g.dim, g.dtype, g.vectors_offset, g.ids_offset, "
    "g.byte_count, g.sha256, g.layout, g.environment_id, g.created FROM segments g JOIN spaces s ON s.id = g.space_id"
)


def add(tx: Tx, row: SegmentRow) -> None:
    """Make a segment part of the store; its file stands complete on the disk by now. Known ones stay as they are.

    Raises
    ------
    NotStored
        When its space is not registered.
    """
    reach("row inserting")
    values = (
        *(
            next_id(tx, "segments"),
            row.name,
            number_of(tx, row.digest),
            row.modality,
            row.rows,
            row.dim,
            row.dtype,
            row.vectors_offset,
        ),
        *(row.ids_offset, row.bytes, row.sha256, row.layout, row.environment, row.created),
    )
    marks = ", ".join("?" * len(values))
    run(tx, f"INSERT INTO segments ({_COLUMNS}) VALUES ({marks}) ON CONFLICT (name) DO NOTHING", *values)  # noqa: S608
    reach("row inserted")


def all(tx: Tx, digest: str | None = None, modality: Modality | None = None) -> list[SegmentRow]:  # noqa: A001
    """Return the segments of a space and modality (of any, where None), in the order of their commits."""
    wanted = [("s.digest", digest), ("g.modality", modality)]
    given = [(column, value) for column, value in wanted if value is not None]
    where = " AND ".join(f"{column} = ?" for column, _ in given) or "1 = 1"
    query = f"{_QUERY} WHERE {where} ORDER BY g.id"
    return [_segment(row) for row in rows(tx, query, *(value for _, value in given))]


def remove(tx: Tx, names: Iterable[str]) -> int:
    """Take segments out of the store; return how many there were. Files go after the commit, not before."""
    return run_in(tx, "DELETE FROM segments WHERE name IN ({marks})", names)


def _segment(row: Any) -> SegmentRow:
    return SegmentRow(*row)
