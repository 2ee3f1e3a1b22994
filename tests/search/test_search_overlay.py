"""Searching in a store that rests on others: what the bases hold is found too, and nothing is written there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clipstore import EvalSet, Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.search import Approximate, ImagePool, TextPool, retrieve, search
from clipstore.store import Space
from clipstore.store.founding import found

PREFIX = "A photo depicts "
BELOW, OWN = ["red dog", "blue cat"], "green bird"
LOOK_EVERYWHERE = Approximate("IVF2,Flat", nprobe=2)


@pytest.fixture
def base(store: Store, evalset: EvalSet) -> Store:
    """A base with two captions and four of the six images."""
    space = store.custom_space(FakeEncoder(), "fake")
    space.ensure_texts(BELOW, PREFIX)
    space.ensure_images(evalset.images()[:4])
    return store


@pytest.fixture
def above(base: Store, tmp_path: Path) -> Iterator[Space]:
    """The space of a store on the base, with nothing of its own yet."""
    with found(tmp_path / "above", bases=[base.folder]) as one:
        yield one.custom_space(FakeEncoder(), "fake")


def captions_found(space: Space, query: str, index: Approximate | None = None) -> list[object]:
    """Return what a search of all captions finds, the nearest first."""
    pool = TextPool.of_store(space, PREFIX)
    return [hit.found for hit in search(space, [query], pool, 10, index=index).hits[0]]


def test_captions_of_the_base_are_found(above: Space) -> None:
    """Beside the store's own, each once; also where all of them are the base's."""
    assert captions_found(above, "red dog")[0] == "red dog"
    assert sorted(map(str, captions_found(above, "red dog"))) == sorted(BELOW)
    above.ensure_texts([OWN, *BELOW], PREFIX)
    assert captions_found(above, "red dog")[0] == "red dog"
    assert sorted(map(str, captions_found(above, "red dog"))) == sorted([*BELOW, OWN])


def test_prompts_of_the_base_are_no_hits(base: Store, above: Space) -> None:
    """Texts that the base encoded without the prefix are kept out of the pool."""
    base.custom_space(FakeEncoder(), "fake").ensure_texts(["bare"], "")
    above.ensure_texts([OWN], PREFIX)
    assert not TextPool.of_store(above, PREFIX).whole
    assert "bare" not in captions_found(above, "bare")


def test_images_of_the_base_are_found_by_their_paths(above: Space, evalset: EvalSet) -> None:
    """With the path that the base remembers, beside the store's own images."""
    hits = search(above, ["red"], ImagePool.of_store(), 10).hits[0]
    assert {Path(str(hit.found)).stem for hit in hits} == set(evalset.keys[:4])
    above.ensure_images(evalset.images())
    hits = search(above, ["red"], ImagePool.of_store(), 10).hits[0]
    assert {Path(str(hit.found)).stem for hit in hits} == set(evalset.keys)


def test_captions_of_the_base_are_retrieved(above: Space, evalset: EvalSet) -> None:
    """As plain NumPy finds them over both stores."""
    above.ensure_texts([OWN], PREFIX)
    texts = [*BELOW, OWN]
    got = retrieve(above, evalset, TextPool.of_store(above, PREFIX)).captions
    images = above.gather_images(np.array(above.ensure_images(evalset.images()).ids))
    vectors = above.gather_texts(above.text_keys(texts, PREFIX))
    assert [got[key] for key in evalset.keys] == [texts[row] for row in (images @ vectors.T).argmax(axis=1)]


def test_an_index_of_one_store_does_not_hide_the_other(base: Store, above: Space) -> None:
    """The store's own is made; the base is searched exactly, and by its index where it has one."""
    above.ensure_texts([f"own {i}" for i in range(20)], PREFIX)
    before = sorted(base.folder.rglob("*"))
    everything = captions_found(above, "red dog")
    assert everything[0] == "red dog"
    assert captions_found(above, "red dog", LOOK_EVERYWHERE) == everything
    assert sorted(base.folder.rglob("*")) == before, "nothing is written to a base"
    below = base.custom_space(FakeEncoder(), "fake")
    captions_found(below, "red dog", LOOK_EVERYWHERE)
    assert list(base.folder.rglob("*.index"))
    assert captions_found(above, "red dog", LOOK_EVERYWHERE) == everything
    pool = TextPool.of_store(above, PREFIX)
    recall = search(above, ["red dog", "own 3"], pool, 3, index=LOOK_EVERYWHERE).recall
    assert recall == pytest.approx(1), "of the ten nearest in both"


def test_without_any_index_no_recall_is_told(above: Space) -> None:
    """All captions are the base's, which has no index: the search is exact and says so."""
    asked = search(above, ["red dog"], TextPool.of_store(above, PREFIX), 1, index=LOOK_EVERYWHERE)
    assert asked.hits[0][0].found == "red dog"
    assert asked.recall is None
