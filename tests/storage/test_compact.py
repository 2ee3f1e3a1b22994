"""Compaction: fewer files, the same answers bit for bit, whatever happens meanwhile."""

from __future__ import annotations

import math
import os
import signal

import numpy as np
import pytest
from small_stores import DIGEST, commit, in_children, random_ids, unit_vectors

from clipstore.errors import CannotWrite, Damaged
from clipstore.storage import compact, durable, faults, leftovers, splice
from clipstore.storage.catalogue import Catalogue, replacements, segments
from clipstore.storage.check import check
from clipstore.storage.lookup import Shelf
from clipstore.storage.repair import repair

ROWS = 60
IDS, VECTORS = random_ids(ROWS), unit_vectors(ROWS)
OTHERS = unit_vectors(ROWS, seed=7)


def _rows(catalogue):
    with catalogue.read() as tx:
        return segments.all(tx, DIGEST, "text")


def _shelf(catalogue):
    return Shelf(catalogue.folder, _rows(catalogue))


def _damage(catalogue):
    return [finding for finding in check(catalogue.folder, catalogue) if finding.severity == "damage"]


def _fill(catalogue, parts=6):
    size = ROWS // parts
    for start in range(0, ROWS, size):
        commit(catalogue, IDS[start : start + size], VECTORS[start : start + size])


def test_all_segments_become_one_with_the_same_vectors(catalogue):
    """Six segments become one; every vector is returned bit for bit and nothing is found damaged."""
    _fill(catalogue)
    (done,) = compact.compact(catalogue)
    assert (done.segments, done.rows) == ((6, 1), (ROWS, ROWS))
    assert np.array_equal(_shelf(catalogue).gather(IDS), VECTORS)
    assert _damage(catalogue) == []
    assert compact.compact(catalogue) == []


def test_merged_file_is_the_one_that_a_single_write_gives(catalogue, tmp_path):
    """Streaming and writing at once give the same bytes, so FAISS reads both."""
    _fill(catalogue)
    compact.compact(catalogue)
    (row,) = _rows(catalogue)
    from clipstore.storage import segments as files

    once = files.write(tmp_path / "once", IDS, VECTORS)
    assert row.sha256 == once.sha256
    assert row.path(catalogue.folder).read_bytes() == (tmp_path / "once" / f"{once.name}.faiss").read_bytes()


def test_of_repeated_ids_the_first_row_stays(catalogue):
    """Two writers stored the same items: what was returned before compaction is returned after."""
    commit(catalogue, IDS[:20], VECTORS[:20])
    commit(catalogue, IDS[10:40], OTHERS[10:40])
    before = _shelf(catalogue).gather(IDS[:40])
    (done,) = compact.compact(catalogue)
    assert done.rows == (50, 40)
    assert np.array_equal(_shelf(catalogue).gather(IDS[:40]), before)
    assert np.array_equal(before[10:20], VECTORS[10:20])


def test_an_earlier_segment_keeps_its_word(catalogue, monkeypatch):
    """Where only some segments are merged, one in between that holds the same item still answers for it."""
    commit(catalogue, IDS[:2], VECTORS[:2])
    commit(catalogue, IDS[:40], OTHERS[:40])
    commit(catalogue, IDS[30:33], VECTORS[30:33])
    before = _shelf(catalogue).gather(IDS[:40])
    monkeypatch.setattr(compact, "choose", lambda sizes: [0, 2] if len(sizes) == 3 else [])
    compact.tidy(catalogue, DIGEST, "text")
    assert [row.rows for row in _rows(catalogue)] == [2, 40]
    assert np.array_equal(_shelf(catalogue).gather(IDS[:40]), before)


def test_what_comes_while_one_merges_is_merged_by_it(catalogue, monkeypatch):
    """Writers that find a compactor at work leave; it looks again, so the last of them leaves nothing piled up."""
    _fill(catalogue)
    more = random_ids(8, seed=5)
    merge = compact._merge

    def slow_merge(*given):
        if len(_rows(catalogue)) == 6:
            for number in range(8):
                commit(catalogue, more[number : number + 1], unit_vectors(1, seed=number))
                compact.tidy(catalogue, DIGEST, "text")  # the other's lock is held
        return merge(*given)

    monkeypatch.setattr(compact, "_merge", slow_merge)
    compact.tidy(catalogue, DIGEST, "text")
    rows = _rows(catalogue)
    assert compact.choose([row.rows for row in rows]) == []
    assert len(rows) < 4
    assert sum(row.rows for row in rows) == ROWS + 8


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_half_precision_is_copied_bit_for_bit(catalogue, dtype):
    """Segments keep their number format; what was stored is not rounded again."""
    commit(catalogue, IDS[:20], VECTORS[:20], dtype=dtype)
    commit(catalogue, IDS[20:], VECTORS[20:], dtype=dtype)
    before = _shelf(catalogue).gather(IDS)
    compact.compact(catalogue)
    assert [row.dtype for row in _rows(catalogue)] == [dtype]
    assert np.array_equal(_shelf(catalogue).gather(IDS), before)


