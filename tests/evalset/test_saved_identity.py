"""What a saved set's ids mean stays what it was when they were saved."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import drawn
import pytest

import clipstore as cs
from clipstore import EvalSet, Store
from clipstore.errors import InputError
from clipstore.evalset import load_systems, save, systems_in
from clipstore.formats import read_captions

N = 4


def kept(store: Store, evalset: EvalSet, name: str = "mine", **named: object) -> dict[str, str]:
    """Save a set and systems without leave to replace."""
    read = {system: read_captions(given) for system, given in named.items()}
    return save(store, name, evalset, read, store.identify(evalset.images()).ids)


def test_the_same_images_under_other_ids_are_another_set(store: Store, tmp_path: Path) -> None:
    """The hash of the set is the same, yet captions would meet other images: it is refused, nothing is stored."""
    folder = drawn.draw(tmp_path / "images", N)
    refs = {drawn.name(i): ["the same words"] for i in range(N)}
    kept(store, EvalSet.read(images=folder, refs=refs))
    turned = {drawn.name(i): drawn.picture((i + 1) % N) for i in range(N)}
    other = EvalSet.read(images=turned, refs=refs)
    ids = store.identify(other.images()).ids
    back = [store.identify([image]).ids[0] for image in EvalSet.read(images=folder, refs=refs).images()]
    swapped = replace(other, items=tuple(replace(item, image_id=None) for item in other.items))
    with pytest.raises(InputError, match="--replace"):
        save(store, "mine", swapped, {}, tuple(back[(i + 1) % N] for i in range(N)))
    assert len(ids) == N
    renamed = EvalSet.read(images=folder, refs={f"{key}.png": texts for key, texts in refs.items()})
    with pytest.raises(InputError, match=r"the same images under other ids.*--replace"):
        kept(store, renamed, a={f"{drawn.name(i)}.png": "words" for i in range(N)})
    assert systems_in(store, "mine") == []


def test_captions_meet_the_names_that_the_set_was_saved_with(store: Store, tmp_path: Path) -> None:
    """The same bytes seen later under permuted names in another folder change no pairing."""
    first = drawn.draw(tmp_path / "first", N)
    kept(store, EvalSet.read(images=first, refs={i: [f"words {i}"] for i in range(N)}))
    second = tmp_path / "second"
    second.mkdir()
    for i in range(N):
        os.link(first / f"{drawn.name(i)}.png", second / f"{drawn.name((i + 1) % N)}.png")
    space = store.space("fake")
    cs.score(space, {"x": drawn.captions(N)}, EvalSet.read(images=second))
    loaded = EvalSet.load(store, "mine")
    by_name = {f"{drawn.name(i)}.png": f"caption {i}" for i in range(N)}
    by_key = {i: f"caption {i}" for i in range(N)}
    assert (
        cs.score(space, {"a": by_name}, loaded)["a"].clip_s.to_dict()
        == cs.score(space, {"a": by_key}, loaded)["a"].clip_s.to_dict()
    )


def test_two_writers_of_one_name_do_not_both_win(store: Store, tmp_path: Path) -> None:
    """What is saved under a name is compared within the writing transaction: the second is refused."""
    evalset = EvalSet.read(images=drawn.draw(tmp_path / "images", N), refs=drawn.references(N))
    kept(store, evalset)
    loaded = EvalSet.load(store, "mine")
    gate, outcomes = threading.Barrier(2), []

    def add(words: str) -> None:
        captions = {"a": read_captions(drawn.captions(N, words))}
        gate.wait()
        try:
            outcomes.append(save(store, "mine", loaded, captions)["a"])
        except InputError:
            outcomes.append("refused")

    threads = [threading.Thread(target=add, args=(words,)) for words in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["added", "refused"]


def test_a_system_has_one_hash(store: Store, tmp_path: Path) -> None:
    """Ls and --json show the hash that add computed, log-probabilities included."""
    evalset = EvalSet.read(images=drawn.draw(tmp_path / "images", N), refs=drawn.references(N))
    rows = [{"image_id": drawn.name(i), "caption": f"words {i}", "score": -0.5} for i in range(N)]
    kept(store, evalset, a=rows)
    loaded = load_systems(store, EvalSet.load(store, "mine"))[0]
    assert loaded.digest == systems_in(store, "mine")[0].digest


def test_two_spellings_of_a_given_image_are_one_item(store: Store) -> None:
    """Images given by id: systems that write the id as number and as text share the set."""
    images = {i: drawn.picture(i) for i in range(N)}
    systems = {"a": {i: f"words {i}" for i in range(N)}, "b": {str(i): f"words {i}" for i in range(N)}}
    scores = cs.score(store.space("fake"), systems, EvalSet.read(images=images))
    assert [system.n for system in scores.systems] == [N, N]
    assert scores["a"].clip_s.mean == scores["b"].clip_s.mean


def test_a_set_partly_without_references_says_so(store: Store, tmp_path: Path) -> None:
    """RefCLIP-S leaves those images out, counts them in a warning, and its signature starts at refs:0."""
    refs = {**drawn.references(N), drawn.name(0): []}
    evalset = EvalSet.read(images=drawn.draw(tmp_path / "images", N), refs=refs)
    scores = cs.score(store.space("fake"), {"a": drawn.captions(N)}, evalset)
    assert scores["a"].ref_clip_s.n == N - 1
    assert "RefCLIP-S leaves out 1 of 4 images: they have no references" in scores.warnings
    assert "refs:0-2" in str(scores.signatures["ref-clip-s"])
