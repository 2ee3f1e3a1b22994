"""Half precision: what storing a space as float16 does to its scores, measured on the vectors themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clipstore.storage.catalogue import settings

if TYPE_CHECKING:
    from clipstore.arrays import Vectors
    from clipstore.storage.catalogue import Tx
    from clipstore.storage.catalogue.spaces import SpaceRow

SAMPLE = 128
"""Vectors of a chunk that are compared with each other, before and after rounding."""

_NAME = "float16 error "


def measure(vectors: Vectors) -> float:
    """Return the largest change of a cosine between any two of some vectors when both are stored as float16.

    Parameters
    ----------
    vectors
        float32 of shape (rows, dim), unit norm.
    """
    exact = np.asarray(vectors[:SAMPLE], dtype=np.float64)
    rounded = vectors[:SAMPLE].astype(np.float16).astype(np.float64)
    return float(np.abs(exact @ exact.T - rounded @ rounded.T).max(initial=0.0))


def record(tx: Tx, space: SpaceRow, vectors: Vectors) -> None:
    """Keep the largest error that was measured in a space that is stored as float16."""
    if space.dtype != "float16":
        return
    found = measure(vectors)
    if found > errors(tx).get(space.digest, -1.0):
        settings.set(tx, f"{_NAME}{space.digest}", repr(found))


def errors(tx: Tx) -> dict[str, float]:
    """Return the largest measured error of each space that is stored as float16, by fingerprint."""
    return {
        name.removeprefix(_NAME): float(value) for name, value in settings.all(tx).items() if name.startswith(_NAME)
    }