def test_formats_are_not_mixed_but_repeats_go(catalogue):
    """Float32 and float16 segments stay apart, and an item that both hold stays in the first."""
    commit(catalogue, IDS[:20], VECTORS[:20])
    commit(catalogue, IDS[10:30], VECTORS[10:30], dtype="float16")
    compact.compact(catalogue)
    assert [(row.dtype, row.rows) for row in _rows(catalogue)] == [("float32", 20), ("float16", 10)]


def test_policy_leaves_few_segments_and_copies_each_row_seldom():
    """After each of twenty thousand single adds under 16 segments are left, and a row is copied once a tier."""
    sizes, copied, most = [], 0, 0
    for _ in range(20_000):
        sizes.append(1)
        chosen = set(compact.choose(sizes))
        if chosen:
            total = sum(sizes[index] for index in chosen)
            copied += total
            sizes = [size for index, size in enumerate(sizes) if index not in chosen] + [total]
        most = max(most, len(sizes))
    assert most <= 16
    assert sum(sizes) == 20_000
    assert copied <= 20_000 * math.log(20_000, compact.FANOUT)


@pytest.mark.parametrize("seed", range(3))
def test_policy_holds_for_sizes_as_they_come(seed):
    """Adds of all sizes, in any order, leave under 16 segments too."""
    rng = np.random.default_rng(seed)
    sizes, copied, added = [], 0, 0
    for size in (4 ** rng.uniform(0, 8, 3000)).astype(int).tolist():
        sizes.append(size)
        added += size
        chosen = set(compact.choose(sizes))
        if chosen:
            total = sum(sizes[index] for index in chosen)
            copied += total
            sizes = [one for index, one in enumerate(sizes) if index not in chosen] + [total]
        assert len(sizes) <= 16
    assert copied <= added * math.log2(added)


def test_small_adds_are_merged_as_they_pile_up(catalogue):
    """Twenty-four adds leave few segments, and all that was added."""
    ids, vectors = random_ids(24, seed=3), unit_vectors(24, seed=3)
    for number in range(24):
        commit(catalogue, ids[number : number + 1], vectors[number : number + 1])
        compact.tidy(catalogue, DIGEST, "text")
    assert len(_rows(catalogue)) < 8
    assert np.array_equal(_shelf(catalogue).gather(ids), vectors)
    assert _damage(catalogue) == []


def test_retired_files_stay_for_their_readers_then_go(catalogue):
    """A reader with old rows reads on; after the grace the files go, and it is told to look again."""
    _fill(catalogue)
    old = _shelf(catalogue)
    old.contains(IDS[:1])
    compact.compact(catalogue)
    assert np.array_equal(Shelf(catalogue.folder, old._rows).gather(IDS), VECTORS)
    assert leftovers.sweep_retired(catalogue) == 0
    mapped = old.gather(IDS)
    assert leftovers.sweep_retired(catalogue, grace=0.0) == 6
    assert np.array_equal(mapped, VECTORS)
    assert len(list(catalogue.folder.rglob("*.faiss"))) == 1
    with catalogue.read() as tx:
        assert replacements.retired(tx) == []


def test_repair_does_not_bring_retired_files_back(catalogue):
    """What compaction replaced is no loss, so ``verify --repair`` adopts none of it."""
    _fill(catalogue)
    compact.compact(catalogue)
    repair(catalogue.folder, catalogue, grace=0.0)
    assert len(_rows(catalogue)) == 1


def test_a_mapped_segment_outlives_its_file(catalogue):
    """A reader that holds a mapping while the segment is compacted and deleted goes on reading the same bytes."""
    _fill(catalogue)
    shelf = _shelf(catalogue)
    shelf.gather(IDS)
    compact.compact(catalogue)
    leftovers.sweep_retired(catalogue, grace=0.0)
    assert np.array_equal(shelf.gather(IDS), VECTORS)


