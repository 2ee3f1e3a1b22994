"""The spool: a host that may not write rows leaves a parcel, and the next opener that can write adopts it."""

from __future__ import annotations

import contextlib
import json
import time

import numpy as np
import pytest
from drawn import Watched

from clipstore import Store
from clipstore.errors import NotStored
from clipstore.storage import spool
from clipstore.storage.catalogue import Catalogue, sets
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.store.founding import found, spooling
from clipstore.store.upkeep import verify

TEXTS = ["one", "two", "three"]


@pytest.fixture
def shared(open_store):
    """Return a store with one text, closed: its folder is what hosts share."""
    store = open_store("store")
    store.space("fake").ensure_texts(TEXTS[:1])
    with store.catalogue.write() as tx:
        sets.add(tx, "set", [ItemRow(1, None, ("one",), {})], "d", {})
    store.close()
    return store


def _spool(folder, system="system", text="two"):
    with spooling(folder) as store:
        watched = Watched()
        store.custom_space(watched, "fake").ensure_texts(TEXTS)
        with store.catalogue.write() as tx:
            sets.add_system(tx, "set", system, text, [CandidateRow(1, 0, text)], {})
    return watched.texts


def test_a_parcel_is_adopted_by_the_next_opener(shared):
    """Only what is missing is encoded; the store is not written until it is opened, and then it has all."""
    before = (shared.folder / "catalogue.sqlite").read_bytes()
    assert sorted(_spool(shared.folder)) == sorted(TEXTS[1:])  # in an order of its own
    assert (shared.folder / "catalogue.sqlite").read_bytes() == before
    (parcel,) = spool.waiting(shared.folder)
    assert sorted(path.suffix for path in parcel.iterdir()) == [".faiss", ".jsonl"]
    with Store.open(shared.folder) as store:
        assert spool.waiting(shared.folder) == []
        watched = Watched()
        space = store.custom_space(watched, "fake")
        space.ensure_texts(TEXTS)
        assert watched.texts == []
        assert np.array_equal(space.gather_texts(space.text_keys(TEXTS)), Watched().encode_texts(TEXTS))
        with store.catalogue.read() as tx:
            assert [row.name for row in sets.systems(tx, "set")] == ["system"]


def test_two_hosts_spool_at_once(shared):
    """Parcels that overlap are adopted one after the other; nothing is stored twice."""
    _spool(shared.folder, "first")
    _spool(shared.folder, "second", "three")
    with Store.open(shared.folder) as store:
        with store.catalogue.read() as tx:
            assert {row.name for row in sets.systems(tx, "set")} == {"first", "second"}
        assert store.space("fake").shelf("text").rows == 3


def test_adopting_twice_changes_nothing(shared, tmp_path):
    """A kill between the last row and the parcel's removal leaves a parcel that is adopted again, to no effect."""
    import shutil

    _spool(shared.folder)
    (parcel,) = spool.waiting(shared.folder)
    shutil.copytree(parcel, tmp_path / "again")
    Store.open(shared.folder).close()
    shutil.copytree(tmp_path / "again", parcel)
    with Store.open(shared.folder) as store:
        assert spool.waiting(shared.folder) == []
        assert store.space("fake").shelf("text").rows == 3


def test_a_reader_leaves_parcels_alone(shared):
    """Where the store is read-only the parcel waits on."""
    from clipstore.storage.catalogue import Catalogue

    _spool(shared.folder)
    catalogue = Catalogue.open(shared.folder, base=True)
    assert spool.adopt(catalogue) == 0
    catalogue.close()
    assert len(spool.waiting(shared.folder)) == 1


def test_a_parcel_that_clashes_is_set_aside(shared, caplog):
    """A system that has other captions by now: the parcel is kept, the store opens, a warning says why."""
    _spool(shared.folder)
    catalogue_store = shared
    with catalogue_store.catalogue.write() as tx:
        sets.add_system(tx, "set", "system", "other", [CandidateRow(1, 0, "other")], {})
    with Store.open(shared.folder) as store, store.catalogue.read() as tx:
        assert sets.systems(tx, "set")[0].digest == "other"
    assert "could not be adopted" in caplog.text
    assert len(list((shared.folder / "aside" / "incoming").iterdir())) == 1


