"""What small stores are made of: vectors, ids, and one committed segment."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable

import numpy as np

from clipstore.storage import segments as segment_files
from clipstore.storage.catalogue import Catalogue, segments, spaces
from clipstore.storage.catalogue.segments import Modality, SegmentRow
from clipstore.storage.segments import SegmentFile

DIGEST = "00112233445566ff"


def unit_vectors(rows: int, dim: int = 16, seed: int = 0) -> np.ndarray:
    """Return random unit vectors, float32 of shape (rows, dim)."""
    drawn = np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def random_ids(rows: int, seed: int = 0) -> np.ndarray:
    """Return distinct random ids in random order, int64 of shape (rows,)."""
    drawn = np.random.default_rng(seed).integers(0, 2**63 - 1, size=rows, dtype=np.int64)
    assert len(np.unique(drawn)) == rows
    return drawn


def row_of(file: SegmentFile, modality: Modality = "text", digest: str = DIGEST, created: float = 0.0) -> SegmentRow:
    """Return the row that a written file gets."""
    return SegmentRow(
        name=file.name,
        digest=digest,
        modality=modality,
        rows=file.rows,
        dim=file.dim,
        dtype=file.dtype,
        vectors_offset=file.vectors_offset,
        ids_offset=file.ids_offset,
        bytes=file.bytes,
        sha256=file.sha256,
        layout=file.layout,
        environment=None,
        created=created,
    )


def commit(
    catalogue: Catalogue, ids: np.ndarray, vectors: np.ndarray, modality: Modality = "text", dtype: str = "float32"
) -> SegmentRow:
    """Write and commit one segment as the store does: bytes first, row second."""
    file = segment_files.write(catalogue.folder / "vectors" / DIGEST / modality, ids, vectors, dtype)
    row = row_of(file, modality)
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {"kind": "test"}, file.dim, dtype)
        segments.add(tx, row)
    return row


def in_children(count: int, work: Callable[[int], None]) -> list[int]:
    """Run ``work`` in forked children that all start at once; return their exit codes (0, 1 for an error, -signal)."""
    gate, opener = os.pipe()
    children = []
    for number in range(count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # faiss has threads; no child calls it
            child = os.fork()
        if child == 0:
            os.close(opener)
            os.read(gate, 1)
            _end(work, number)
        children.append(child)
    os.close(opener)
    os.close(gate)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _end(work: Callable[[int], None], number: int) -> None:
    code = 1
    try:
        work(number)
        code = 0
    except BaseException:  # noqa: BLE001  a child of a test ends here, whatever happened
        traceback.print_exc()
    finally:
        os._exit(code)
