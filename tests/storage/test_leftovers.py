"""Leftovers and collecting: what nothing refers to goes after its time, and nothing else ever does."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from small_stores import DIGEST, commit, unit_vectors

from clipstore import keys
from clipstore.errors import Busy, CannotWrite
from clipstore.storage import collect, leftovers, settings_file
from clipstore.storage.catalogue import contents, pairs, references, runs, segments, sets, spaces
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.storage.catalogue.runs import RunRow
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.storage.check import check
from clipstore.storage.lookup import Shelf

PREFIX = "of "
TEXTS = [f"text {number}" for number in range(10)]
IMAGES = [keys.sha256(bytes([number])) for number in range(4)]
VECTORS = unit_vectors(14)
DAY = 86_400.0


def _keys_of(_space, prefixes, texts):
    return np.array(keys.text_ids(prefix + text for prefix in prefixes for text in texts), np.int64)


TEXT_KEYS = _keys_of(None, [PREFIX], TEXTS)
IMAGE_IDS = np.array([keys.from_sha256(digest) for digest in IMAGES], np.int64)


@pytest.fixture
def stored(catalogue):
    """Return a catalogue whose set names image 0 and text 0, a system text 1, an old one text 2, a run text 3, image 1."""
    commit(catalogue, TEXT_KEYS, VECTORS[:10])
    commit(catalogue, IMAGE_IDS, VECTORS[10:], modality="image")
    with catalogue.write() as tx:
        spaces.add_prompt(tx, DIGEST, PREFIX)
        contents.add_texts(tx, keys.text_ids(TEXTS), TEXTS)
        contents.add_images(tx, [ImageRow(keys.from_sha256(digest), digest, 1, "RGB", 1, 1) for digest in IMAGES])
        sets.add(tx, "set", [ItemRow("a", int(IMAGE_IDS[0]), (TEXTS[0],), {})], "d", {})
        sets.add_system(tx, "set", "system", "old", [CandidateRow("a", 0, TEXTS[2])], {})
        sets.add_system(tx, "set", "system", "new", [CandidateRow("a", 0, TEXTS[1])], {})
        used = np.array(keys.text_ids(TEXTS[3:4]), np.int64), IMAGE_IDS[1:2]
        runs.add(tx, RunRow("r", "score", {}, {}, *used, time.time() - 200 * DAY))
    return catalogue


def _has(catalogue, modality, ids):
    with catalogue.read() as tx:
        return Shelf(catalogue.folder, segments.all(tx, DIGEST, modality)).contains(ids)


def _age(catalogue, days):
    with catalogue.write() as tx:
        tx.exec_driver_sql(f"UPDATE segments SET created = {time.time() - days * DAY}")


def test_what_a_set_a_system_or_a_run_names_stays(stored):
    """References, current and old captions, images of sets and what runs used stay; the rest goes, and only that."""
    planned = collect.plan(stored, _keys_of)
    assert (planned.vectors, len(planned.texts), len(planned.images)) == (6 + 2, 6, 2)
    collect.carry_out(stored, planned)
    assert _has(stored, "text", TEXT_KEYS).tolist() == [True] * 4 + [False] * 6
    assert _has(stored, "image", IMAGE_IDS).tolist() == [True, True, False, False]
    with stored.read() as tx:
        assert contents.text_count(tx) == 4
        assert contents.image_count(tx) == 2
        rows = Shelf(stored.folder, segments.all(tx, DIGEST, "text"))
    assert np.array_equal(rows.gather(TEXT_KEYS[:4]), VECTORS[:4])
    assert [one for one in check(stored.folder, stored) if one.severity == "damage"] == []
    assert collect.plan(stored, _keys_of).is_empty


def test_pair_scores_go_with_their_image_and_with_their_text(stored):
    """Of pairs of an image and a text those stay whose image and text both do, and those whose context is no image."""
    contexts = np.array([IMAGE_IDS[0], IMAGE_IDS[2], IMAGE_IDS[0], 5], np.int64)
    texts = np.array(keys.text_ids([TEXTS[0], TEXTS[0], TEXTS[9], TEXTS[0]]), np.int64)
    with stored.write() as tx:
        pairs.add(tx, "scorer", contexts, texts, np.array([0.25, 0.5, 0.75, 1.0], np.float32))
    collect.carry_out(stored, collect.plan(stored, _keys_of))
    with stored.read() as tx:
        found = pairs.get(tx, "scorer", contexts, texts)
    np.testing.assert_array_equal(found, np.array([0.25, np.nan, np.nan, 1.0], np.float32))


def test_a_plan_changes_nothing(stored):
    """A dry run leaves every row and file."""
    before = {path: path.stat().st_mtime_ns for path in stored.folder.rglob("*.faiss")}
    collect.plan(stored, _keys_of)
    assert {path: path.stat().st_mtime_ns for path in stored.folder.rglob("*.faiss")} == before
    assert _has(stored, "text", TEXT_KEYS).all()


def test_what_is_young_stays(stored):
    """Vectors made within ``unused_for`` days stay, and the texts and images that they are of."""
    _age(stored, 10)
    assert collect.plan(stored, _keys_of, unused_for=30).is_empty
    assert collect.plan(stored, _keys_of, unused_for=5).vectors == 8


def test_runs_protect_until_they_are_to_be_forgotten(stored):
    """What only an old run used goes when records of runs that old are dropped too."""
    planned = collect.plan(stored, _keys_of, forget_runs=100)
    assert (planned.vectors, planned.runs[0]) == (7 + 3, 1)
    collect.carry_out(stored, planned)
    assert not _has(stored, "text", TEXT_KEYS[3:4]).any()
    with stored.read() as tx:
        assert runs.all(tx) == []
    assert collect.plan(stored, _keys_of, forget_runs=300).runs[0] == 0


def test_a_space_that_is_not_understood_loses_no_text(stored):
    """Where vector keys can't be derived (a rebuilt catalogue), text vectors and texts stay."""
    planned = collect.plan(stored, lambda *_: None)
    assert (planned.vectors, len(planned.texts)) == (2, 0)


