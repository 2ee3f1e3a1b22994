"""``search``: nearest captions and images, out of each kind of pool."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import drawn
import numpy as np
import pytest

from clipstore import EvalSet, Store
from clipstore.errors import InputError, NotStored
from clipstore.evalset import save
from clipstore.formats import read_captions
from clipstore.search import Approximate, ImagePool, TextPool, search
from clipstore.search.nearest import Nearest
from clipstore.storage.compact import compact
from clipstore.storage.lookup import Shelf
from clipstore.storage.segments import Gone
from clipstore.store import Space
from clipstore.store.audit import audit

PREFIX = "A photo depicts "


def nearest_texts(space: Space, vector: np.ndarray, texts: list[str], k: int) -> list[str]:
    """Return the k nearest texts by plain NumPy."""
    cosines = space.gather_texts(space.text_keys(texts, PREFIX)) @ vector
    return [texts[row] for row in np.argsort(-cosines, kind="stable")[:k]]


def all_texts() -> list[str]:
    """Return every caption of the filled store."""
    return [*drawn.captions(6).values(), *(text for texts in drawn.references(6).values() for text in texts)]


def test_captions_for_an_image(filled: Space, evalset: EvalSet) -> None:
    """The nearest of all texts in the store, with cosines, as plain NumPy finds them."""
    image = evalset.images()[2]
    vector = filled.gather_images(np.array(filled.ensure_images([image]).ids))[0]
    found = search(filled, [image], TextPool.of_store(filled, PREFIX), 4)
    assert [hit.found for hit in found.hits[0]] == nearest_texts(filled, vector, all_texts(), 4)
    scores = [hit.score for hit in found.hits[0]]
    assert scores == sorted(scores, reverse=True)
    assert found.recall is None
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found).splitlines()[0].split() == ["#", "cosine", "found"]


def test_captions_near_a_caption(filled: Space, encoder: drawn.Watched) -> None:
    """A stored caption is its own nearest; a new one is encoded, and nothing else."""
    known = drawn.captions(6)[drawn.name(3)]
    encoder.texts.clear()
    pool = TextPool.of_store(filled, PREFIX)
    found = search(filled, [known, "something new"], pool, 2)
    assert found.hits[0][0].found == known
    assert found.hits[0][0].score == pytest.approx(1, abs=1e-5)
    assert encoder.texts == ["a photo depicts something new"]
    assert len(TextPool.of_store(filled, PREFIX)) == len(pool), "a query is not kept"
    with pytest.raises(NotStored):
        search(filled, ["never seen"], pool, encode=False)


def test_images_for_a_text(store: Store, filled: Space, evalset: EvalSet) -> None:
    """Called by their path in the whole store, by the user's ids in a set."""
    anywhere = search(filled, ["a red thing"], ImagePool.of_store(), 6)
    assert {Path(str(hit.found)).stem for hit in anywhere.hits[0]} == set(evalset.keys)
    ids = store.identify(evalset.images()).ids
    in_set = search(filled, ["a red thing"], ImagePool.of_set(evalset, [*ids[:3], None, None, None]), 6)
    assert {hit.found for hit in in_set.hits[0]} == set(evalset.keys[:3])


def test_a_found_image_is_called_by_a_path_that_is_there(store: Store, filled: Space, tmp_path: Path) -> None:
    """Of two folders that held the images, one was taken away: hits are named by the other."""
    shutil.copytree(tmp_path / "images", tmp_path / "copies")
    store.identify(EvalSet.read(images=tmp_path / "copies", refs=drawn.references(6)).images())
    shutil.rmtree(tmp_path / "copies")
    found = search(filled, ["a red thing"], ImagePool.of_store(), 6)
    assert {Path(str(hit.found)).parent for hit in found.hits[0]} == {tmp_path / "images"}


def test_a_saved_set_is_a_pool(store: Store, filled: Space, evalset: EvalSet) -> None:
    """References and every system, or one system's captions alone."""
    ids = store.identify(evalset.images()).ids
    save(
        store, "six", evalset, {"a": read_captions(drawn.captions(6)), "b": read_captions(drawn.captions(6, "b"))}, ids
    )
    loaded = EvalSet.load(store, "six")
    assert len(TextPool.of_set(filled, PREFIX, loaded)) == 24
    one = TextPool.of_set(filled, PREFIX, loaded, ["b"])
    assert len(one) == 6
    found = search(filled, ["whatever"], one, 10)
    assert {hit.found for hit in found.hits[0]} == set(drawn.captions(6, "b").values())
    with pytest.raises(NotStored):
        TextPool.of_set(filled, PREFIX, loaded, ["c"])


