"""Repair: afterwards the store is sound, what was good is still there bit for bit, what was bad is kept aside."""

from __future__ import annotations

import numpy as np
import pytest
from small_stores import DIGEST, commit, random_ids, unit_vectors

from clipstore.errors import Damaged
from clipstore.storage import collect
from clipstore.storage import repair as repairing
from clipstore.storage import segments as segment_files
from clipstore.storage.catalogue import Catalogue, segments, settings, spaces
from clipstore.storage.check import check
from clipstore.storage.lookup import Shelf
from clipstore.storage.repair import rebuild, repair
from clipstore.store.upkeep import verify

ROWS = 60
IDS, VECTORS = random_ids(ROWS), unit_vectors(ROWS)
FOLDER = f"vectors/{DIGEST}/text"


@pytest.fixture
def stored(catalogue):
    """Return a catalogue with three text segments of twenty vectors."""
    for start in range(0, ROWS, 20):
        commit(catalogue, IDS[start : start + 20], VECTORS[start : start + 20])
    return catalogue


def _files(catalogue):
    with catalogue.read() as tx:
        return [row.path(catalogue.folder) for row in segments.all(tx, DIGEST, "text")]


def _shelf(catalogue):
    with catalogue.read() as tx:
        return Shelf(catalogue.folder, segments.all(tx, DIGEST, "text"))


def test_sound_store_is_left_alone(stored):
    """Nothing is done where nothing is wrong."""
    before = sorted(stored.folder.rglob("*"))
    assert repair(stored.folder, stored) == []
    assert [path for path in sorted(stored.folder.rglob("*")) if "catalogue" not in path.name] == [
        path for path in before if "catalogue" not in path.name
    ]


def _flip(path):
    content = bytearray(path.read_bytes())
    content[90] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [_flip, lambda path: path.write_bytes(path.read_bytes()[:100])])
def test_damaged_segment_is_set_aside_and_the_rest_stays(stored, harm):
    """A flipped bit or a cut file takes one segment out; its file is kept, all other vectors stand bit for bit."""
    path = _files(stored)[1]
    harm(path)
    content = path.read_bytes()
    (done,) = repair(stored.folder, stored, grace=0)
    assert (done.kind, done.severity) == ("set aside", "note")
    assert "20 vectors lost" in done.detail
    assert (stored.folder / "aside" / FOLDER / path.name).read_bytes() == content
    assert check(stored.folder, stored) == []
    shelf = _shelf(stored)
    assert shelf.contains(IDS).tolist() == [True] * 20 + [False] * 20 + [True] * 20
    assert np.array_equal(shelf.gather(IDS[40:]), VECTORS[40:])
    assert repair(stored.folder, stored, grace=0) == []


def test_row_without_file_goes(stored):
    """A missing file's row is taken out, so that its items count as not encoded."""
    _files(stored)[0].unlink()
    (done,) = repair(stored.folder, stored)
    assert "was missing" in done.detail
    assert check(stored.folder, stored) == []
    assert _shelf(stored).contains(IDS[:20]).any() == np.False_


def test_sound_orphan_is_adopted_once_it_is_old(stored):
    """A whole file whose row was never written comes back; a young one is left to its writer."""
    file = segment_files.write(stored.folder / FOLDER, np.arange(5), unit_vectors(5, seed=3))
    assert repair(stored.folder, stored) == []
    (done,) = repair(stored.folder, stored, grace=0)
    assert (done.kind, done.where) == ("adopted", f"{FOLDER}/{file.name}.faiss")
    assert np.array_equal(_shelf(stored).gather(np.arange(5)), unit_vectors(5, seed=3))
    assert check(stored.folder, stored) == []


