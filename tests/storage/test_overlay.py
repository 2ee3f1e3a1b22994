"""Overlays: a store that rests on read-only bases reads them first and writes only itself."""

from __future__ import annotations

import shutil

import drawn
import numpy as np
import pytest
from drawn import Watched

from clipstore import EvalSet, Store, keys
from clipstore.errors import BadFormat, CannotWrite, InputError, NotAStore
from clipstore.items import Image
from clipstore.storage import settings_file
from clipstore.storage.catalogue import contents, segments, sets, spaces
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.store.founding import found
from clipstore.store.upkeep import verify

TEXTS = [f"text {number}" for number in range(6)]


@pytest.fixture
def base(open_store, tmp_path):
    """Return a base with six texts, two images and an eval set."""
    store = open_store("base")
    space = store.space("fake")
    space.ensure_texts([*TEXTS, "long " * 100])
    drawn.draw(tmp_path / "images", 2)
    ensured = space.ensure_images([Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())])
    with store.catalogue.write() as tx:
        sets.add(tx, "coco", [ItemRow(1, ensured.ids[0], (TEXTS[0],), {})], "d", {})
        sets.add_system(tx, "coco", "first", "x", [CandidateRow(1, 0, TEXTS[1])], {})
    store.close()
    return store


@pytest.fixture
def above(base, tmp_path):
    """Return a store that rests on the base."""
    with found(tmp_path / "above", bases=[base.folder]) as store:
        yield store
        assert drawn.damage(store) == []


def _files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.suffix in {".faiss", ".sqlite", ".toml"}}


def test_a_damaged_base_is_not_mended_from_above(base, above):
    """It is named; the store that rests on it keeps its own catalogue, and works once the base is whole."""
    above.space("fake").ensure_texts(["own"])
    above.close()
    place = base.folder / "catalogue.sqlite"
    whole = place.read_bytes()
    place.write_bytes(b"garbage" * 9999)
    done = verify(above.folder, mend=True)
    assert [(one.kind, one.severity) for one in done.found] == [("base", "damage")]
    assert str(base.folder) in done.found[0].detail
    assert not (above.folder / "aside").exists()
    place.write_bytes(whole)
    with Store.open(above.folder) as store:
        assert store.space("fake").ensure_texts(["own", *TEXTS], encode=False).cached == 7


def test_settings_make_no_store_of_another_folder(base, tmp_path):
    """A folder of other things is refused, and nothing is written into it."""
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("dear")
    with pytest.raises(NotAStore, match="not a store and is not empty"):
        found(tmp_path / "letters", bases=[base.folder])
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["letter.txt"]


def test_the_base_is_read_first_and_never_written(base, above):
    """Only what the base lacks is encoded, into the store above; no byte of the base changes."""
    before = _files(base.folder)
    watched = Watched()
    space = above.custom_space(watched, "fake")
    assert space.ensure_texts([*TEXTS, "new"]).encoded == 1
    assert watched.texts == ["new"]
    assert _files(base.folder) == before
    with above.catalogue.read() as tx:
        assert [row.rows for row in segments.all(tx)] == [1]
    gathered = space.gather_texts(space.text_keys(["new", *TEXTS, "new"]))
    below = base.space("fake")
    assert np.array_equal(gathered[1:-1], below.gather_texts(below.text_keys(TEXTS)))
    assert np.array_equal(gathered[0], gathered[-1])


def test_the_model_name_resolves_through_the_base(base, tmp_path):
    """With ``bases`` written by hand and nothing taken over, the name still finds its vectors without loading."""
    (tmp_path / "hand").mkdir()
    settings_file.write(tmp_path / "hand", {"bases": ["../base"]})
    with Store.open(tmp_path / "hand") as store:
        space = store.space("fake")
        assert space.ensure_texts(TEXTS, encode=False).encoded == 0
        assert space.cuts(space.text_keys(["long " * 100])) != {}
        assert space.ensure_texts(["own"]).encoded == 1
        with store.catalogue.read() as tx:
            assert [row.digest for row in spaces.all(tx)] == [space.fingerprint.digest]


def test_sets_of_the_base_are_known_by_name(above):
    """Eval sets and systems are taken over at creation, so that a new system can be added beside them."""
    assert [row.name for row in above.sets()] == ["coco"]
    assert EvalSet.load(above, "coco").keys == (1,)
    with above.catalogue.write() as tx:
        sets.add_system(tx, "coco", "mine", "y", [CandidateRow(1, 0, "mine")], {})
        assert [row.name for row in sets.systems(tx, "coco")] == ["first", "mine"]


