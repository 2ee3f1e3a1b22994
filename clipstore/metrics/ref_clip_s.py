"""RefCLIP-S: CLIP-S joined with the similarity to the closest reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clipstore.arrays import Ids, PairScores, Scores


def best_reference(cosines: PairScores, starts: Ids, rows: int) -> Scores:
    """Return, for each caption, the largest cosine to one of its references.

    Parameters
    ----------
    cosines
        Cosine of a caption and one of its references, float32; the pairs of one caption
        stand side by side.
    starts
        Where the pairs of each caption start, int64, shape (rows,); a caption without
        references starts where the next one does.
    rows
        How many captions there are.

    Returns
    -------
    Scores
        float32, shape (rows,); NaN where a caption has no reference.
    """
    best = np.full(rows, np.nan, np.float32)
    ends = np.append(starts[1:], len(cosines))
    filled = np.flatnonzero(ends > starts)
    if len(filled):
        best[filled] = np.maximum.reduceat(cosines, starts[filled])
    return best


def ref_clip_s(image_term: Scores, reference_term: Scores) -> Scores:
    """Return the harmonic mean of CLIP-S and the reference similarity.

    ``H(CLIP-S(c, v), max(0, max_r cos(c, r)))``, with w inside CLIP-S: Hessel et al. 2021,
    section 3 and appendix B. Where either term is 0 the mean is 0 (the official code
    divides 0 by 0 there); where there is no reference it is NaN.

    Parameters
    ----------
    image_term
        CLIP-S of each pair, float32, shape (rows,).
    reference_term
        Largest cosine to a reference, float32, shape (rows,); NaN without references.
    """
    one = np.maximum(image_term, np.float32(0))
    other = np.maximum(reference_term, np.float32(0))
    total = one + other
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = 2 * one * other / total
    mean[(one == 0) | (other == 0)] = 0
    mean[np.isnan(reference_term)] = np.nan
    return np.asarray(mean, np.float32)
