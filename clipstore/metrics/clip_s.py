"""CLIP-S: how well a caption fits its image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clipstore.arrays import Ids, Matrix, Scores

# CLIP-S(c, v) = w * max(cos(c, v), 0), w = 2.5: Hessel et al. 2021 (arXiv 2104.08718), section 3, page 3.
WEIGHT = 2.5

_BLOCK = 2048


def similarities(left: Matrix, left_rows: Ids, right: Matrix, right_rows: Ids) -> Scores:
    """Return the cosine of each pair of rows of two matrices of unit vectors.

    Parameters
    ----------
    left, right
        Unit vectors, float32, shape (any, dim).
    left_rows, right_rows
        Which row of each makes pair ``i``; int64, shape (rows,).

    Returns
    -------
    Scores
        float32, shape (rows,). Computed in float32, in blocks that stay in the cache.
    """
    out = np.empty(len(left_rows), np.float32)
    for start in range(0, len(out), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.einsum("ij,ij->i", left[left_rows[block]], right[right_rows[block]], out=out[block])
    return out


def clip_s(cosines: Scores, weight: float = WEIGHT, *, clamp: bool = True) -> Scores:
    """Return ``weight * max(cosine, 0)`` for each pair (Hessel et al. 2021, section 3).

    Parameters
    ----------
    cosines
        Cosine of caption and image, float32, shape (rows,).
    weight
        The rescaling w: 2.5 unless a recipe says otherwise.
    clamp
        Whether a negative cosine counts as 0, as in the paper.
    """
    kept = np.maximum(cosines, np.float32(0)) if clamp else cosines
    return np.float32(weight) * kept
