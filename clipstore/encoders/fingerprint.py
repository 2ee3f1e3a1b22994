"""The digest of a network's tensors: equal values give an equal digest, whatever file they came from."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROBE = 4096  # values that decide most tensors


def tensors_digest(tensors: Iterable[tuple[str, np.ndarray]]) -> str:
    """Return ``sha256:`` and 64 hex digits over names (sorted), canonical dtypes, shapes and bytes.

    The canonical dtype of a floating tensor is float16 where every value is exactly a
    float16, else float32 where every value is exactly a float32, else float64. So OpenAI's
    half precision file and the hub's single precision file of equal weights share a digest.
    Integers are int64, truth values uint8. Bytes are little-endian, in row order.

    Parameters
    ----------
    tensors
        Names and arrays; no name twice.
    """
    digest = hashlib.sha256()
    for name, array in sorted(tensors, key=lambda item: item[0]):
        values = canonical(array)
        head = f"{name}\0{values.dtype.str}\0{','.join(map(str, array.shape))}\0"
        digest.update(len(head).to_bytes(8, "little") + head.encode())
        digest.update(values.data.cast("B") if values.size else b"")
    return f"sha256:{digest.hexdigest()}"


def canonical(array: np.ndarray) -> np.ndarray:
    """Return the values, contiguous, in the smallest of the canonical dtypes that holds each exactly."""
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array, dtype="u1")
    if array.dtype.kind in "iu":
        return np.ascontiguousarray(array, dtype="<i8")
    for dtype in ("<f2", "<f4"):
        if _holds(array, dtype):
            return np.ascontiguousarray(array, dtype=dtype)
    return np.ascontiguousarray(array, dtype="<f8")


def _holds(array: np.ndarray, dtype: str) -> bool:
    """Say whether every value survives ``dtype``; NaN does not."""
    if array.dtype == np.dtype(dtype):
        return True
    flat = array.reshape(-1)
    with np.errstate(over="ignore"):
        return all(
            bool((part.astype(dtype).astype(array.dtype) == part).all()) for part in (flat[:_PROBE], flat[_PROBE:])
        )
