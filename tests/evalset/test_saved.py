"""Eval sets and systems under their names in a store."""

from __future__ import annotations

from pathlib import Path

import drawn
import pytest

from clipstore import EvalSet, Store
from clipstore.errors import InputError, NotStored, Unpaired
from clipstore.evalset import load_systems, save, systems_in
from clipstore.formats import read_captions
from clipstore.storage.catalogue import sets

N = 4


@pytest.fixture
def evalset(tmp_path: Path) -> EvalSet:
    """Four drawn images with references."""
    return EvalSet.read(images=drawn.draw(tmp_path / "images", N + 2), refs=drawn.references(N))


def keep(store: Store, evalset: EvalSet, replace: bool = False, **named: object) -> dict[str, str]:
    """Save the set as ``mine`` with systems."""
    read = {name: read_captions(given) for name, given in named.items()}
    ids = store.identify(evalset.images()).ids
    return save(store, "mine", evalset, read, ids, replace=replace)


def test_a_saved_set_comes_back_as_it_was(store: Store) -> None:
    """Ids of both kinds, references in order, and tags are there again."""
    images = {7: drawn.picture(1), "7b": drawn.picture(2)}
    evalset = EvalSet.read(images=images, refs={7: ["b", "a"], "7b": []})
    keep(store, evalset)
    loaded = EvalSet.load(store, "mine")
    assert loaded.keys == (7, "7b")
    assert [item.references for item in loaded.items] == [("b", "a"), ()]
    assert [item.image_id for item in loaded.items] == list(store.identify(evalset.images()).ids)
    assert loaded.name == "mine"


def test_the_same_again_does_nothing(store: Store, evalset: EvalSet) -> None:
    """Saving the same set and captions twice changes no row: the catalogue is not even written."""
    ids = store.identify(evalset.images()).ids
    first = {"a": read_captions(drawn.captions(N))}
    assert save(store, "mine", evalset, first, ids) == {"": "added", "a": "added"}
    version = store.catalogue.version()
    shuffled = {"a": read_captions(dict(reversed(drawn.captions(N).items())))}
    assert save(store, "mine", evalset, shuffled, ids) == {"": "unchanged", "a": "unchanged"}
    assert store.catalogue.version() == version


def test_other_captions_under_a_name_are_refused_then_replace(store: Store, evalset: EvalSet) -> None:
    """Both hashes and the remedy are in the message; with replace the new ones count and the old ones are kept."""
    keep(store, evalset, a=drawn.captions(N))
    old = systems_in(store, "mine")[0].digest
    with pytest.raises(InputError, match=rf"system 'a'.*other captions \({old[:8]}.*--replace"):
        keep(store, evalset, a=drawn.captions(N, "changed"), b=drawn.captions(N))
    assert [row.name for row in systems_in(store, "mine")] == ["a"]
    assert keep(store, evalset, replace=True, a=drawn.captions(N, "changed"))["a"] == "replaced"
    (system,) = load_systems(store, EvalSet.load(store, "mine"))
    assert system.texts[0] == f"changed picture {0}"
    with store.catalogue.read() as tx:
        kept = sets.candidates(tx, "mine", "a", digest=old)
    assert [one.text for one in kept] == list(drawn.captions(N).values())


def test_other_references_under_a_name_are_refused_then_replace(store: Store, evalset: EvalSet, tmp_path: Path) -> None:
    """A set that is saved with other references is refused; replacing keeps its systems."""
    keep(store, evalset, a=drawn.captions(N))
    refs = {**drawn.references(N), drawn.name(0): ["something new"]}
    changed = EvalSet.read(images=tmp_path / "images", refs=refs)
    with pytest.raises(InputError, match=r"eval set 'mine' is saved with other images or references.*--replace"):
        keep(store, changed)
    assert EvalSet.load(store, "mine").items[0].references != ("something new",)
    assert keep(store, changed, replace=True) == {"": "replaced"}
    loaded = EvalSet.load(store, "mine")
    assert loaded.items[0].references == ("something new",)
    assert load_systems(store, loaded)[0].texts == tuple(drawn.captions(N).values())


