"""Export and import: what goes out comes in bit for bit, and nothing that was changed on the way does."""

from __future__ import annotations

import json
from pathlib import Path

import drawn
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn import Watched
from small_stores import commit, unit_vectors

from clipstore import Store, keys
from clipstore.errors import BadFormat, InputError
from clipstore.items import Image
from clipstore.storage.catalogue import Catalogue, contents, runs, segments, sets, spaces
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.storage.catalogue.runs import RunRow
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.storage.check import check
from clipstore.storage.exchange import arrays, full
from clipstore.store import moving
from clipstore.store.founding import found
from clipstore.store.holdings import Counts

PROMPT = "A photo depicts "
TEXTS = [f"a text, the {number}th" for number in range(12)]


@pytest.fixture
def filled(open_store, tmp_path):
    """Return a store with twelve texts in two prompts and three images of the fake encoder."""
    store = open_store("filled")
    space = store.space("fake")
    space.ensure_texts(TEXTS, PROMPT)
    space.ensure_texts(TEXTS[:4])
    drawn.draw(tmp_path / "images", 3)
    space.ensure_images([Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())])
    return store


def _vectors(store):
    space = store.custom_space(Watched(), "fake")
    with store.catalogue.read() as tx:
        ids = sorted(id_ for id_ in _image_ids(tx))
    texts = [space.gather_texts(space.text_keys(TEXTS, PROMPT)), space.gather_texts(space.text_keys(TEXTS[:4]))]
    return np.concatenate([*texts, space.gather_images(np.array(ids, np.int64))])


def _image_ids(tx):
    from clipstore.storage.catalogue import references

    return references.all_images(tx).tolist()


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_what_goes_out_comes_in_bit_for_bit(filled, open_store, tmp_path, kind):
    """Vectors, raw texts, prompts and image rows come into another store; its encoder has nothing to do."""
    written = moving.export(filled, tmp_path / "out", kind)
    assert [(path.suffix, rows) for path, rows in written] == [(f".{kind}", 3), (f".{kind}", 16)]
    other = open_store("other")
    taken = moving.take_in(other, tmp_path / "out")
    assert (taken.vectors, taken.known, taken.unusable) == (19, 0, 0)
    assert np.array_equal(_vectors(other), _vectors(filled))
    assert other.counts() == Counts(3, 12, 0, 1)
    assert other.models() == filled.models()
    watched = Watched()
    other.custom_space(watched, "fake").ensure_texts(TEXTS, PROMPT)
    assert watched.texts == []
    assert moving.take_in(other, tmp_path / "out").known == 19


def test_parquet_says_what_each_vector_is_of(filled, tmp_path):
    """The columns are those of the documentation; a text's id is that of the string that the encoder gets."""
    moving.export(filled, tmp_path / "out")
    (text,) = (tmp_path / "out").glob("*-text.parquet")
    rows = pq.read_table(text).to_pylist()
    assert list(rows[0]) == ["id", "kind", "prefix", "text", "vector", "fingerprint"]
    one = next(row for row in rows if row["text"] == TEXTS[0] and row["prefix"] == PROMPT)
    assert one["id"] == keys.to_hex(keys.text_id(f"{PROMPT}{TEXTS[0]}".lower()))
    (image,) = (tmp_path / "out").glob("*-image.parquet")
    row = pq.read_table(image).to_pylist()[0]
    assert row["id"] == keys.to_hex(keys.from_sha256(bytes.fromhex(row["sha256"])))
    assert (row["mode"], row["width"], row["height"]) == ("RGB", 12, 10)