def test_a_file_is_a_pool(filled: Space, encoder: drawn.Watched) -> None:
    """Its new captions are encoded; spellings that share a vector are one entry; empty ones none."""
    encoder.texts.clear()
    captions = read_captions({"x": ["a new one", "A  NEW one", ""], "y": [drawn.captions(6)[drawn.name(0)]]})
    pool = TextPool.of_captions(filled, PREFIX, [captions])
    assert sorted(pool.texts.values()) == sorted(["a new one", drawn.captions(6)[drawn.name(0)]])
    assert encoder.texts == ["a photo depicts a new one"]
    with pytest.raises(InputError, match="no captions"):
        TextPool.of_captions(filled, PREFIX, [read_captions({"x": ""})])


def test_other_prompts_of_the_store_are_no_hits(filled: Space) -> None:
    """Texts encoded without the prefix stand in the same segments and never come back."""
    filled.ensure_texts([f"bare {i}" for i in range(30)], "")
    pool = TextPool.of_store(filled, PREFIX)
    assert not pool.whole
    found = search(filled, ["bare 3"], pool, 50)
    assert {hit.found for hit in found.hits[0]} == set(all_texts())


def test_an_index_says_its_recall(filled: Space) -> None:
    """A trained index is asked for by its factory string; looking everywhere it finds all."""
    found = search(filled, ["a", "b"], TextPool.of_store(filled, PREFIX), 3, index=Approximate("IVF2,Flat", nprobe=2))
    exact = search(filled, ["a", "b"], TextPool.of_store(filled, PREFIX), 3)
    assert [[hit.found for hit in hits] for hits in found.hits] == [[hit.found for hit in hits] for hits in exact.hits]
    assert found.recall == pytest.approx(1)
    assert "recall@10" in str(found)


def test_recall_is_measured_in_what_is_searched(filled: Space) -> None:
    """With a filter the exact ten are the pool's ten: looking everywhere finds all of them."""
    filled.ensure_texts([f"number {i} of many others" for i in range(60)], PREFIX)
    some = TextPool.of_captions(filled, PREFIX, [read_captions(drawn.references(6))])
    found = search(filled, ["number 3 of many others"], some, 3, index=Approximate("IVF2,Flat", nprobe=2))
    assert found.recall == pytest.approx(1)
    assert {hit.found for hit in found.hits[0]} <= set(some.texts.values())


def test_what_cant_be_searched(space: Space, filled: Space, tmp_path: Path) -> None:
    """No query, no hits wanted, nothing stored, an unreadable image."""
    pool = TextPool.of_store(filled, PREFIX)
    for queries, k in (([], 3), (["a"], 0)):
        with pytest.raises(InputError, match="needs a query"):
            search(filled, queries, pool, k)
    for blank in ("", "  \n"):
        with pytest.raises(InputError, match="query 2 is an empty text"):
            search(filled, ["a dog", blank], pool)
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no image")
    with pytest.raises(InputError, match=r"bad\.png"):
        search(filled, [bad], pool)


def test_an_empty_store_says_so(space: Space) -> None:
    """With what to do."""
    with pytest.raises(InputError, match="add some first"):
        TextPool.of_store(space, PREFIX)
    with pytest.raises(InputError, match="add some first"):
        search(space, ["a"], ImagePool.of_store())


@pytest.mark.parametrize("index", [None, Approximate("IVF2,Flat", nprobe=2)])
def test_segments_that_were_compacted_meanwhile_are_read_anew(
    store: Store, filled: Space, index: Approximate | None
) -> None:
    """A search that goes on after its files are gone gives the same hits, from the new ones."""
    filled.ensure_texts([f"more words {i}" for i in range(20)], PREFIX)
    pool = TextPool.of_store(filled, PREFIX)
    finder = Nearest(filled, pool, index)
    vectors = filled.gather_texts(np.fromiter(pool.texts, np.int64)[:5])
    before = finder.search(vectors, 4)
    old = sorted((store.folder / "vectors").rglob("text/*.faiss"))
    compact(store.catalogue)
    for path in old:
        path.unlink()
    after = finder.search(vectors, 4)
    assert (after.ids == before.ids).all()
    assert after.scores == pytest.approx(before.scores, abs=1e-6)
    if index is not None:
        assert finder.recall(vectors) == pytest.approx(1)


def test_a_file_compacted_away_at_the_first_look_is_looked_for_again(
    filled: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making the pool, looking up the query and auditing: each begins anew where a segment is gone meanwhile."""
    known = drawn.captions(6)[drawn.name(3)]
    pool = TextPool.of_store(filled, PREFIX)
    looked = {
        "pool": lambda: len(TextPool.of_store(filled, PREFIX)),
        "query": lambda: search(filled, [known], pool, 1, encode=False).hits,
        "audit": lambda: audit(filled, sample=3).images,
    }
    contains, gone = Shelf.contains, []

    def once_gone(shelf: Shelf, ids: np.ndarray) -> np.ndarray:
        if not gone:
            gone.append(True)
            msg = "compacted away"
            raise Gone(msg)
        return contains(shelf, ids)

    for what, look in looked.items():
        before = look()
        gone.clear()
        with monkeypatch.context() as patched:
            patched.setattr(Shelf, "contains", once_gone)
            assert look() == before, what
        assert gone, what
