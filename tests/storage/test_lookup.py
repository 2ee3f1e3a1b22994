"""Many segments together: every id meets its own vector, what is missing is named, a vanished file is told."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import commit, in_children, random_ids, unit_vectors

from clipstore import keys
from clipstore.errors import Damaged, NotStored
from clipstore.storage.catalogue import segments
from clipstore.storage.lookup import Gone, Shelf, _bisected, _matches

ROWS, PARTS = 700, 7


@pytest.fixture
def shelf(catalogue):
    """Return a shelf of seven segments of different sizes, with its ids and vectors."""
    ids, vectors = random_ids(ROWS), unit_vectors(ROWS)
    cuts = [0, 1, 11, 20, 300, 301, 500, ROWS]
    for start, stop in itertools.pairwise(cuts):
        commit(catalogue, ids[start:stop], vectors[start:stop])
    with catalogue.read() as tx:
        rows = segments.all(tx)
    assert len(rows) == PARTS
    return Shelf(catalogue.folder, rows), ids, vectors


def test_vectors_come_in_the_order_asked_with_repeats(shelf):
    """A gather returns each id's own vector, bit for bit, in the order asked, also for repeated ids."""
    shelf, ids, vectors = shelf
    asked = np.random.default_rng(1).integers(0, ROWS, size=3000)
    found = shelf.gather(ids[asked])
    assert found.dtype == np.float32
    assert np.array_equal(found, vectors[asked])


def test_float16_segments_gather_as_float32(catalogue):
    """Half-precision rows come back as float32 numbers of half precision, beside float32 segments."""
    vectors = unit_vectors(20)
    commit(catalogue, np.arange(10), vectors[:10], dtype="float16")
    commit(catalogue, np.arange(10, 20), vectors[10:])
    with catalogue.read() as tx:
        shelf = Shelf(catalogue.folder, segments.all(tx))
    found = shelf.gather(np.arange(20))
    assert np.array_equal(found[:10], vectors[:10].astype(np.float16).astype(np.float32))
    assert np.array_equal(found[10:], vectors[10:])


def test_contains_says_of_each_id_whether_it_is_there(shelf):
    """Stored ids are found, others are not, in the order asked."""
    shelf, ids, _ = shelf
    asked = np.concatenate([ids[:5], [0, 1, 2**63 - 1], ids[:2]])
    assert shelf.contains(asked).tolist() == [True] * 5 + [False] * 3 + [True] * 2
    assert shelf.contains(np.empty(0, dtype=np.int64)).shape == (0,)


def test_missing_ids_are_counted_and_named(shelf):
    """A gather of ids that are not stored raises NotStored with their count and the first of them."""
    shelf, ids, _ = shelf
    with pytest.raises(NotStored, match=f"2 vectors .*{keys.to_hex(4)}"):
        shelf.gather(np.array([ids[0], 5, 4]))


def test_empty_shelf_holds_nothing(catalogue):
    """A space without segments contains nothing, gathers nothing from nothing, and misses everything."""
    shelf = Shelf(catalogue.folder, [])
    assert shelf.rows == 0
    assert shelf.contains(np.array([1])).tolist() == [False]
    assert shelf.gather(np.empty(0, dtype=np.int64)).shape == (0, 0)
    with pytest.raises(NotStored):
        shelf.gather(np.array([1]))


def test_id_stored_twice_gives_the_first_row(catalogue):
    """Where two writers stored one id, the segment that comes first answers, every time."""
    vectors = unit_vectors(2)
    commit(catalogue, np.array([9]), vectors[:1])
    commit(catalogue, np.array([9]), vectors[1:])
    with catalogue.read() as tx:
        rows = segments.all(tx)
    assert np.array_equal(Shelf(catalogue.folder, rows).gather(np.array([9])), vectors[:1])
    assert np.array_equal(Shelf(catalogue.folder, rows[::-1]).gather(np.array([9])), vectors[1:])


