"""The selectors: arrays in, one score a candidate out, larger is better. They know no store and no file.

Candidates of all images stand in flat arrays; a :class:`Ragged` says which belong together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.rerank.ragged import Numbers, Ragged

# RRF(c) = sum over selectors of 1 / (k + rank), k = 60: Cormack et al. 2009; ranx fusion/rrf.py.
RRF_K = 60

# Mixed scores closer than this are ties: two candidates that trade places at weight 0.5 differ by rounding alone.
_DECIMALS = 9

_CELLS = 1 << 22  # numbers of one block of pairwise similarities


def zscores(values: Numbers, lists: Ragged, texts: Ids | None = None) -> Numbers:
    """Return each value less the mean of its list, over the standard deviation of its list (0 where that is 0).

    Parameters
    ----------
    values
        float64, shape (total,), finite.
    lists
        Which belong together.
    texts
        Number of each candidate's text; candidates of one list with equal text and value count
        once in mean and deviation, so that a repeated caption moves nothing. None: all count.
    """
    order = np.lexsort((values, lists.owners if texts is None else texts, lists.owners))
    owners, ordered = lists.owners[order], values[order]
    kept = np.ones(len(order), np.bool_)
    if texts is not None:
        same = (ordered[1:] == ordered[:-1]) & (texts[order][1:] == texts[order][:-1])
        kept[1:] = ~(same & (owners[1:] == owners[:-1]))
    inner, _ = lists.within(kept)
    used = ordered[kept]
    mean = inner.means(used)
    centred = used - mean[inner.owners]
    scale = np.sqrt(inner.means(centred * centred))
    scale[inner.maxima(used) == -inner.maxima(-used)] = np.inf  # all equal: z is 0
    scale[scale == 0] = np.inf  # a spread too small for a float64
    return np.asarray((values - mean[lists.owners]) / scale[lists.owners])


def mix(clip: Numbers, logp: Numbers, weight: float, lists: Ragged, texts: Ids) -> Numbers:
    """Return ``weight * z(CLIP-S) + (1 - weight) * z(logp)``, z within the image.

    At 0 and 1 it is the pure selector's own values; between them, scores are rounded to nine
    decimals, so that rounding never decides.

    Parameters
    ----------
    clip, logp
        float64, shape (total,).
    weight
        Between 0 and 1.
    lists
        Which belong together.
    texts
        Number of each candidate's text: equal captions count once in the z.
    """
    if weight in {0, 1}:
        return clip if weight else logp
    return weighed(zscores(clip, lists, texts), zscores(logp, lists, texts), weight)


def weighed(clip_z: Numbers, logp_z: Numbers, weight: float) -> Numbers:
    """Return the weighted sum of two z, rounded: :func:`mix` where the z are at hand."""
    return np.round(weight * clip_z + (1 - weight) * logp_z, _DECIMALS)


def mbr(vectors: Vectors, lists: Ragged) -> Numbers:
    """Return the mean cosine of each candidate with the others of its list; 0 for one alone.

    Minimum Bayes risk with cosine as the utility (Kumar and Byrne 2004; comet-mbr), in its
    linear form ``(e_j . sum(e) - e_j . e_j) / (N - 1)``: no pairs are made. Repeats count, on purpose.

    Parameters
    ----------
    vectors
        Unit vectors, float32, shape (total, dim).
    lists
        Which belong together.
    """
    if not lists.total:
        return np.empty(0)
    if lists.width is not None:
        sums = vectors.reshape(len(lists), lists.width, -1).sum(axis=1, dtype=np.float64)
    else:
        sums = np.add.reduceat(vectors, lists.starts, axis=0, dtype=np.float64)
    to_all = np.einsum("ij,ij->i", vectors, sums.astype(np.float32)[lists.owners]).astype(np.float64)
    own = np.einsum("ij,ij->i", vectors, vectors).astype(np.float64)
    others = np.maximum(lists.counts - 1, 1)[lists.owners]
    out = (to_all - own) / others
    out[(lists.counts == 1)[lists.owners]] = 0
    return np.asarray(np.round(out, 6))  # float32 sums: below this, equal captions must stay equal


def consensus(vectors: Vectors, lists: Ragged, nearest: int | None = None) -> Numbers:
    """Return the mean of each candidate's ``nearest`` largest cosines to others of its list; 0 for one alone.

    Devlin et al. 2015 (arXiv 1505.04467): robust to outliers, which :func:`mbr` is not.

    Parameters
    ----------
    vectors
        Unit vectors, float32, shape (total, dim).
    lists
        Which belong together.
    nearest
        How many others count; None: half of them, at least one.
    """
    out = np.zeros(lists.total)
    for count in np.unique(lists.counts).tolist():
        if count == 1:
            continue
        wanted = min(nearest or max(1, (count - 1) // 2), count - 1)
        which = np.flatnonzero(lists.counts == count)
        step = max(1, _CELLS // (count * max(count, vectors.shape[1])))
        for start in range(0, len(which), step):
            places = lists.starts[which[start : start + step], None] + np.arange(count)
            block = vectors[places]
            cosines = block @ block.transpose(0, 2, 1)
            cosines[:, np.arange(count), np.arange(count)] = -np.inf
            out[places] = np.sort(cosines, axis=2)[:, :, -wanted:].mean(axis=2, dtype=np.float64)
    return np.round(out, 6)


def votes(texts: Ids, lists: Ragged) -> Numbers:
    """Return how many candidates of its list have each candidate's text (self-consistency, Wang et al. 2023).

    Parameters
    ----------
    texts
        Number of each candidate's text, equal for captions that differ in case and spaces only; shape (total,).
    lists
        Which belong together.
    """
    pairs = lists.owners * (int(texts.max(initial=0)) + 1) + texts
    _, which, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return counts[which].astype(np.float64)


def rrf(selectors: Sequence[Numbers], lists: Ragged, k: int = RRF_K) -> Numbers:
    """Return the sum of ``1 / (k + rank)`` over selectors (reciprocal rank fusion, Cormack et al. 2009).

    Parameters
    ----------
    selectors
        Scores of each selector, shape (total,) each; equal scores share the better rank.
    lists
        Which belong together.
    k
        60 as published.
    """
    fused = np.zeros(lists.total)
    for scores in selectors:
        fused += 1 / (k + lists.ranks(scores))
    return np.round(fused, 12)


def unit_range(scores: Numbers, lists: Ragged) -> Numbers:
    """Return scores moved to 0..1 within each list (all 0 where they are equal)."""
    low, high = -lists.maxima(-scores), lists.maxima(scores)
    spread = np.where(high > low, high - low, np.inf)
    return np.asarray((scores - low[lists.owners]) / spread[lists.owners])


def mmr(scores: Numbers, vectors: Vectors, lists: Ragged, k: int, balance: float) -> Ids:
    """Choose up to ``k`` diverse candidates of each list: maximal marginal relevance (Carbonell, Goldstein 1998).

    The first is the best; each next is ``argmax balance * s(c) - (1 - balance) * max cos(c, chosen)``.

    Parameters
    ----------
    scores
        Relevance s, on the scale of a cosine; shape (total,).
    vectors
        Unit vectors, float32, shape (total, dim).
    lists
        Which belong together.
    k
        How many to choose.
    balance
        Lambda: 1 is relevance alone, 0 diversity alone.

    Returns
    -------
    Ids
        Flat places, shape (lists, k), in the order of choice; -1 where a list is shorter.
    """
    out = np.full((len(lists), k), -1, np.int64)
    nearest = np.full(lists.total, -np.inf)
    left = np.ones(lists.total, np.bool_)
    value = scores.astype(np.float64)
    for step in range(min(k, int(lists.counts.max(initial=0)))):
        best = lists.best(np.where(left, np.round(value, _DECIMALS), -np.inf))
        some = lists.counts > step
        out[some, step] = best[some]
        left[best[some]] = False
        cosines = np.einsum("ij,ij->i", vectors, vectors[best][lists.owners])
        nearest = np.maximum(nearest, cosines)
        value = balance * scores - (1 - balance) * nearest
    return out