def test_images_known_to_the_base_are_found(base, above):
    """An image that only the base has seen is encoded from the file that the base remembers."""
    with base.catalogue.read() as tx:
        (item,) = sets.get(tx, "coco").items
    space = above.custom_space(Watched(dim=32), "other")
    assert space.ensure_known_images([item.image_id]).encoded == 1


def test_a_base_can_be_read_only(base, above, tmp_path):
    """A base that nobody may write serves all the same."""
    for path in [base.folder, *base.folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with Store.open(above.folder) as store:
            assert store.space("fake").ensure_texts(TEXTS, encode=False).encoded == 0
    finally:
        for path in [base.folder, *base.folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_base_refuses_to_be_written(above):
    """The catalogue of a base has no way to write, whatever the permissions."""
    (below,) = above.catalogue.bases
    with pytest.raises(CannotWrite), below.write():
        pass


def test_what_the_base_gets_later_is_seen(base, above):
    """A base that grows is read anew; nothing has to be opened again."""
    space = above.custom_space(Watched(), "fake")
    space.ensure_texts(TEXTS)
    with Store.open(base.folder) as below:
        below.space("fake").ensure_texts(["later"])
    assert space.ensure_texts(["later"], encode=False).cached == 1


def test_a_base_that_is_gone_is_named(base, above):
    """The error says which folder is missing."""
    above.close()
    shutil.move(base.folder, base.folder.with_name("elsewhere"))
    with pytest.raises(NotAStore, match=r"store\.toml names .* as a base, and there is no store there: mount it"):
        Store.open(above.folder)
    shutil.move(base.folder.with_name("elsewhere"), base.folder)


def test_what_a_base_rests_on_is_below_too(base, above, tmp_path):
    """A third store finds the vectors of both below it, and takes the names that the one it names knows."""
    above.space("fake").ensure_texts(["own"])
    with base.catalogue.write() as tx:
        sets.add_system(tx, "coco", "later", "y", [CandidateRow(1, 0, TEXTS[2])], {})
    with found(tmp_path / "top", bases=[above.folder]) as top:
        assert [one.folder for one in top.catalogue.bases] == [base.folder, above.folder]
        watched = Watched()
        top.custom_space(watched, "fake").ensure_texts([*TEXTS, "own"])
        assert watched.texts == []
        with top.catalogue.read() as tx:
            assert [one.name for one in sets.systems(tx, "coco")] == ["first"]
    with pytest.raises(InputError, match="can't rest on itself by way of"):
        found(base.folder, bases=[above.folder])


def test_bases_must_be_stores(base, tmp_path):
    """A store does not rest on itself or on nothing, and no half-made store stays behind."""
    with pytest.raises(NotAStore, match="--base"):
        found(tmp_path / "x", bases=[tmp_path / "none"])
    with pytest.raises(InputError, match="itself"):
        found(base.folder, bases=[base.folder])
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "store.toml").write_text("bases = 3\n")
    with pytest.raises(BadFormat, match="bases"):
        Store.open(tmp_path / "y")


def test_half_precision_is_chosen_at_creation(tmp_path):
    """Spaces of a float16 store are float16, similarities are float32, and the error was measured."""
    from clipstore.store.upkeep import half_errors

    with found(tmp_path / "half", dtype="float16") as store:
        space = store.space("fake")
        space.ensure_texts(TEXTS)
        with store.catalogue.read() as tx:
            assert [row.dtype for row in segments.all(tx)] == ["float16"]
        half = space.gather_texts(space.text_keys(TEXTS))
        exact = Watched().encode_texts(TEXTS)
        assert half.dtype == np.float32
        ((digest, error),) = half_errors(store)
        assert digest == space.fingerprint.digest
        assert 0 < error < 1e-3
        assert np.abs(half @ half.T - exact @ exact.T).max() <= error + 1e-6
        assert drawn.damage(store) == []
    with pytest.raises(InputError, match="chosen at creation"):
        found(tmp_path / "half", dtype="float32")


def test_contents_stay_in_their_own_store(above):
    """Texts that only the base encoded are not copied by reading them."""
    above.custom_space(Watched(), "fake").ensure_texts(TEXTS)
    with above.catalogue.read() as tx:
        assert set(contents.texts(tx, keys.text_ids(TEXTS)).values()) == {TEXTS[0], TEXTS[1]}