def test_one_bad_system_saves_nothing(store: Store, evalset: EvalSet) -> None:
    """All or nothing: a system that does not cover the set leaves neither the set nor the good one."""
    with pytest.raises(Unpaired):
        keep(store, evalset, good=drawn.captions(N), short=drawn.captions(N - 1))
    assert store.sets() == []


def test_patterns_choose_systems_in_their_saved_order(store: Store, evalset: EvalSet) -> None:
    """Globs and names choose; each system once, in the order of adding; none given means all."""
    keep(store, evalset, **{name: drawn.captions(N, name) for name in ("step-2", "step-10", "base", "x[1]")})
    loaded = EvalSet.load(store, "mine")

    def names(*patterns: str) -> list[str]:
        return [system.name for system in load_systems(store, loaded, patterns)]

    assert names() == ["step-2", "step-10", "base", "x[1]"]
    assert names("step-*") == ["step-2", "step-10"]
    assert names("base", "step-*", "step-10") == ["step-2", "step-10", "base"]
    assert names("x[1]") == ["x[1]"]


def test_an_unknown_system_lists_those_there_are(store: Store, evalset: EvalSet) -> None:
    """The message names the pattern and every saved system."""
    keep(store, evalset, a=drawn.captions(N), b=drawn.captions(N))
    with pytest.raises(NotStored, match=r"'mine' has no system 'step-\*'; there is: a, b"):
        load_systems(store, EvalSet.load(store, "mine"), ["step-*"])


def test_n_best_may_be_saved_but_not_scored_as_one(store: Store, evalset: EvalSet) -> None:
    """Beams are kept with ranks and scores; loading them as a system of single captions is refused."""
    beams = [
        {"image_id": drawn.name(i), "caption": f"beam {rank} of {i}", "score": -float(rank)}
        for i in range(N)
        for rank in range(2)
    ]
    keep(store, evalset, beams=beams)
    with store.catalogue.read() as tx:
        kept = sets.candidates(tx, "mine", "beams")
    assert [(one.rank, one.text, one.score) for one in kept[:2]] == [(0, "beam 0 of 0", 0.0), (1, "beam 1 of 0", -1.0)]
    with pytest.raises(InputError, match=r"'beams' of 'mine' has several captions an image.*rerank beams -t mine"):
        load_systems(store, EvalSet.load(store, "mine"))
    (first,) = load_systems(store, EvalSet.load(store, "mine"), first=True)
    assert first.texts == tuple(f"beam 0 of {i}" for i in range(N))
    assert first.warnings == ("the first of several captions was taken for 4 images",)


def test_captions_meet_a_loaded_set_by_file_name(store: Store, evalset: EvalSet) -> None:
    """A saved set still knows its files' names: a later system may use numbers or file names as ids."""
    keep(store, evalset)
    loaded = EvalSet.load(store, "mine")
    by_file = {f"{drawn.name(i)}.png": f"by file {i}" for i in range(N)}
    by_number = [{"image_id": i, "caption": f"by number {i}"} for i in range(N)]
    read = {"file": read_captions(by_file), "number": read_captions(by_number)}
    assert save(store, "mine", loaded, read) == {"": "unchanged", "file": "added", "number": "added"}
    assert [system.texts[3] for system in load_systems(store, loaded)] == ["by file 3", "by number 3"]


def test_captions_are_kept_as_they_came(store: Store, evalset: EvalSet) -> None:
    """Markup, quotes, emoji, newlines and 300 words are the same after a round trip."""
    odd = [
        "[red]x[/red] </b> \"q\" 'q'",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 and \u00e9 e\u0301",
        "two\nlines\tand a tab ",
        "word " * 300,
    ]
    keep(store, evalset, odd=dict(zip(evalset.keys, odd, strict=True)))
    assert list(load_systems(store, EvalSet.load(store, "mine"))[0].texts) == odd
