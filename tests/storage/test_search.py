"""Nearest vectors over segments: exact, filtered, once each, and by a trained index."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from small_stores import DIGEST, random_ids, row_of, unit_vectors

from clipstore.errors import InputError
from clipstore.storage import search, segments, trained
from clipstore.storage.catalogue.segments import SegmentRow

DIM = 16


def put(root: Path, ids: np.ndarray, vectors: np.ndarray, dtype: str = "float32") -> SegmentRow:
    """Write one segment."""
    return row_of(segments.write(root / "vectors" / DIGEST / "text", ids, vectors, dtype))


def by_hand(queries: np.ndarray, ids: np.ndarray, vectors: np.ndarray, k: int) -> np.ndarray:
    """Return the ids of the k largest inner products."""
    return ids[np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :k]]


@pytest.fixture
def pool(tmp_path: Path) -> tuple[list[SegmentRow], np.ndarray, np.ndarray]:
    """Three segments of 400 vectors in all."""
    ids, vectors = random_ids(400), unit_vectors(400, DIM)
    cuts = [slice(0, 150), slice(150, 390), slice(390, 400)]
    return [put(tmp_path, ids[cut], vectors[cut]) for cut in cuts], ids, vectors


def test_segments_are_searched_as_one(pool, tmp_path: Path) -> None:
    """The k nearest over all segments, best first, with their cosines."""
    rows, ids, vectors = pool
    queries = unit_vectors(9, DIM, seed=1)
    found = search.exact(tmp_path, rows, queries, 7)
    assert (found.ids == by_hand(queries, ids, vectors, 7)).all()
    assert found.scores == pytest.approx(-np.sort(-(queries @ vectors.T), axis=1)[:, :7], abs=1e-6)


def test_a_vector_in_two_segments_appears_once(pool, tmp_path: Path) -> None:
    """Two writers stored the same items: no hit is lost to a repeat."""
    rows, ids, vectors = pool
    rows = [*rows, put(tmp_path, ids[100:300], vectors[100:300])]
    queries = unit_vectors(9, DIM, seed=1)
    assert (search.exact(tmp_path, rows, queries, 7).ids == by_hand(queries, ids, vectors, 7)).all()


def test_a_filter_holds_in_every_segment(pool, tmp_path: Path) -> None:
    """Only allowed ids come back, the nearest of them; unknown ids are nothing."""
    rows, ids, vectors = pool
    kept = np.sort(np.random.default_rng(2).choice(400, 37, replace=False))
    queries = unit_vectors(9, DIM, seed=1)
    allowed = np.append(ids[kept], 12345)
    found = search.exact(tmp_path, rows, queries, 7, allowed)
    assert (found.ids == by_hand(queries, ids[kept], vectors[kept], 7)).all()


def test_where_fewer_are_there_the_rest_is_nothing(pool, tmp_path: Path) -> None:
    """More than the pool holds, an empty filter, and no query are no error."""
    rows, ids, _ = pool
    queries = unit_vectors(2, DIM, seed=1)
    found = search.exact(tmp_path, rows, queries, 5, ids[:3])
    assert (found.ids[:, 3:] == search.NOTHING).all()
    assert np.isneginf(found.scores[:, 3:]).all()
    assert (search.exact(tmp_path, rows, queries, 5, ids[:0]).ids == search.NOTHING).all()
    assert search.exact(tmp_path, rows, queries[:0], 5).ids.shape == (0, 5)
    assert (search.exact(tmp_path, rows, queries, 1000).ids != search.NOTHING).sum() == 800


def test_half_precision_is_searched_in_single(tmp_path: Path) -> None:
    """A float16 segment gives the hits of its rounded vectors."""
    ids, vectors = random_ids(50), unit_vectors(50, DIM)
    row = put(tmp_path, ids, vectors, "float16")
    queries = unit_vectors(4, DIM, seed=1)
    rounded = vectors.astype(np.float16).astype(np.float32)
    found = search.exact(tmp_path, [row], queries, 3)
    assert (found.ids == by_hand(queries, ids, rounded, 3)).all()


def test_a_gpu_gets_blocks_of_rows_and_no_more_hits_than_it_can(
    pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a GPU (a pretended one) the hits are the same, block after block; above 2,048 of them the CPU looks."""
    rows, ids, vectors = pool
    asked = []

    def on_gpu(resources: object, queries: np.ndarray, block: np.ndarray, k: int, metric: int) -> tuple:
        asked.append((len(block), k))
        return faiss.knn(queries, block, k, metric=metric)

    faiss = search.faiss_module()
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1)
    monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
    monkeypatch.setattr(faiss, "knn_gpu", on_gpu, raising=False)
    monkeypatch.setattr(search, "_ON_GPU", 100)
    monkeypatch.setattr(search, "_MOST_ON_GPU", 50)
    queries = unit_vectors(9, DIM, seed=1)
    assert (search.exact(tmp_path, rows, queries, 7).ids == by_hand(queries, ids, vectors, 7)).all()
    assert asked == [(100, 7), (50, 7), (100, 7), (100, 7), (40, 7), (10, 7)]
    asked.clear()
    assert (search.exact(tmp_path, rows, queries, 60).ids == by_hand(queries, ids, vectors, 60)).all()
    assert {k for _, k in asked} <= {50, 40, 10}, "only blocks that hold no more than it can give"


