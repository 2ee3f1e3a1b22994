"""``clipstore add``, and scoring what it saved."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import drawn
import pytest
from odd_captions import ODD

from clipstore import EvalSet, Store
from clipstore.evalset import load_systems

N = 5
Run = Callable[..., object]


@pytest.fixture
def saved(run: Run, given: list[str]) -> None:
    """The set ``mine`` with systems step-1, step-2 and base."""
    done = run("add", "-t", "mine", *given, "step-1=a.json", "step-2=b.json", "base=b.json", "-q")
    assert done.code == 0


def test_add_saves_and_encodes(run: Run, given: list[str]) -> None:
    """The set and its systems are named with their sizes, everything is encoded, stdout stays empty."""
    done = run("add", "-t", "mine", *given, "a.json")
    assert done.code == 0
    assert done.out == ""
    assert "eval set mine: added (5 images)" in done.err
    assert "a: added (5 captions)" in done.err
    assert "5 images: 5 encoded" in done.err
    again = run("score", "-t", "mine", "--no-encode")
    assert again.code == 0
    assert again.rows[1][:2] == ["a", "5"]


def test_the_same_twice_does_nothing(run: Run, saved: None, given: list[str]) -> None:
    """An hourly add of the same captions does nothing; neither images nor references need be given again."""
    for words in (given, []):
        done = run("add", "-t", "mine", *words, "step-1=a.json")
        assert done.code == 0
        assert "step-1: unchanged (5 captions)" in done.err
        assert "eval set mine: unchanged (5 images)" in done.err
        assert "0 encoded" in done.err


def test_changed_captions_are_refused_then_accepted(run: Run, saved: None, desk: Path) -> None:
    """Other captions under a name: exit 2 and nothing changes; with --replace they count."""
    before = run("score", "-t", "mine", "step-1").out
    drawn.write_json(desk / "a.json", drawn.captions(N, "changed"))
    done = run("add", "-t", "mine", "step-1=a.json")
    assert done.code == 2
    assert "system 'step-1' is saved in 'mine' with other captions" in done.err
    assert "--replace" in done.err
    assert run("score", "-t", "mine", "step-1").out == before
    replaced = run("add", "-t", "mine", "step-1=a.json", "--replace")
    assert replaced.code == 0
    assert "step-1: replaced" in replaced.err
    assert run("score", "-t", "mine", "step-1").out != before


def test_changed_references_are_refused_then_accepted(run: Run, saved: None, given: list[str], desk: Path) -> None:
    """Other references under a set's name: exit 2; with --replace the set changes and keeps its systems."""
    drawn.write_json(desk / "refs.json", {**drawn.references(N), drawn.name(0): ["new"]})
    done = run("add", "-t", "mine", *given)
    assert done.code == 2
    assert "eval set 'mine' is saved with other images or references" in done.err
    assert run("add", "-t", "mine", *given, "--replace").code == 0
    assert "refs:1-2" in run("score", "-t", "mine", "base").out


def test_saved_systems_need_no_file(run: Run, saved: None, desk: Path) -> None:
    """``score -t`` gives the same numbers when images, references and captions are gone."""
    direct = run("score", "step-1=a.json", "step-2=b.json", "base=b.json", "--images", "images", "--refs", "refs.json")
    shutil.rmtree(desk / "images")
    for name in ("a.json", "b.json", "refs.json"):
        (desk / name).unlink()
    done = run("score", "-t", "mine")
    assert done.code == 0
    assert done.out == direct.out
    assert run("score", "-t", "mine", "--json").json["eval_set"]["name"] == "mine"


def test_globs_choose_systems(run: Run, saved: None) -> None:
    """``'step-*'`` scores those, in the order of adding; an unknown name lists what there is, exit 2."""
    done = run("score", "-t", "mine", "step-*")
    assert [row[0] for row in done.rows[1:3]] == ["step-1", "step-2"]
    assert len(done.rows) == 5
    unknown = run("score", "-t", "mine", "stop-*")
    assert unknown.code == 2
    assert "there is: step-1, step-2, base" in unknown.err


def test_an_unknown_set_lists_those_there_are(run: Run, saved: None) -> None:
    """Exit 2 with the names; with no set at all, how to make one."""
    done = run("score", "-t", "yours")
    assert done.code == 2
    assert "there is: mine" in done.err
    listed = run("ls", "systems", "-t", "yours")
    assert listed.code == 2
    assert "mine" in listed.err


def test_a_file_is_scored_beside_saved_systems(run: Run, saved: None, desk: Path) -> None:
    """A file given with -t is met with the saved set; a name that a saved system has is refused."""
    drawn.write_json(desk / "c.json", drawn.captions(N, "by c"))
    done = run("score", "-t", "mine", "base", "c=c.json")
    assert done.code == 0
    assert [row[0] for row in done.rows[1:3]] == ["base", "c"]
    clash = run("score", "-t", "mine", "base", "base=c.json")
    assert clash.code == 2
    assert "'base'" in clash.err


def test_a_saved_name_is_not_mistaken_for_a_folder(run: Run, saved: None, desk: Path) -> None:
    """A folder called like a saved system does not stand in its way."""
    (desk / "base").mkdir()
    done = run("score", "-t", "mine", "base")
    assert done.code == 0
    assert done.rows[1][0] == "base"


def test_options_that_a_saved_set_would_ignore_are_refused(run: Run, saved: None, desk: Path) -> None:
    """References given beside -t would change the score: they are refused, never silently left alone."""
    drawn.write_json(desk / "other.json", {key: ["quite other words"] for key in drawn.references(N)})
    done = run("score", "-t", "mine", "base", "--refs", "other.json")
    assert done.code == 2
    assert "--refs" in done.err