def _rewrite(path: Path, change) -> None:
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows[0].update(text="another"), "is not that of"),
        (lambda rows: rows[0].update(fingerprint="0" * 16), "another encoder"),
        (lambda rows: rows[0].update(id="zz"), "not an id"),
    ],
)
def test_a_changed_export_is_refused(filled, open_store, tmp_path, change, words):
    """A vector under a text that it is not of, another fingerprint or no id: refused, nothing comes in."""
    moving.export(filled, tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*-text.parquet")
    _rewrite(path, change)
    other = open_store("other")
    with pytest.raises(BadFormat, match=words):
        moving.take_in(other, path)
    with other.catalogue.read() as tx:
        assert segments.all(tx) == []


def test_a_vector_that_is_not_of_unit_norm_is_refused(filled, open_store, tmp_path):
    """Numbers that no encoder of ours gives do not come in."""
    moving.export(filled, tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*-text.parquet")
    _rewrite(path, lambda rows: rows[0].update(vector=[2.0] * 64))
    with pytest.raises(InputError, match="unit norm"):
        moving.take_in(open_store("other"), path)


def test_fields_that_do_not_make_the_fingerprint_are_refused(filled, open_store, tmp_path):
    """An encoder's description is believed only where its fingerprint follows from it."""
    moving.export(filled, tmp_path / "out", "npy")
    for path in (tmp_path / "out").glob("*.space.json"):
        records = json.loads(path.read_text())
        records[0][2]["kind"] = "other"
        path.write_text(json.dumps(records))
    with pytest.raises(BadFormat, match="not that of the encoder"):
        moving.take_in(open_store("other"), tmp_path / "out")


def test_arrays_of_another_length_than_their_keys_are_refused(filled, open_store, tmp_path):
    """A list of keys that lost its end is noticed."""
    moving.export(filled, tmp_path / "out", "npy")
    (path,) = (tmp_path / "out").glob("*-text.keys.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))
    with pytest.raises(BadFormat, match="cut off"):
        moving.take_in(open_store("other"), tmp_path / "out")


def _shorten(rows):
    for row in rows:
        short = np.array(row["vector"][:32], np.float32)
        row["vector"] = (short / np.linalg.norm(short)).tolist()


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_vectors_of_another_length_than_their_encoder_are_refused(filled, open_store, tmp_path, kind):
    """Unit vectors that are shorter than the encoder's never come in."""
    moving.export(filled, tmp_path / "out", kind)
    (path,) = (tmp_path / "out").glob(f"*-text.{kind}")
    if kind == "npy":
        short = np.load(path)[:, :32]
        np.save(path, short / np.linalg.norm(short, axis=1, keepdims=True))
    else:
        table = pq.read_table(path)
        rows = table.to_pylist()
        _shorten(rows)
        place = table.schema.get_field_index("vector")
        schema = table.schema.set(place, pa.field("vector", pa.list_(pa.float32(), 32)))
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    other = open_store("other")
    with pytest.raises(BadFormat, match="its vectors have 32 numbers, those of its encoder 64: export again"):
        moving.take_in(other, path)
    with other.catalogue.read() as tx:
        assert segments.all(tx) == []


def _save(path, array, cut=0):
    np.save(path, array, allow_pickle=True)
    if cut:
        path.write_bytes(path.read_bytes()[:-cut])
    return path


@pytest.mark.parametrize(
    ("array", "cut"),
    [
        (np.array([{"a": 1}], dtype=object), 0),
        (np.ones((3, 4), np.float32), 1),
        (np.ones(5, np.float32), 0),
        (np.ones((3, 4), np.int64), 0),
        (np.asfortranarray(np.ones((3, 4), np.float32)), 0),
    ],
)
def test_foreign_arrays_are_looked_at_before_they_are_mapped(tmp_path, array, cut):
    """Pickles, files that are cut off, other shapes and number formats are refused by their header and size."""
    with pytest.raises(BadFormat):
        arrays.mapped(_save(tmp_path / "a.npy", array, cut))


def test_a_file_that_is_no_array_is_refused(tmp_path):
    """Text under the name of an array."""
    (tmp_path / "a.npy").write_text("no array")
    with pytest.raises(BadFormat, match=r"no \.npy"):
        arrays.mapped(tmp_path / "a.npy")


@pytest.fixture
def retrieval(tmp_path):
    """Return a folder as clip-retrieval writes it, with three images of which one is not there, and three captions."""
    folder = tmp_path / "retrieval"
    for name in ("img_emb", "text_emb", "metadata"):
        (folder / name).mkdir(parents=True)
    drawn.draw(tmp_path / "pictures", 2)
    vectors = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float16)
    np.save(folder / "img_emb" / "img_emb_0.npy", vectors)
    np.save(folder / "text_emb" / "text_emb_0.npy", vectors[::-1])
    paths = [f"/data/set/{drawn.name(number)}.png" for number in range(3)]
    metadata = pa.table({"image_path": paths, "caption": ["one", "two", "three"], "url": ["u", "v", "w"]})
    pq.write_table(metadata, folder / "metadata" / "metadata_0.parquet")
    return folder, vectors


def test_clip_retrieval_comes_in_as_foreign(retrieval, store, tmp_path):
    """Embeddings go under a declared encoder into a space of their own; an image that is not there is counted."""
    folder, vectors = retrieval
    taken = moving.take_in(store, folder, declared="ViT-B-32/laion", images=tmp_path / "pictures")
    assert (taken.vectors, taken.unusable) == (5, 1)
    (model,) = store.models()
    assert (model.model, model.images, model.texts) == ("foreign:ViT-B-32/laion", 2, 3)
    with store.catalogue.read() as tx:
        (space,) = spaces.all(tx)
        assert (space.fields["kind"], space.fields["declared"]) == ("foreign", "ViT-B-32/laion")
        assert contents.text_count(tx) == 3
    held = store.space("foreign:ViT-B-32/laion")
    unit = vectors.astype(np.float32) / np.linalg.norm(vectors.astype(np.float32), axis=1, keepdims=True)
    assert np.allclose(held.gather_texts(held.text_keys(["three", "one"])), unit[[0, 2]], atol=1e-6)
    image = keys.image_id((tmp_path / "pictures" / f"{drawn.name(1)}.png").read_bytes())
    assert np.allclose(held.gather_images(np.array([image])), unit[1:2], atol=1e-6)


def test_clip_retrieval_must_be_declared(retrieval, store):
    """Which encoder made them is nowhere in the folder, so the user says it."""
    with pytest.raises(InputError, match="--as"):
        moving.take_in(store, retrieval[0])


def test_clip_retrieval_whose_parts_do_not_fit_is_refused(retrieval, store):
    """An array with more rows than its metadata, or without any, does not belong to it."""
    folder, vectors = retrieval
    np.save(folder / "text_emb" / "text_emb_0.npy", np.concatenate([vectors, vectors]))
    with pytest.raises(BadFormat, match="belong together"):
        moving.take_in(store, folder, declared="x")
    np.save(folder / "img_emb" / "img_emb_7.npy", vectors)
    with pytest.raises(BadFormat, match="metadata_7"):
        moving.take_in(store, folder, declared="x")


def test_an_empty_store_has_nothing_to_export(store, tmp_path):
    """The error says so, and no folder is made."""
    with pytest.raises(InputError, match="nothing to export"):
        moving.export(store, tmp_path / "out")
    with pytest.raises(BadFormat, match="holds no"):
        moving.take_in(store, tmp_path)


def test_a_full_copy_is_a_store(filled, tmp_path):
    """The copy opens, has the same vectors and rows, links its segments, and lives on without the original."""
    filled.custom_space(Watched(), "fake").ensure_texts(["kept"])
    copied = moving.export_full(filled, tmp_path / "copy")
    assert copied.linked == copied.segments > 0
    with Store.open(tmp_path / "copy") as copy:
        assert np.array_equal(_vectors(copy), _vectors(filled))
        assert (copy.counts(), copy.models()) == (filled.counts(), filled.models())
        assert drawn.damage(copy) == []
        copy.custom_space(Watched(), "fake").ensure_texts(["only in the copy"])
        assert copy.counts().texts == filled.counts().texts + 1
    with pytest.raises(InputError, match="not empty"):
        moving.export_full(filled, tmp_path / "copy")


def test_a_full_copy_without_links_shares_nothing(filled, tmp_path):
    """With ``link`` off, bytes are copied: damage to one store is none to the other."""
    assert moving.export_full(filled, tmp_path / "copy", link=False).linked == 0
    mine = next(filled.folder.rglob("*.faiss"))
    assert not mine.samefile(tmp_path / "copy" / mine.relative_to(filled.folder))


def test_a_full_copy_is_sound_while_a_writer_works(filled, tmp_path):
    """Copies taken while another thread adds and compacts are whole each time."""
    import threading

    stop = threading.Event()

    def add() -> None:
        space = filled.custom_space(Watched(), "fake")
        number = 0
        while not stop.is_set():
            space.ensure_texts([f"added {number}"])
            number += 1

    writer = threading.Thread(target=add)
    writer.start()
    try:
        for number in range(4):
            moving.export_full(filled, tmp_path / f"copy{number}")
    finally:
        stop.set()
        writer.join()
    for number in range(4):
        with Store.open(tmp_path / f"copy{number}") as copy:
            assert drawn.damage(copy) == []
            with copy.catalogue.read() as tx:
                rows = sum(row.rows for row in segments.all(tx, modality="text"))
            assert rows == copy.counts().texts + 4


def test_a_full_copy_of_either_catalogue_is_a_store_of_its_own(catalogue, tmp_path):
    """A store whose rows are on a server is copied into one that needs none, row for row."""
    commit(catalogue, np.arange(5), unit_vectors(5))
    with catalogue.write() as tx:
        contents.add_texts(tx, keys.text_ids(TEXTS), TEXTS)
        contents.add_images(tx, [ImageRow(keys.from_sha256(bytes(32)), bytes(32), 1, "L", 1, 1, ("odd",))])
        sets.add(tx, "set", [ItemRow(7, 0, (TEXTS[0],), {"a": "b"})], "d", {})
        sets.add_system(tx, "set", "system", "x", [CandidateRow(7, 0, TEXTS[1], -1.0, "sum")], {})
        runs.add(tx, RunRow("r", "score", {}, {}, np.array([1]), np.array([0]), 2.0))
    full.export(catalogue, tmp_path / "copy")
    copy = Catalogue.open(tmp_path / "copy", create=False)
    with catalogue.read() as mine, copy.read() as theirs:
        assert segments.all(mine) == segments.all(theirs)
        assert sets.get(mine, "set") == sets.get(theirs, "set")
        assert sets.candidates(mine, "set", "system") == sets.candidates(theirs, "set", "system")
        assert contents.images(theirs, [0]) == contents.images(mine, [0])
        assert runs.get(theirs, "r").used_texts.tolist() == [1]
    assert check(copy.folder, copy) == check(catalogue.folder, catalogue)
    copy.close()


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_an_export_of_an_overlay_holds_what_its_base_holds(filled, open_store, tmp_path, kind):
    """Every vector once, with what it is of, whichever store knows it; also where all of it is the base's."""
    other = open_store("other")
    with found(tmp_path / "above", bases=[filled.folder]) as above:
        assert [rows for _, rows in moving.export(above, tmp_path / "below", kind)] == [3, 16]
        above.space("fake").ensure_texts(["own", TEXTS[0]], "another prompt ")
        above.space("fake").ensure_texts(TEXTS, PROMPT)
        assert [rows for _, rows in moving.export(above, tmp_path / "out", kind)] == [3, 18]
        taken = moving.take_in(other, tmp_path / "out")
        assert (taken.vectors, taken.known, taken.unusable) == (21, 0, 0)
        assert np.array_equal(_vectors(other), _vectors(filled))
        assert other.counts() == Counts(3, 13, 0, 1)
    watched = Watched()
    other.custom_space(watched, "fake").ensure_texts(["own", TEXTS[0]], "another prompt ")
    assert watched.texts == []
