"""A segment: one immutable FAISS file of unit vectors with their sorted ids inside.

Written without faiss, by hand and through Python's file object, so that a full disk raises
(faiss can lose the tail in silence); read without faiss too. ``layout`` says what is where.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clipstore.errors import Damaged, InputError
from clipstore.storage import durable, layout
from clipstore.storage.soundness import problem_of
from clipstore.storage.translate import REPAIR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path

    from clipstore.arrays import Ids, Vectors
    from clipstore.storage.catalogue.segments import SegmentRow
    from clipstore.storage.layout import Dtype

SUFFIX = ".faiss"
UNFINISHED = durable.UNFINISHED

_BLOCK = 1 << 22  # bytes of vectors written at once


class Gone(Damaged):
    """A segment's file is not there: compacted away since the rows were read, or lost.

    Read the catalogue again and retry; if its row still stands, the store is damaged.
    """


@final
@dataclass(frozen=True, slots=True)
class SegmentFile:
    """What was written: all that a row needs to know about the file."""

    name: str
    rows: int
    dim: int
    dtype: Dtype
    vectors_offset: int
    ids_offset: int
    bytes: int
    sha256: str
    layout: int = layout.VERSION


def write(folder: Path, ids: Ids, vectors: Vectors, dtype: Dtype = "float32") -> SegmentFile:
    """Write one segment into ``folder``, durably: it is complete on the disk when this returns.

    Parameters
    ----------
    folder
        Where segments of one space and modality lie; made if absent.
    ids
        int64 of shape (rows,), distinct, in any order.
    vectors
        float32 of shape (rows, dim), unit norm.
    dtype
        Number format in the file.

    Raises
    ------
    InputError
        When there are no rows, ids repeat, or a vector is not finite or not of unit norm.
    CannotWrite
        When the disk is full or the folder can't be written; nothing is left behind.
    """
    _refuse_bad(ids, vectors)
    order = np.argsort(ids, kind="stable")
    rows, dim = vectors.shape
    parts = _parts(ids, vectors, order, dtype)
    path, digest = durable.write(folder, parts, lambda digest: f"{name_of(digest)}{SUFFIX}")
    ids_offset, size = layout.ids_offset(rows, dim, dtype), layout.file_size(rows, dim, dtype)
    return SegmentFile(path.stem, rows, dim, dtype, layout.VECTORS_OFFSET[dtype], ids_offset, size, digest)


def name_of(digest: str) -> str:
    """Return a new name for a file with this sha256: half chance, half checksum.

    So a file tells whether it is whole even when the catalogue is lost (see :func:`is_named`).
    """
    return uuid.uuid4().hex[:16] + digest[:16]


def is_named(name: str, digest: str) -> bool:
    """Say whether a file's name was made for this sha256."""
    return name[16:] == digest[:16]


def _refuse_bad(ids: Ids, vectors: Vectors) -> None:
    problem = problem_of(ids, vectors)
    if problem is not None:
        msg = f"vectors can't be stored: {problem}: the encoder or the file that gave them is at fault"
        raise InputError(msg)


def _parts(ids: Ids, vectors: Vectors, order: np.ndarray, dtype: Dtype) -> Iterator[bytes]:
    rows, dim = vectors.shape
    yield layout.header(rows, dim, dtype)
    step = max(1, _BLOCK // (4 * dim))
    for start in range(0, rows, step):
        yield vectors[order[start : start + step]].astype(layout.NUMBERS[dtype]).tobytes()
    yield layout.COUNT.pack(rows)
    yield ids[order].astype("<i8").tobytes()


@final
class Segment:
    """A committed segment, read without faiss. Made by :func:`open`.

    Parameters
    ----------
    path
        Its file.
    row
        Its row.
    """

    def __init__(self, path: Path, row: SegmentRow) -> None:
        self.path = path
        self.row = row

    @cached_property
    def ids(self) -> Ids:
        """Sorted ids: int64 of shape (rows,), read-only, in memory (8 bytes a row)."""
        with _reading(self.path) as file:
            file.seek(self.row.ids_offset - layout.COUNT.size)
            count = layout.COUNT.unpack(file.read(layout.COUNT.size))[0]
            ids = np.frombuffer(file.read(8 * self.row.rows), dtype="<i8")
        if count != self.row.rows or len(ids) != self.row.rows:
            raise _damaged(self.path, "its count of ids does not match")
        return ids

    @cached_property
    def mapped_ids(self) -> np.ndarray:
        """The same ids mapped, for a few look-ups in many: index it, since anything else copies it."""
        return self._mapped(np.dtype("<i8"), self.row.ids_offset, (self.row.rows,))

    def vectors(self) -> np.ndarray:
        """Map the vectors: float32 or float16 of shape (rows, dim), read-only, never copied whole.

        Index it with rows (``view[rows]``): the payload is unaligned, and ``take`` or ``@``
        would copy all of it. The mapping lives as long as the array, whatever happens to the file.
        """
        return self._mapped(layout.NUMBERS[self.row.dtype], self.row.vectors_offset, (self.row.rows, self.row.dim))

    def _mapped(self, dtype: np.dtype[Any], offset: int, shape: tuple[int, ...]) -> np.ndarray:
        try:
            return np.asarray(np.memmap(self.path, dtype=dtype, mode="r", offset=offset, shape=shape))
        except FileNotFoundError as error:
            raise _gone(self.path) from error
        except (OSError, ValueError) as error:
            raise _damaged(self.path, f"it can't be mapped ({error})") from error


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[BufferedReader]:
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise _gone(path) from error
    except OSError as error:
        raise _damaged(path, f"it can't be read ({error.strerror or error})") from error


def _gone(path: Path) -> Gone:
    return Gone(f"{path}: a segment's file is missing: {REPAIR}; its items are encoded again when needed")


def _damaged(path: Path, problem: str) -> Damaged:
    return Damaged(f"{path}: this segment is damaged ({problem}): {REPAIR}")


def open(path: Path, row: SegmentRow) -> Segment:  # noqa: A001  read as segments.open
    """Open a committed segment after a cheap look at its header and size.

    Raises
    ------
    Gone
        When the file is not there.
    Damaged
        When header, size or row disagree.
    """
    problem = layout.problem(*_beginning(path), row)
    if problem is not None:
        raise _damaged(path, problem)
    return Segment(path, row)


def _beginning(path: Path) -> tuple[bytes, int]:
    with _reading(path) as file:
        return file.read(max(layout.VECTORS_OFFSET.values())), os.fstat(file.fileno()).st_size


def shape_of(path: Path) -> tuple[int, int, Dtype] | None:
    """Return rows, dim and dtype that a segment file's own header and size give, or None when they fit none.

    Raises
    ------
    Gone
        When the file is not there.
    """
    return layout.shape(*_beginning(path))


def checksum(path: Path) -> str:
    """Return the sha256 of a file, 64 hex digits.

    Raises
    ------
    Gone
        When the file is not there.
    """
    with _reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
