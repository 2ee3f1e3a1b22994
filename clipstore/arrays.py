"""Names for the arrays that travel between modules: shape, dtype and norm, said once.

The names are jaxtyping annotations. At run time they cost nothing; the test suite
turns on the import hook that checks every call against them.
"""

import numpy as np
from jaxtyping import Float32, Int64

Vectors = Float32[np.ndarray, "rows dim"]
"""Embeddings, one a row, float32, unit norm unless a docstring says otherwise."""

Matrix = Float32[np.ndarray, "_ dim"]
"""Unit vectors that rows are picked from: as :data:`Vectors`, of any height."""

PairScores = Float32[np.ndarray, " pairs"]
"""One float32 number a (caption, reference) pair."""

Scores = Float32[np.ndarray, " rows"]
"""One float32 number a row; NaN where the number is not defined."""

Ids = Int64[np.ndarray, " rows"]
"""Content ids or vector keys: non-negative int64 (the first 63 bits of a sha256)."""