@pytest.mark.parametrize(
    "harm", [_flip, lambda path: path.write_bytes(path.read_bytes()[:-9]), lambda path: path.write_bytes(b"")]
)
def test_damaged_orphan_is_never_adopted(stored, harm):
    """A file that no row names and that is not whole is kept aside, also when only one bit is wrong."""
    file = segment_files.write(stored.folder / FOLDER, np.arange(5), unit_vectors(5))
    harm(stored.folder / FOLDER / f"{file.name}.faiss")
    (done,) = repair(stored.folder, stored, grace=0)
    assert done.kind == "set aside"
    assert check(stored.folder, stored) == []
    assert not _shelf(stored).contains(np.arange(5)).any()


def test_unfinished_files_go_once_they_are_old(stored):
    """What a killed writer left half-written is removed after the grace period."""
    unfinished = stored.folder / FOLDER / "x.tmp"
    unfinished.touch()
    assert repair(stored.folder, stored) == []
    assert unfinished.exists()
    assert [done.kind for done in repair(stored.folder, stored, grace=0)] == ["removed"]
    assert not unfinished.exists()


def test_what_repair_cannot_mend_is_told(stored):
    """Damage that needs the user's files is returned as damage, with its remedy."""
    with stored.write() as tx:
        tx.exec_driver_sql("INSERT INTO texts (id, text) VALUES (1, 'not of that id')")
    (left,) = repair(stored.folder, stored)
    assert (left.kind, left.severity) == ("text changed", "damage")


def test_a_rebuild_that_stopped_is_taken_up_again(tmp_path, monkeypatch):
    """Until every segment has its row again the store counts as damaged, and nothing is a leftover."""
    folder = tmp_path / "s"
    catalogue = Catalogue.open(folder)
    for start in range(0, ROWS, 20):
        commit(catalogue, IDS[start : start + 20], VECTORS[start : start + 20])
    catalogue.close()
    (folder / "catalogue.sqlite").unlink()
    adopted = []

    def stop(tx, row):
        if adopted:
            raise KeyboardInterrupt
        adopted.append(row)
        return real(tx, row)

    real = repairing._adopt
    monkeypatch.setattr(repairing, "_adopt", stop)
    with pytest.raises(KeyboardInterrupt):
        rebuild(folder)
    monkeypatch.undo()
    catalogue = Catalogue.open(folder)
    with pytest.raises(Damaged, match="a rebuild of the catalogue did not come to its end"):
        collect.plan(catalogue, lambda *_: None)
    catalogue.close()
    assert [one.kind for one in verify(folder).found if one.severity == "damage"] == ["catalogue"]
    assert not verify(folder, mend=True).damaged
    catalogue = Catalogue.open(folder)
    assert np.array_equal(_shelf(catalogue).gather(IDS), VECTORS)
    assert collect.plan(catalogue, lambda *_: None) is not None
    catalogue.close()


@pytest.mark.parametrize("harm", ["lost", "garbage", "empty"])
def test_lost_catalogue_is_rebuilt_from_segments(tmp_path, harm):
    """With the catalogue gone or overwritten, every vector comes back under its fingerprint, bit for bit."""
    folder = tmp_path / "s"
    catalogue = Catalogue.open(folder)
    for start in range(0, ROWS, 20):
        commit(catalogue, IDS[start : start + 20], VECTORS[start : start + 20])
    with catalogue.write() as tx:
        settings.set(tx, "a", "1")
    catalogue.close()
    path = folder / "catalogue.sqlite"
    path.unlink() if harm == "lost" else path.write_bytes(b"garbage" * 9999 if harm == "garbage" else b"")
    with pytest.raises(Damaged, match="verify --repair"):
        Catalogue.open(folder)
    catalogue, done = rebuild(folder)
    assert sum(finding.kind == "adopted" for finding in done) == 3
    assert "add eval sets and systems again" in done[0].remedy
    assert np.array_equal(_shelf(catalogue).gather(IDS), VECTORS)
    assert check(folder, catalogue) == []
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {"kind": "test"}, 16)
        assert spaces.get(tx, DIGEST).fields == {"kind": "test"}
    catalogue.close()
    kept = folder / "aside" / "catalogue.sqlite"
    assert kept.exists() == (harm != "lost")