def test_a_second_compactor_stands_back(catalogue, reopen):
    """Where another compactor swapped rows in between, nothing is changed and the file written in vain goes."""
    _fill(catalogue)
    other = reopen()
    table = _rows(catalogue)
    compact.compact(other)
    assert not compact._merge(catalogue, table, table, 1.0)
    assert len(_rows(catalogue)) == 1
    assert len(list(catalogue.folder.rglob("*.faiss"))) == 7
    assert _damage(catalogue) == []


def test_damage_is_not_copied(catalogue):
    """A flipped bit stops the compaction of its modality: a copy would hide it under a new checksum."""
    _fill(catalogue)
    path = _rows(catalogue)[2].path(catalogue.folder)
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match="verify --repair"):
        compact.compact(catalogue)
    assert len(_rows(catalogue)) == 6
    assert len(list(catalogue.folder.rglob("*.faiss"))) == 6


def test_full_disk_leaves_all_as_it_was(catalogue, monkeypatch):
    """No space for the merged file: an error from ``compact``, silence from a writer's tidying, nothing lost."""
    _fill(catalogue)

    def full(_step):
        raise OSError(28, "No space left on device")

    faults.install(full)
    try:
        with pytest.raises(CannotWrite, match="disk is full"):
            compact.compact(catalogue)
        compact.tidy(catalogue, DIGEST, "text")
    finally:
        faults.install(None)
    assert len(list(catalogue.folder.rglob("*.faiss"))) == 6
    assert list(catalogue.folder.rglob("*.tmp")) == []
    assert np.array_equal(_shelf(catalogue).gather(IDS), VECTORS)


@pytest.mark.parametrize("step", ["file written", "folder synced", "row inserted", "committed", "file deleted"])
def test_killed_at_any_step_nothing_is_lost(folder, step):
    """SIGKILL at any step of a compaction and of its deletions: each vector is there, bit for bit, once or twice."""
    first = Catalogue.open(folder)
    _fill(first, parts=3)
    first.close()

    def work(_):
        catalogue = Catalogue.open(folder)
        faults.install(lambda reached: os.kill(os.getpid(), signal.SIGKILL) if reached == step else None)
        compact.compact(catalogue)
        leftovers.sweep_retired(catalogue, grace=0.0)

    assert in_children(1, work) == [-signal.SIGKILL]
    catalogue = Catalogue.open(folder)
    assert _damage(catalogue) == []
    assert np.array_equal(_shelf(catalogue).gather(IDS), VECTORS)
    compact.compact(catalogue)
    leftovers.sweep(catalogue, leftovers.find(catalogue, grace=0.0))
    assert len(list(catalogue.folder.rglob("*.faiss"))) == 1
    assert np.array_equal(_shelf(catalogue).gather(IDS), VECTORS)
    catalogue.close()


def test_environments_are_named_together(catalogue):
    """Vectors that were made in two environments name both, and no value twice."""
    from clipstore.storage.catalogue import settings

    with catalogue.write() as tx:
        one = settings.environment(tx, {"torch": "1", "device": "cpu"})
        two = settings.environment(tx, {"torch": "2", "device": "cpu"})
        both = replacements.joint_environment(tx, [one, None, two, one])
        again = replacements.joint_environment(tx, [both, two])
        assert settings.environments(tx)[both] == {"torch": "1 | 2", "device": "cpu"}
        assert again == both
        assert replacements.joint_environment(tx, [one, None]) == one


def test_held_finds_what_a_segment_has(catalogue):
    """The bisection on the mapped ids agrees with a look-up, at both ends and in between."""
    row = commit(catalogue, IDS[:37], VECTORS[:37])
    wanted = np.unique(np.concatenate([IDS, [0, 2**63 - 1]]))
    assert np.array_equal(compact.held(catalogue.folder, row, wanted), np.isin(wanted, IDS[:37]))


def test_splice_of_nothing_is_no_file(catalogue, tmp_path):
    """Where no row is kept there is no segment."""
    row = commit(catalogue, IDS[:3], VECTORS[:3])
    source = splice.Source(row.path(catalogue.folder), row, np.zeros(3, bool))
    assert splice.write(tmp_path / "none", [source], "float32") is None
    assert durable.UNFINISHED == ".tmp"