def test_a_store_that_changed_is_planned_again(stored):
    """Between plan and deed a new set names what was to go: nothing is taken away, no file is left."""
    planned = collect.plan(stored, _keys_of)
    with stored.write() as tx:
        sets.add(tx, "other", [ItemRow("b", None, (TEXTS[9],), {})], "e", {})
    files = sorted(stored.folder.rglob("*.faiss"))
    with pytest.raises(Busy, match="run it again"):
        collect.carry_out(stored, planned)
    assert _has(stored, "text", TEXT_KEYS).all()
    assert sorted(stored.folder.rglob("*.faiss")) == files


def test_a_base_is_never_collected(stored):
    """In a store marked as a base nothing is known to be unused."""
    settings_file.write(stored.folder, {**settings_file.read(stored.folder), "base": True})
    with pytest.raises(CannotWrite, match="base"):
        collect.plan(stored, _keys_of)


def test_cuts_go_with_their_vectors(stored):
    """What is remembered of a text's cut goes with its vector, and no other."""
    with stored.write() as tx:
        contents.add_cuts(tx, DIGEST, [(int(TEXT_KEYS[0]), 77, 2), (int(TEXT_KEYS[9]), 77, 5)])
    collect.carry_out(stored, collect.plan(stored, _keys_of))
    with stored.read() as tx:
        assert contents.cuts(tx, DIGEST, TEXT_KEYS) == {int(TEXT_KEYS[0]): 2}


def test_strays_are_swept_after_their_grace(stored):
    """A file without a row and a half-written one stay for an hour, then go; what has a row never does."""
    folder = stored.folder / "vectors" / DIGEST / "text"
    strays = [folder / f"{'0' * 32}.faiss", folder / f"{'1' * 32}.tmp"]
    for path in strays:
        path.write_bytes(b"abc")
    assert leftovers.sweep(stored, leftovers.find(stored)) == (0, 0)
    hours_ago = time.time() - leftovers.STRAY_GRACE - 5
    for path in (*strays, *folder.glob("*.faiss")):
        os.utime(path, (hours_ago, hours_ago))
    assert leftovers.sweep(stored, leftovers.find(stored)) == (2, 6)
    assert _has(stored, "text", TEXT_KEYS).all()
    assert not any(path.exists() for path in strays)


def test_a_sweep_that_was_stopped_goes_on(stored):
    """A retired file that is gone already is forgotten without complaint."""
    collect.carry_out(stored, collect.plan(stored, _keys_of))
    for one in leftovers.find(stored):
        one.path.unlink()
    assert leftovers.sweep_retired(stored, grace=0.0) == 2
    assert leftovers.find(stored, grace=0.0) == []


def test_all_ids_are_listed_by_page(stored):
    """Every text and image is seen by the planner."""
    with stored.read() as tx:
        assert sorted(text for _, page in references.all_texts(tx) for text in page) == TEXTS
        assert references.all_images(tx).tolist() == sorted(IMAGE_IDS.tolist())