def test_a_missing_file_is_gone(pool, tmp_path: Path) -> None:
    """The caller reads the catalogue again and retries."""
    rows, _, _ = pool
    rows[1].path(tmp_path).unlink()
    with pytest.raises(segments.Gone):
        search.exact(tmp_path, rows, unit_vectors(1, DIM), 3)


def test_a_forked_child_can_search(pool, tmp_path: Path) -> None:
    """After the parent searched, a child does not hang."""
    rows, _, _ = pool
    queries = unit_vectors(40, DIM, seed=1)
    wanted = search.exact(tmp_path, rows, queries, 3).ids
    child = os.fork()
    if child == 0:
        os._exit(0 if (search.exact(tmp_path, rows, queries, 3).ids == wanted).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_trained_index_is_kept_beside_its_segments(pool, tmp_path: Path) -> None:
    """Made once, read the next time, made anew when the segments change, and the old one goes."""
    rows, ids, vectors = pool
    first = trained.open_or_make(tmp_path, rows, "IVF4,Flat")
    assert first.made
    path = trained.path_of(tmp_path, rows, "IVF4,Flat")
    assert path.parent == rows[0].path(tmp_path).parent
    assert path.exists()
    assert not trained.open_or_make(tmp_path, rows, "IVF4,Flat").made
    assert trained.open_or_make(tmp_path, rows, "HNSW8").made
    assert path.exists(), "another kind of the same segments stays"
    more = [*rows, put(tmp_path, ids[:20], vectors[:20])]
    assert trained.open_or_make(tmp_path, more, "IVF4,Flat").made
    assert not path.exists()
    assert len(list(path.parent.glob(f"*{trained.SUFFIX}"))) == 1, "none of the old segments is left, of any kind"
    path_now = trained.path_of(tmp_path, more, "IVF4,Flat")
    path_now.write_bytes(b"no index")
    assert trained.open_or_make(tmp_path, more, "IVF4,Flat").made


@pytest.mark.parametrize("factory", ["IVF4,Flat", "IVF4,PQ8x4", "HNSW16", "OPQ8_16,IVF4,PQ8x4"])
def test_a_trained_index_finds_what_exact_finds(pool, tmp_path: Path, factory: str) -> None:
    """Looking everywhere, recall is high; scores are the vectors' own cosines; repeats are in it once."""
    rows, ids, vectors = pool
    rows = [*rows, put(tmp_path, ids[:200], vectors[:200])]
    index = trained.open_or_make(tmp_path, rows, factory)
    queries = unit_vectors(20, DIM, seed=1)
    wanted = search.exact(tmp_path, rows, queries, 10)
    assert search.recall(index.search(queries, 10, nprobe=4), wanted) > 0.8
    found = index.search(queries, 5, nprobe=4)
    place = {int(id_): row for row, id_ in enumerate(ids)}
    for query, near, scores in zip(queries, found.ids, found.scores, strict=True):
        assert len(set(near.tolist())) == 5
        assert scores == pytest.approx([query @ vectors[place[int(id_)]] for id_ in near], abs=1e-6)


def test_a_trained_index_filters_or_says_that_it_cant(pool, tmp_path: Path) -> None:
    """Inverted lists take a filter, also behind a rotation; a graph does not."""
    rows, ids, vectors = pool
    queries = unit_vectors(5, DIM, seed=1)
    allowed = ids[:40]
    for factory in ("IVF4,Flat", "OPQ8_16,IVF4,Flat"):
        index = trained.open_or_make(tmp_path, rows, factory)
        only = index.only(allowed)
        found = index.search(queries, 3, only, nprobe=4)
        assert (found.ids == by_hand(queries, ids[:40], vectors[:40], 3)).all()
        wanted = search.exact(tmp_path, rows, queries, 10, allowed)
        assert search.recall(index.search(queries, 10, only, nprobe=4), wanted) == 1
        hard = index.search(queries, 10, only, nprobe=1)
        shares = (by_hand(queries, ids[:40], vectors[:40], 10)[:, :, None] == hard.ids[:, None, :]).any(axis=2)
        assert search.recall(hard, wanted) == pytest.approx(shares.mean()), "of what may be found"
    with pytest.raises(InputError, match="inverted lists"):
        trained.open_or_make(tmp_path, rows, "HNSW16").only(allowed)


@pytest.mark.parametrize("factory", ["NOPE7", "IVF4096,Flat", "PQ7"])
def test_an_index_that_cant_be_made_is_an_error(pool, tmp_path: Path, factory: str) -> None:
    """Unknown names, too few vectors, lengths that don't divide: what, and what else to give."""
    rows, _, _ = pool
    with pytest.raises(InputError, match="leave --index out"):
        trained.open_or_make(tmp_path, rows, factory)
    assert not list(rows[0].path(tmp_path).parent.glob("*.tmp"))