@pytest.mark.parametrize("name", ["captions", "output", "predictions", "results"])
def test_a_name_that_says_nothing_is_refused_until_one_is_given(
    run: Run, given: list[str], desk: Path, name: str
) -> None:
    """A file called results.json needs NAME=; with NAME= any word will do."""
    drawn.write_json(desk / f"{name}.json", drawn.captions(N))
    done = run("add", "-t", "mine", *given, f"{name}.json")
    assert done.code == 2
    assert f"NAME={name}.json" in done.err
    assert run("add", "-t", "mine", *given, f"blip={name}.json").code == 0
    assert run("add", "-t", "mine", *given, f"{name}=a.json").code == 0


def test_a_refused_add_saves_nothing(run: Run, given: list[str], desk: Path) -> None:
    """All or nothing: a broken file, a system that does not cover the set, or a bad model leaves no set."""
    (desk / "bad.json").write_text("{")
    assert run("add", "-t", "mine", *given, "a.json", "bad.json").code == 2
    drawn.write_json(desk / "short.json", drawn.captions(N - 1))
    assert run("add", "-t", "mine", *given, "a.json", "short.json").code == 1
    assert run("ls", "sets").rows[1:] == []


def test_a_model_that_does_not_exist_saves_nothing(run: Run, given: list[str]) -> None:
    """Exit code 2 means that nothing was done: the set is not saved either."""
    assert run("add", "-t", "mine", *given, "a.json", "--model", "fake:x").code == 2
    assert run("ls", "sets").rows[1:] == []


def test_add_may_leave_the_encoding_to_score(run: Run, given: list[str]) -> None:
    """--no-encode saves without encoding; score does it later."""
    done = run("add", "-t", "mine", *given, "a.json", "--no-encode")
    assert done.code == 0
    assert run("ls", "models").rows[1:] == []
    assert "5 images: 5 encoded" in run("score", "-t", "mine").err


def test_a_corrupt_image_is_saved_and_named(run: Run, given: list[str], desk: Path) -> None:
    """The set is saved with its bytes; exit 1 names the image, and mending it calls for another set."""
    (desk / "images" / f"{drawn.name(1)}.png").write_bytes(b"\x89PNG\r\n\x1a\n no more")
    done = run("add", "-t", "mine", *given, "a.json")
    assert done.code == 1
    assert f"{drawn.name(1)}.png" in done.err
    assert run("score", "-t", "mine").code == 1
    assert run("score", "-t", "mine").rows[1][1] == "4/5"


def test_an_image_that_was_edited_since_is_named(run: Run, saved: None, desk: Path) -> None:
    """Another model needs the files again; one that now holds other bytes is an error, not a hole in silence."""
    drawn.picture(99).save(desk / "images" / f"{drawn.name(1)}.png")
    done = run("score", "-t", "mine", "base", "--model", "fake:32")
    assert done.code == 1
    assert f"{drawn.name(1)}.png" in done.err


def test_empty_captions_of_a_saved_system_are_refused_or_zero(run: Run, given: list[str], desk: Path) -> None:
    """--empty error holds for saved systems too: an early checkpoint's empty captions are not scored in silence."""
    drawn.write_json(desk / "early.json", {**drawn.captions(N), drawn.name(1): ""})
    run("add", "-t", "mine", *given, "early.json")
    done = run("score", "-t", "mine")
    assert done.code == 2
    assert "empty" in done.err
    zero = run("score", "-t", "mine", "--empty", "zero")
    assert zero.code == 0
    assert "|empty:zero|" in zero.out


def test_skip_saves_what_both_have(run: Run, given: list[str], desk: Path) -> None:
    """A system that lacks a caption is refused, or saved as it is with --missing skip; scoring it asks for the same word."""
    drawn.write_json(desk / "short.json", drawn.captions(N - 1))
    assert run("add", "-t", "mine", *given, "short.json").code == 1
    assert run("add", "-t", "mine", *given, "short.json", "--missing", "skip").code == 0
    refused = run("score", "-t", "mine")
    assert refused.code == 1
    assert f"1 of 5 images has no caption (first: {drawn.name(N - 1)})" in refused.err
    done = run("score", "-t", "mine", "--missing", "skip")
    assert done.rows[1][:2] == ["short", "4/5"]
    assert "|missing:skip|" in done.out


def test_captions_are_saved_as_they_came(run: Run, desk: Path) -> None:
    """Markup, quotes, emoji, newlines and 300 words are the same in the store."""
    refs = {drawn.name(i): [text] for i, text in enumerate(ODD)}
    drawn.write_json(desk / "odd_refs.json", refs)
    drawn.write_json(desk / "odd.json", dict(zip(refs, ODD, strict=True)))
    assert run("add", "-t", "odd", "--images", "images", "--refs", "odd_refs.json", "odd.json").code == 0
    with Store.open(".clipstore") as store:
        loaded = EvalSet.load(store, "odd")
        assert [item.references[0] for item in loaded.items] == ODD
        assert list(load_systems(store, loaded)[0].texts) == ODD


def test_a_set_without_references_is_the_captions_ids(run: Run) -> None:
    """Without references the images that the captions name are saved."""
    assert run("add", "-t", "mine", "--images", "images", "a.json").code == 0
    assert run("ls", "sets").rows[1][:3] == ["mine", "5", "1"]
    assert run("score", "-t", "mine").rows[0] == ["system", "n", "CLIP-S", "words", "cut"]


def test_add_needs_a_set_and_images(run: Run) -> None:
    """Without -t, or for a new set without images: exit 2 and the option to give."""
    assert "-t" in run("add", "a.json").err
    done = run("add", "-t", "new", "a.json")
    assert done.code == 2
    assert "--images" in done.err