@pytest.mark.parametrize("harm", ["bytes", "name", "manifest"])
def test_a_damaged_parcel_is_set_aside(shared, caplog, harm):
    """Changed bytes, a name that leads elsewhere, or half a manifest do not come in."""
    _spool(shared.folder)
    (parcel,) = spool.waiting(shared.folder)
    if harm == "bytes":
        path = next(parcel.glob("*.faiss"))
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    else:
        path = parcel / spool.MANIFEST
        lines = path.read_text().splitlines()
        last = json.loads(lines[-1])
        last[1]["digest"] = "../../../elsewhere"
        lines[-1] = json.dumps(last) if harm == "name" else lines[-1][:20]
        path.write_text("\n".join(lines))
    with Store.open(shared.folder) as store:
        assert store.space("fake").shelf("text").rows == 1
    assert "could not be adopted" in caplog.text
    assert spool.waiting(shared.folder) == []


def test_nothing_new_is_no_parcel(tmp_path):
    """A spooling that added nothing leaves nothing behind; one that failed neither."""
    Store.open(tmp_path / "empty").close()
    with spooling(tmp_path / "empty"):
        pass
    with pytest.raises(NotStored):
        _add_and_fail(tmp_path / "empty")
    assert spool.waiting(tmp_path / "empty") == []


def _add_and_fail(folder):
    with spooling(folder) as store:
        store.space("fake").ensure_texts(["x"])
        store.space("fake").ensure_texts(["y"], encode=False)


def test_a_damaged_store_leaves_its_parcels_waiting(shared, caplog):
    """What is wrong with the store is no fault of a parcel: once it is mended the parcel comes in."""
    _spool(shared.folder)
    path = next(shared.folder.rglob("vectors/*/text/*.faiss"))
    path.write_bytes(path.read_bytes()[:-4])
    Store.open(shared.folder).close()
    assert "waits until the store is mended" in caplog.text
    assert len(spool.waiting(shared.folder)) == 1
    assert not verify(shared.folder, mend=True).damaged
    with Store.open(shared.folder) as store:
        assert spool.waiting(shared.folder) == []
        assert store.space("fake").shelf("text").rows == 2


def test_an_opener_waits_for_no_writer_to_adopt(shared):
    """While another writes, the parcel waits on and the store opens at once."""
    _spool(shared.folder)
    with contextlib.closing(Catalogue.open(shared.folder)) as other, other.write():
        start = time.monotonic()
        Store.open(shared.folder).close()
        assert time.monotonic() - start < 5
    assert len(spool.waiting(shared.folder)) == 1
    Store.open(shared.folder).close()
    assert spool.waiting(shared.folder) == []


def test_a_kill_while_an_adopted_parcel_goes_leaves_none(shared, monkeypatch):
    """It no longer looks like a parcel, and the next opener clears it away."""
    _spool(shared.folder)
    monkeypatch.setattr(spool.shutil, "rmtree", lambda *_args, **_more: None)
    Store.open(shared.folder).close()
    assert spool.waiting(shared.folder) == []
    assert len(list((shared.folder / "incoming").iterdir())) == 1
    monkeypatch.undo()
    _spool(shared.folder, "another", "three")
    Store.open(shared.folder).close()
    assert list((shared.folder / "incoming").iterdir()) == []


def test_what_lies_below_an_overlay_is_not_encoded_again(shared, tmp_path):
    """A store that rests on another: what either holds is looked up, and only the rest is spooled."""
    with found(tmp_path / "above", bases=[shared.folder]) as above:
        above.space("fake").ensure_texts(TEXTS[:2])
        with above.catalogue.write() as tx:  # the name came from the base, and has other captions here
            for text in ("one", "two"):
                sets.add_system(tx, "set", "again", text, [CandidateRow(1, 0, text)], {})
    with Store.open(shared.folder) as below, below.catalogue.write() as tx:
        sets.add_system(tx, "set", "again", "one", [CandidateRow(1, 0, "one")], {})
    assert _spool(tmp_path / "above") == TEXTS[2:]
    with Store.open(tmp_path / "above") as above:
        assert spool.waiting(tmp_path / "above") == []
        watched = Watched()
        above.custom_space(watched, "fake").ensure_texts(TEXTS)
        assert watched.texts == []
