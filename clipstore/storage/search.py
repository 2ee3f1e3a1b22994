"""Nearest vectors: exact search of each segment, joined; the only search code that names faiss.

A vector that stands in two segments appears once. Vectors are read through a plain mapping
of the file (``segments.Segment.vectors``), so a cold search reads it in order (FAISS's own
mapping asks for random access: 20 times slower when cold), nothing outlives its file, and no
``IndexShards`` is asked to filter (it answers wrongly). A filter is applied to each segment's
own rows. With a GPU, blocks of rows are searched there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clipstore.storage import segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from clipstore.arrays import Ids, Scores, Vectors
    from clipstore.storage.catalogue.segments import SegmentRow

NOTHING = -1
"""The id where fewer than k vectors are there."""

_GATHERED = 1 << 16  # filtered or half-precision rows copied at once
_ON_GPU = 1 << 20  # rows sent to a GPU at once
_MOST_ON_GPU = 2048  # hits that FAISS finds on a GPU; more are looked for on the CPU
_process = os.getpid()


@final
@dataclass(frozen=True, eq=False)
class Hits:
    """The nearest vectors of each query, the nearest first.

    Parameters
    ----------
    ids
        int64, shape (queries, k); ``NOTHING`` where there are fewer.
    scores
        Cosines, float32, shape (queries, k); -inf where there is none.
    """

    ids: np.ndarray
    scores: np.ndarray

    @classmethod
    def none(cls, queries: int, k: int) -> Hits:
        """Return no hit for each query."""
        return cls(np.full((queries, k), NOTHING, np.int64), np.full((queries, k), -np.inf, np.float32))


def faiss_module() -> Any:
    """Return faiss, made safe in a forked child: there its threads would hang for ever."""
    import faiss

    if os.getpid() != _process:
        faiss.omp_set_num_threads(1)
    return faiss


def exact(root: Path, rows: Sequence[SegmentRow], queries: Vectors, k: int, allowed: Ids | None = None) -> Hits:
    """Return the ``k`` nearest stored vectors of each query by inner product, over all segments.

    Parameters
    ----------
    root
        The store's folder.
    rows
        The committed segments of one space and modality.
    queries
        Unit vectors, float32, shape (queries, dim).
    k
        How many, at least 1.
    allowed
        Only these ids, int64; None: all.

    Raises
    ------
    Gone
        When a segment's file is not there: read the catalogue again and retry.
    Damaged
        When a segment's file is not what its row says.
    """
    wanted = None if allowed is None else np.unique(allowed)
    queries = np.ascontiguousarray(queries, np.float32)
    found = Hits.none(len(queries), k)
    if not len(queries):
        return found
    for row in rows:
        segment = segments.open(row.path(root), row)
        for ids, vectors in _parts(segment, wanted):
            found = joined(found, _nearest(queries, ids, vectors, k), k)
    return found


def _parts(segment: segments.Segment, wanted: Ids | None) -> Iterator[tuple[Ids, Vectors]]:
    """Yield ids and float32 vectors of a segment: all of it as it is mapped, else copied in blocks."""
    view, ids = segment.vectors(), segment.ids
    gpu = faiss_module().get_num_gpus() > 0
    if wanted is None and view.dtype == np.float32:
        step = _ON_GPU if gpu else len(ids)
        for start in range(0, len(ids), step):
            yield ids[start : start + step], view[start : start + step]
        return
    places = np.arange(len(ids)) if wanted is None else _places(ids, wanted)
    for start in range(0, len(places), _GATHERED):
        block = places[start : start + _GATHERED]
        yield ids[block], view[block].astype(np.float32)


def _places(ids: Ids, wanted: Ids) -> Ids:
    """Return the rows of sorted ``ids`` that stand in sorted ``wanted``."""
    if len(wanted) > len(ids):
        at = np.searchsorted(wanted, ids)
        at[at == len(wanted)] = 0
        return np.flatnonzero(wanted[at] == ids)
    at = np.searchsorted(ids, wanted)
    at[at == len(ids)] = 0
    return np.asarray(at[ids[at] == wanted], np.int64)


def _nearest(queries: Vectors, ids: Ids, vectors: Vectors, k: int) -> Hits:
    faiss = faiss_module()
    most = min(k, len(ids))
    if faiss.get_num_gpus() > 0 and most <= _MOST_ON_GPU:
        resources = faiss.StandardGpuResources()
        scores, places = faiss.knn_gpu(
            resources, queries, np.ascontiguousarray(vectors), most, metric=faiss.METRIC_INNER_PRODUCT
        )
    else:
        scores, places = faiss.knn(queries, vectors, most, metric=faiss.METRIC_INNER_PRODUCT)
    return Hits(np.where(places < 0, NOTHING, ids[places]), scores)


def joined(one: Hits, other: Hits, k: int) -> Hits:
    """Return the best ``k`` of two lists of hits a query, an id once, with its better score."""
    ids = np.concatenate([one.ids, other.ids], axis=1)
    scores = np.concatenate([one.scores, other.scores], axis=1)
    if len(ids) and (one.ids != NOTHING).any():
        scores[_repeated(ids, scores)] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    scores = np.take_along_axis(scores, order, axis=1)
    ids = np.where(np.isneginf(scores), NOTHING, np.take_along_axis(ids, order, axis=1))
    if ids.shape[1] < k:
        rest = Hits.none(len(ids), k - ids.shape[1])
        return Hits(np.concatenate([ids, rest.ids], axis=1), np.concatenate([scores, rest.scores], axis=1))
    return Hits(ids, scores)


def recall(found: Hits, wanted: Hits) -> float:
    """Return the share of the wanted hits that were found, over all queries."""
    real = wanted.ids != NOTHING
    there = (wanted.ids[:, :, None] == found.ids[:, None, :]).any(axis=2) & real
    return float(there.sum() / max(1, real.sum()))


def _repeated(ids: np.ndarray, scores: Scores) -> np.ndarray:
    """Return which entries repeat an id that stands in the same row with a better score, or earlier."""
    by_score = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(ids, by_score, axis=1)
    by_id = np.argsort(ranked, axis=1, kind="stable")
    sorted_ids = np.take_along_axis(ranked, by_id, axis=1)
    again = np.zeros(ids.shape, np.bool_)
    again[:, 1:] = sorted_ids[:, 1:] == sorted_ids[:, :-1]
    in_rank = np.empty_like(again)
    np.put_along_axis(in_rank, by_id, again, axis=1)
    out = np.empty_like(again)
    np.put_along_axis(out, by_score, in_rank, axis=1)
    return out
