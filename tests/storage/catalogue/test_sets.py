"""Eval sets and systems: they come back as they went in, in order, and replacing one loses nothing of the other."""

from __future__ import annotations

import time

import pytest

from clipstore import keys
from clipstore.errors import Damaged, InputError, NotStored
from clipstore.storage.catalogue import contents, sets
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow

ITEMS = (
    ItemRow(7, 11, ("a dog", "a cat", "a dog"), {"domain": "near"}),
    ItemRow("7", None, (), {}),
    ItemRow("наверх\udc80", 2**63 - 1, ("[b] 🐕\n",), {"x": "1", "a": ""}),
)
CANDIDATES = [
    CandidateRow("7", 1, "second", -2.5, "mean"),
    CandidateRow("7", 0, "first", -1.5, "mean"),
    CandidateRow(7, 0, "a dog"),
]


@pytest.fixture
def stored(catalogue):
    """Return a catalogue with one eval set of three items, and one system on it."""
    with catalogue.write() as tx:
        sets.add(tx, "coco", ITEMS, "d1", {"refs": "refs.json"})
        sets.add_system(tx, "coco", "blip", "c1", CANDIDATES, {"source": "blip.json"})
    return catalogue


def test_set_comes_back_as_it_went_in(stored):
    """Keys keep their type, references their order and repeats, tags and images theirs."""
    with stored.read() as tx:
        found = sets.get(tx, "coco")
        assert (found.name, found.digest, found.origin, found.items) == ("coco", "d1", {"refs": "refs.json"}, ITEMS)
        assert sets.get(tx, "none") is None
        assert [row[:4] for row in sets.names(tx)] == [("coco", "d1", 3, 1)]
        assert contents.text_count(tx) == len({"a dog", "a cat", "[b] 🐕\n", "first", "second"})


def test_candidates_come_by_item_and_rank(stored):
    """Candidates follow the items' order, then rank, with scores where there are any."""
    with stored.read() as tx:
        assert sets.candidates(tx, "coco", "blip") == [CANDIDATES[2], CANDIDATES[1], CANDIDATES[0]]
        assert [row.n_candidates for row in sets.systems(tx, "coco")] == [3]


def test_second_set_of_a_name_and_repeated_keys_are_refused(stored):
    """A set is never overwritten by adding, and names each item once."""
    with pytest.raises(InputError, match="already"), stored.write() as tx:
        sets.add(tx, "coco", (), "d2", {})
    with pytest.raises(InputError, match="repeats"), stored.write() as tx:
        sets.add(tx, "other", (ITEMS[0], ITEMS[0]), "d2", {})
    with stored.read() as tx:
        assert [row.name for row in sets.names(tx)] == ["coco"]
        assert sets.get(tx, "coco").items == ITEMS


def test_replaced_set_keeps_its_systems_by_key(stored):
    """Candidates follow their item to its new place; those of dropped items wait, and come back with the item."""
    with stored.write() as tx:
        sets.replace(tx, "coco", (ItemRow("new", 1, ("x",), {}), ITEMS[0]), "d2", {})
        assert sets.candidates(tx, "coco", "blip") == [CANDIDATES[2]]
        assert [row.n_candidates for row in sets.systems(tx, "coco")] == [1]
        assert [item.key for item in sets.get(tx, "coco").items] == ["new", 7]
    with stored.write() as tx:
        sets.replace(tx, "coco", ITEMS[::-1], "d3", {})
        assert sets.get(tx, "coco").items == ITEMS[::-1]
        assert sets.candidates(tx, "coco", "blip") == [CANDIDATES[1], CANDIDATES[0], CANDIDATES[2]]
        assert tx.exec_driver_sql("SELECT count(*) FROM eval_items").scalar() == 3


def test_captions_outside_the_set_are_kept_but_not_shown(stored):
    """A candidate for an item that the set does not name waits until a replaced set names it."""
    with stored.write() as tx:
        sets.add_system(tx, "coco", "git", "c9", [CandidateRow("later", 0, "a bird"), CandidateRow(7, 0, "a cow")], {})
        assert [row.text for row in sets.candidates(tx, "coco", "git")] == ["a cow"]
        sets.replace(tx, "coco", (ItemRow("later", None, (), {}), *ITEMS), "d2", {})
        assert [row.text for row in sets.candidates(tx, "coco", "git")] == ["a bird", "a cow"]


