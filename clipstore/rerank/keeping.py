"""Which captions an image keeps: the best, the k best, or k diverse ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clipstore.rerank import methods
from clipstore.rerank.selecting import scores_of

if TYPE_CHECKING:
    from clipstore.arrays import Ids
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.cascade import Chosen
    from clipstore.rerank.request import Request
    from clipstore.rerank.selecting import Choice, Embedded


def kept_of(request: Request, choice: Choice, candidates: Candidates, full: Chosen, vectors: Embedded | None) -> Ids:
    """Return the flat places of the k captions that each image keeps."""
    lists = candidates.lists
    if request.mmr is not None:
        return _diverse_written(request, choice, candidates, full, vectors)
    if request.k == 1:
        return lists.best(full.standing)[:, None]
    order = lists.order(full.standing)
    out = np.full((len(lists), request.k), -1, np.int64)
    early = lists.places < request.k
    out[lists.owners[early], lists.places[early]] = order[early]
    return out


def _diverse(balance: float, k: int, choice: Choice, vectors: Embedded) -> Ids:
    lists = vectors.candidates.lists
    scores = scores_of(choice, vectors.candidates, vectors)
    if choice.by not in {"clip", "mbr", "consensus"}:
        scores = methods.unit_range(scores, lists)
    return methods.mmr(scores, vectors.texts(slice(None)), lists, k, balance)


def _diverse_written(
    request: Request, choice: Choice, candidates: Candidates, full: Chosen, vectors: Embedded | None
) -> Ids:
    """Choose diverse captions among the non-empty ones; an image that has none keeps its first."""
    if vectors is None or request.mmr is None:
        raise AssertionError  # Request.check refuses
    flat = np.flatnonzero(candidates.written)
    _, kept = candidates.lists.within(candidates.written)
    inner = _diverse(request.mmr, request.k, choice, vectors)
    out = np.full((len(candidates), request.k), -1, np.int64)
    out[:, 0] = candidates.lists.best(full.standing)
    out[kept] = np.where(inner >= 0, flat[inner], -1)
    return out
