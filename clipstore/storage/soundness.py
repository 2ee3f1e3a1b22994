"""Soundness: what a segment's rows must be before they are written, and still are when they are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

NORM_TOLERANCE = 1e-3
"""How far from 1 the norm of a stored vector may be."""

_BLOCK = 1 << 22  # bytes looked at at once


def problem_of(ids: np.ndarray, vectors: np.ndarray) -> str | None:
    """Say why rows can't be a segment, or None when they can."""
    if vectors.ndim != 2 or ids.shape != vectors.shape[:1] or 0 in vectors.shape:
        return f"{len(ids)} ids do not fit vectors of shape {vectors.shape}"
    if vectors.dtype != np.float32 or ids.dtype != np.int64:
        return f"ids are {ids.dtype} and vectors {vectors.dtype}, not int64 and float32"
    if len(np.unique(ids)) < len(ids) or ids.min() < 0:
        return "an id repeats or is negative"
    off = np.concatenate([off_norm(block) for block in blocks(vectors)])
    return None if not off.any() else f"{int(off.sum())} of {len(ids)} are not finite or not of unit norm"


def off_norm(vectors: np.ndarray) -> np.ndarray:
    """Return, a row, whether a vector is not finite or its norm is not 1; bool of shape (rows,)."""
    exact = vectors.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", exact, exact, dtype=np.float64))
        return np.asarray(~(np.abs(norms - 1.0) <= NORM_TOLERANCE))


def blocks(vectors: np.ndarray) -> Iterator[np.ndarray]:
    """Cut rows into blocks of a few megabytes."""
    step = max(1, _BLOCK // (4 * vectors.shape[1]))
    for start in range(0, len(vectors), step):
        yield vectors[start : start + step]