def test_replaced_system_keeps_its_older_captions_by_hash(stored):
    """New captions of one name become current; the older ones are found by hash and can come back."""
    new = [CandidateRow(7, 0, "a dog runs")]
    with stored.write() as tx:
        sets.add_system(tx, "coco", "git", "c5", new, {})
        sets.add_system(tx, "coco", "blip", "c2", new, {"source": "new.json"})
        assert [(row.name, row.digest) for row in sets.systems(tx, "coco")] == [("blip", "c2"), ("git", "c5")]
        assert sets.candidates(tx, "coco", "blip") == new
        assert len(sets.candidates(tx, "coco", "blip", "c1")) == 3
        sets.add_system(tx, "coco", "blip", "c1", CANDIDATES, {})
        assert len(sets.candidates(tx, "coco", "blip")) == 3
        assert tx.exec_driver_sql("SELECT count(*) FROM systems").scalar() == 3
        assert [row.n_systems for row in sets.names(tx)] == [2]


def test_unknown_names_say_what_is_there(stored):
    """A wrong set or system raises NotStored with the names that exist or the command that lists them."""
    with stored.write() as tx:
        for action in (
            lambda: sets.candidates(tx, "flickr", "blip"),
            lambda: sets.systems(tx, "flickr"),
            lambda: sets.remove(tx, "flickr"),
            lambda: sets.replace(tx, "flickr", (), "d", {}),
            lambda: sets.add_system(tx, "flickr", "x", "c", [], {}),
        ):
            with pytest.raises(NotStored, match="it holds coco"):
                action()
        for action in (
            lambda: sets.candidates(tx, "coco", "gitt"),
            lambda: sets.candidates(tx, "coco", "blip", "c7"),
            lambda: sets.remove_system(tx, "coco", "gitt"),
        ):
            with pytest.raises(NotStored, match="ls systems"):
                action()


def test_two_candidates_in_one_place_are_refused(stored):
    """Two candidates of one item and rank are an error, and nothing of the system stays."""
    with pytest.raises(InputError, match="rank"), stored.write() as tx:
        sets.add_system(tx, "coco", "git", "c5", [CANDIDATES[0], CANDIDATES[0]], {})
    with stored.read() as tx:
        assert [row.name for row in sets.systems(tx, "coco")] == ["blip"]


def test_removed_system_and_set_are_gone_with_their_rows(stored):
    """Removing takes every row of the system or set, and the store can have that name again."""
    with stored.write() as tx:
        sets.add(tx, "other", ITEMS, "d1", {})
        sets.add_system(tx, "coco", "blip", "c2", [CandidateRow("unlisted", 0, "x")], {})
        sets.remove_system(tx, "coco", "blip")
        assert sets.systems(tx, "coco") == []
        sets.remove(tx, "coco")
        assert [row.name for row in sets.names(tx)] == ["other"]
        assert sets.get(tx, "other").items == ITEMS
        counts = [
            tx.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
            for table in ("eval_sets", "eval_items", "item_references", "systems", "candidates")
        ]
        assert counts == [1, 3, 4, 0, 0]
        sets.add(tx, "coco", ITEMS, "d1", {})


def test_lost_text_is_damage_not_a_missing_caption(stored):
    """A caption or reference whose text row is gone raises Damaged; nothing is left out in silence."""
    with stored.write() as tx:
        tx.exec_driver_sql(f"DELETE FROM texts WHERE id = {keys.text_id('a dog')}")
        with pytest.raises(Damaged, match="verify --repair"):
            sets.candidates(tx, "coco", "blip")
        with pytest.raises(Damaged, match="verify --repair"):
            sets.get(tx, "coco")


def test_large_set_is_stored_and_read_quickly(catalogue):
    """A set of 7,000 items with five references, and 35,000 candidates, goes in and out within seconds."""
    items = [ItemRow(n, n, tuple(f"reference {n} {k}" for k in range(5)), {}) for n in range(7000)]
    rows = [CandidateRow(n, k, f"caption {n} {k}", -1.0, "sum") for n in range(7000) for k in range(5)]
    started = time.process_time()
    with catalogue.write() as tx:
        sets.add(tx, "big", items, "d", {})
        sets.add_system(tx, "big", "beam", "c", rows, {})
    with catalogue.read() as tx:
        assert sets.get(tx, "big").items == tuple(items)
        assert sets.candidates(tx, "big", "beam") == rows
    assert time.process_time() - started < 20
