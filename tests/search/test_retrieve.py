"""``retrieve``: a retrieval baseline that can be scored."""

from __future__ import annotations

import sys
from pathlib import Path

import drawn
import numpy as np
import pytest

import clipstore as cs
from clipstore import EvalSet, Store
from clipstore.errors import InputError
from clipstore.evalset import load_systems, save
from clipstore.formats import read_captions
from clipstore.search import Approximate, TextPool, nearest, retrieve
from clipstore.storage import trained
from clipstore.store import Space

PREFIX = "A photo depicts "


def pool_of(space: Space) -> TextPool:
    """Return the references of the six images, each its image's own."""
    return TextPool.of_captions(space, PREFIX, [read_captions(drawn.references(6))])


def test_every_image_gets_its_nearest_caption(filled: Space, evalset: EvalSet) -> None:
    """As plain NumPy finds it; the result is a system that ``score`` takes."""
    found = retrieve(filled, evalset, pool_of(filled))
    texts = [text for one in drawn.references(6).values() for text in one]
    vectors = filled.gather_texts(filled.text_keys(texts, PREFIX))
    images = filled.gather_images(np.array(filled.ensure_images(evalset.images()).ids))
    wanted = [texts[row] for row in (images @ vectors.T).argmax(axis=1)]
    assert list(found.captions.values()) == wanted
    scores = cs.score(filled, {"retrieved": found.as_system()}, evalset)
    assert scores["retrieved"].n == 6


def test_an_images_own_captions_can_be_left_out(filled: Space, evalset: EvalSet) -> None:
    """References, and captions that the pool says are its own, by text: a spelling is no way around."""
    pool = TextPool.of_captions(
        filled,
        PREFIX,
        [
            read_captions(
                {key: [f"own of {key}", f"THE first words on picture {i}"] for i, key in enumerate(evalset.keys)}
            )
        ],
    )
    for match in retrieve(filled, evalset, pool, k=12, exclude_own=True).matches:
        number = int(match.key[-6:])
        assert match.caption not in {f"own of {match.key}", f"THE first words on picture {number}"}
    alone = TextPool.of_captions(filled, PREFIX, [read_captions({evalset.keys[0]: "only mine"})])
    found = retrieve(filled, evalset, alone, exclude_own=True)
    assert found.empty == (evalset.keys[0],)
    assert len(found.captions) == 5


def test_a_folder_alone_is_a_set(filled: Space, evalset: EvalSet, tmp_path: Path) -> None:
    """All of its images; nothing at all is refused."""
    alone = retrieve(filled, EvalSet.read(images=tmp_path / "images"), pool_of(filled))
    assert alone.captions == retrieve(filled, evalset, pool_of(filled)).captions
    with pytest.raises(InputError, match="which images"):
        retrieve(filled, EvalSet.read(), pool_of(filled))


def test_several_captions_an_image(filled: Space, evalset: EvalSet) -> None:
    """The nearest first; as a system it is an n-best list."""
    found = retrieve(filled, evalset, pool_of(filled), k=3)
    assert len(found.matches) == 18
    assert found.as_system().is_nbest
    assert [match.rank for match in found.matches[:3]] == [0, 1, 2]
    assert found.matches[0].score >= found.matches[1].score >= found.matches[2].score


def test_an_index_is_opened_once_and_its_recall_is_of_the_pool(
    filled: Space, evalset: EvalSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of batches; recall is measured once, within the pool, of which the store holds more."""
    opened, asked = [], []
    make, measure = trained.open_or_make, nearest.recall
    monkeypatch.setattr(trained, "open_or_make", lambda *given: opened.append(given) or make(*given))
    monkeypatch.setattr(nearest, "recall", lambda *given: asked.append(given) or measure(*given))
    monkeypatch.setattr(sys.modules["clipstore.search.retrieve"], "_BATCH", 2)
    filled.ensure_texts([f"elsewhere {i}" for i in range(40)], PREFIX)
    pool = pool_of(filled)
    found = retrieve(filled, evalset, pool, index=Approximate("IVF2,Flat", 2))
    assert (len(opened), len(asked)) == (1, 1)
    assert len(asked[0][1].ids) == 6, "all images, not the first batch"
    assert found.recall == pytest.approx(1), "of the ten nearest in the pool all are found"
    assert found.captions == retrieve(filled, evalset, pool).captions


def test_it_is_kept_as_a_system(store: Store, filled: Space, evalset: EvalSet) -> None:
    """With its origin."""
    save(store, "six", evalset, {}, store.identify(evalset.images()).ids)
    loaded = EvalSet.load(store, "six")
    found = retrieve(filled, loaded, pool_of(filled), index=Approximate("IVF2,Flat", 2))
    assert found.recall == pytest.approx(1)
    save(store, "six", loaded, {"near": found.as_system()}, origins={"near": found.origin})
    assert load_systems(store, loaded, ["near"])[0].texts == tuple(found.captions.values())
