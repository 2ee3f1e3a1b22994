"""Merge: another store's vectors and rows come in without encoding, and no name changes its meaning."""

from __future__ import annotations

import drawn
import numpy as np
import pytest
from drawn import Watched

from clipstore.errors import Damaged, InputError, NotAStore
from clipstore.storage.catalogue import contents, pairs, runs, sets
from clipstore.storage.catalogue.runs import RunRow
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.store import moving
from clipstore.store.founding import found

MINE, THEIRS = ["a", "b", "c"], ["b", "c", "d", "e"]


def _add_set(store, name="set", reference="one", systems=(("system", "x"),)):
    with store.catalogue.write() as tx:
        sets.add(tx, name, [ItemRow(7, 5, (reference,), {"t": "1"}), ItemRow("7", None, (), {})], reference, {"o": 1})
        for system, text in systems:
            sets.add_system(tx, name, system, text, [CandidateRow(7, 0, text, -1.5, "sum")], {})


@pytest.fixture
def two(open_store):
    """Return two stores of the fake encoder whose texts overlap."""
    mine, theirs = open_store("mine"), open_store("theirs")
    mine.space("fake").ensure_texts(MINE)
    theirs.space("fake").ensure_texts(THEIRS)
    return mine, theirs


def test_vectors_come_in_without_encoding(two):
    """What this store lacks comes in bit for bit, what it has stays; afterwards the encoder has nothing to do."""
    mine, theirs = two
    merged = moving.merge(mine, [theirs.folder])
    assert (merged.vectors, merged.known) == (2, 2)
    watched = Watched()
    space = mine.custom_space(watched, "fake")
    space.ensure_texts([*MINE, *THEIRS])
    assert watched.texts == []
    other = theirs.space("fake")
    assert np.array_equal(space.gather_texts(space.text_keys(THEIRS)), other.gather_texts(other.text_keys(THEIRS)))
    with mine.catalogue.read() as tx:
        assert contents.text_count(tx) == 5
    assert moving.merge(mine, [theirs.folder]).vectors == 0


def test_the_other_store_is_only_read(two):
    """No segment and no row of the other store changes."""
    mine, theirs = two
    theirs.close()
    before = (theirs.folder / "catalogue.sqlite").read_bytes(), sorted(theirs.folder.rglob("*.faiss"))
    moving.merge(mine, [theirs.folder])
    assert ((theirs.folder / "catalogue.sqlite").read_bytes(), sorted(theirs.folder.rglob("*.faiss"))) == before


def test_sets_and_systems_come_along(two):
    """Items keep keys, order, references and tags; old captions come as old, current ones as current."""
    mine, theirs = two
    _add_set(theirs)
    with theirs.catalogue.write() as tx:
        sets.add_system(tx, "set", "system", "newer", [CandidateRow(7, 0, "newer")], {})
    merged = moving.merge(mine, [theirs.folder])
    assert (merged.sets, merged.systems) == (1, 1)
    with mine.catalogue.read() as tx, theirs.catalogue.read() as other:
        assert sets.get(tx, "set").items == sets.get(other, "set").items
        (system,) = sets.systems(tx, "set")
        assert system.digest == "newer"
        assert sets.candidates(tx, "set", "system", "x") == [CandidateRow(7, 0, "x", -1.5, "sum")]


def test_new_systems_join_a_set_that_both_have(two):
    """A set with equal content is one set; each store's systems are in it."""
    mine, theirs = two
    _add_set(mine, systems=[("mine", "x")])
    _add_set(theirs, systems=[("theirs", "y"), ("mine", "x")])
    assert moving.merge(mine, [theirs.folder]).systems == 1
    with mine.catalogue.read() as tx:
        assert [row.name for row in sets.systems(tx, "set")] == ["mine", "theirs"]


@pytest.mark.parametrize("theirs_has", [{"reference": "two"}, {"systems": (("system", "y"),)}])
def test_a_name_that_stands_for_other_content_is_an_error(two, theirs_has):
    """A set with other references, or a system with other captions: nothing at all comes in."""
    mine, theirs = two
    _add_set(mine)
    _add_set(theirs, **theirs_has)
    with pytest.raises(InputError, match="clipstore rm"):
        moving.merge(mine, [theirs.folder])
    with mine.catalogue.read() as tx:
        assert contents.text_count(tx) == 3 + 2


def test_runs_and_pair_scores_come_along(two):
    """What was used, and what was scored in pairs, is known after a merge too."""
    mine, theirs = two
    one = np.array([1], np.int64)
    with theirs.catalogue.write() as tx:
        runs.add(tx, RunRow("r", "score", {"a": 1}, {"b": 2}, one, one, 5.0))
        pairs.add(tx, "scorer", one, one, np.array([0.5], np.float32))
    moving.merge(mine, [theirs.folder])
    with mine.catalogue.read() as tx:
        assert runs.get(tx, "r").used_texts.tolist() == [1]
        assert pairs.get(tx, "scorer", one, one).tolist() == [0.5]


def test_a_damaged_segment_does_not_come_in(two):
    """A flipped bit of the other store is found before its vectors are copied."""
    mine, theirs = two
    path = next(theirs.folder.rglob("*.faiss"))
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    with pytest.raises(Damaged, match="not those committed"):
        moving.merge(mine, [theirs.folder])
    path.write_bytes(whole)


def test_only_other_stores_can_be_merged(two, tmp_path):
    """A store is not merged into itself, and no store is made where none is."""
    mine, _ = two
    with pytest.raises(InputError, match="itself"):
        moving.merge(mine, [mine.folder])
    with pytest.raises(NotAStore):
        moving.merge(mine, [tmp_path / "none"])
    assert not (tmp_path / "none").exists()


def test_a_merge_of_an_overlay_brings_what_its_base_holds(two, tmp_path):
    """Vectors and contents of the base come in, its later eval sets not; a base that this store has stays there."""
    mine, theirs = two
    with found(tmp_path / "above", bases=[theirs.folder]) as above:
        above.space("fake").ensure_texts(["f"])
        _add_set(theirs, "later")
        before = drawn.segment_bytes(theirs.folder)
        merged = moving.merge(mine, [above.folder])
        assert (merged.vectors, merged.known, merged.sets) == (3, 2, 0)
        watched = Watched()
        mine.custom_space(watched, "fake").ensure_texts([*MINE, *THEIRS, "f"])
        assert watched.texts == []
        assert drawn.segment_bytes(theirs.folder) == before
        with found(tmp_path / "beside", bases=[theirs.folder]) as beside:
            assert moving.merge(beside, [above.folder]).vectors == 1
        assert moving.merge(theirs, [above.folder]).vectors == 1, "an overlay comes into its own base"
