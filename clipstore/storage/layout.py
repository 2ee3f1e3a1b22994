"""The layout of a segment's file: header, offsets, size. Pure arithmetic; no array is touched.

The file is what ``faiss.write_index`` gives for ``IndexIDMap(IndexFlatIP)`` (float32), or
with ``IndexScalarQuantizer QT_fp16`` inside (float16), byte for byte; a test compares.
(Of a float16 tie, halfway between two numbers, FAISS may keep the other neighbour.)

==============  ==========  ==========
part            float32     float16
==============  ==========  ==========
header          82 bytes    118 bytes
vectors         4nd         2nd
count of ids    8           8
ids, sorted     8n          8n
==============  ==========  ==========
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from clipstore.storage.catalogue.segments import SegmentRow

Dtype = Literal["float32", "float16"]
"""How a number of a stored vector is written."""

DTYPES: tuple[Dtype, ...] = ("float32", "float16")

VERSION = 1
"""Version of this layout, kept in each segment's row."""

VECTORS_OFFSET: dict[str, int] = {"float32": 82, "float16": 118}
"""Where the vectors begin: the length of the header, in bytes."""

NUMBERS: dict[str, np.dtype[np.float32] | np.dtype[np.float16]] = {
    "float32": np.dtype("<f4"),
    "float16": np.dtype("<f2"),
}

COUNT = struct.Struct("<Q")
_OUTER = b"IxMp"
_INNER: dict[str, bytes] = {"float32": b"IxFI", "float16": b"IxSQ"}
_COMMON = struct.Struct("<iqqqBi")  # dim, rows, two unused numbers, trained, metric
_UNUSED = 1 << 20
_INNER_PRODUCT = 0
_QUANTIZER = struct.Struct("<iifQQQ")  # type, range rule, its argument, dim, bytes a vector, trained values
_FP16 = 4
_SHAPE = struct.Struct("<iq")


def header(rows: int, dim: int, dtype: Dtype) -> bytes:
    """Return the bytes that come before the vectors."""
    common = _COMMON.pack(dim, rows, _UNUSED, _UNUSED, 1, _INNER_PRODUCT)
    if dtype == "float32":
        inner = COUNT.pack(rows * dim)
    else:
        width = NUMBERS[dtype].itemsize
        inner = _QUANTIZER.pack(_FP16, 0, 0.0, dim, width * dim, 0) + COUNT.pack(rows * dim * width)
    return _OUTER + common + _INNER[dtype] + common + inner


def ids_offset(rows: int, dim: int, dtype: Dtype) -> int:
    """Return where the ids begin, in bytes."""
    return VECTORS_OFFSET[dtype] + rows * dim * NUMBERS[dtype].itemsize + COUNT.size


def file_size(rows: int, dim: int, dtype: Dtype) -> int:
    """Return the size of a segment's file, in bytes."""
    return ids_offset(rows, dim, dtype) + 8 * rows


def problem(found: bytes, size: int, row: SegmentRow) -> str | None:
    """Say how a file's header and size differ from what its row promises, or None."""
    if row.layout != VERSION or row.dtype not in DTYPES:
        return f"its row names layout {row.layout} and {row.dtype}, which this clipstore does not read"
    if row.vectors_offset != VECTORS_OFFSET[row.dtype] or row.ids_offset != ids_offset(row.rows, row.dim, row.dtype):
        return "its row's offsets do not fit its shape"
    if size != row.bytes or size != file_size(row.rows, row.dim, row.dtype):
        return f"it has {size} bytes, not {row.bytes}"
    if found[: VECTORS_OFFSET[row.dtype]] != header(row.rows, row.dim, row.dtype):
        return "its header does not say what its row says"
    return None


def shape(found: bytes, size: int) -> tuple[int, int, Dtype] | None:
    """Return rows, dim and dtype that a file's own header and size agree on, or None."""
    if len(found) < len(_OUTER) + _SHAPE.size:
        return None
    dim, rows = _SHAPE.unpack_from(found, len(_OUTER))
    if dim <= 0 or rows <= 0:
        return None
    for dtype in DTYPES:
        if size == file_size(rows, dim, dtype) and found.startswith(header(rows, dim, dtype)):
            return rows, dim, dtype
    return None