def test_vanished_file_is_told_and_the_next_shelf_finds_the_vector(catalogue):
    """A segment compacted away between catalogue and file raises Gone; the catalogue read again has the new one."""
    vectors = unit_vectors(4)
    old = commit(catalogue, np.arange(4), vectors)
    stale = Shelf(catalogue.folder, [old])
    commit(catalogue, np.arange(4), vectors)
    with catalogue.write() as tx:
        segments.remove(tx, [old.name])
    old.path(catalogue.folder).unlink()
    with pytest.raises(Gone):
        stale.gather(np.arange(4))
    with catalogue.read() as tx:
        assert np.array_equal(Shelf(catalogue.folder, segments.all(tx)).gather(np.arange(4)), vectors)


def test_open_shelf_serves_on_after_its_files_are_deleted(shelf):
    """Once read, a shelf keeps serving the vectors of files that compaction has deleted."""
    shelf, ids, vectors = shelf
    shelf.gather(ids)
    for row in shelf._rows:
        row.path(shelf._root).unlink()
    assert np.array_equal(shelf.gather(ids), vectors)


def test_truncated_file_is_damage_not_a_wrong_vector(shelf):
    """A file shorter than its row says is refused before anything is read from it."""
    shelf, ids, _ = shelf
    path = shelf._rows[-1].path(shelf._root)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(Damaged, match="bytes"):
        shelf.gather(ids)


def test_many_segments_do_not_run_out_of_file_descriptors(catalogue, monkeypatch):
    """Past a bound, mappings are made per gather, so that open files do not grow with segments."""
    monkeypatch.setattr("clipstore.storage.lookup._KEPT_MAPPED", 2)
    ids, vectors = random_ids(40), unit_vectors(40)
    rows = [commit(catalogue, ids[start : start + 1], vectors[start : start + 1]) for start in range(40)]
    shelf = Shelf(catalogue.folder, rows)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert np.array_equal(shelf.gather(ids), vectors)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_threads_share_a_shelf(shelf):
    """Eight threads gather from one fresh shelf at once and all get the right vectors."""
    shelf, ids, vectors = shelf
    wrong = []

    def work(seed):
        asked = np.random.default_rng(seed).integers(0, ROWS, size=500)
        if not np.array_equal(shelf.gather(ids[asked]), vectors[asked]):
            wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_forked_child_looks_up(shelf):
    """A forked child, such as a DataLoader worker, gathers from its parent's shelf."""
    shelf, ids, vectors = shelf
    shelf.gather(ids[:3])

    def work(_):
        assert np.array_equal(shelf.gather(ids), vectors)

    assert in_children(1, work) == [0]


@settings(max_examples=200, deadline=None)
@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_matches_are_exactly_the_common_ids(wanted, there):
    """Whichever side is longer, the positions found name exactly the ids that both have."""
    left, right = (np.array(sorted(ids), dtype=np.int64) for ids in (wanted, there))
    hits, places = _matches(left, right)
    assert sorted(left[hits].tolist()) == sorted(wanted & there)
    assert np.array_equal(left[hits], right[places])
    if there:
        hits, places = _bisected(left, right)
        assert sorted(left[hits].tolist()) == sorted(wanted & there)
        assert np.array_equal(left[hits], right[places])


def test_a_few_look_ups_read_few_of_many_ids(catalogue):
    """Asked for three of a hundred thousand, a shelf finds them, and what is missing, without reading all ids."""
    ids = random_ids(100_000)
    row = commit(catalogue, ids, np.tile(np.eye(1, 16, dtype=np.float32), (100_000, 1)))
    shelf = Shelf(catalogue.folder, [row])
    asked = np.array([ids.max(), 5, ids.min(), ids[17], 2**63 - 1])
    assert shelf.contains(asked).tolist() == [True, False, True, True, False]
    assert "ids" not in vars(shelf._segment(row))
    shelf.contains(ids[:5000])
    assert "ids" in vars(shelf._segment(row))
