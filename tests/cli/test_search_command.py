"""``clipstore search`` and ``clipstore retrieve``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import drawn
import pytest

Run = Callable[..., object]
FAKE = ("--model", "fake")


@pytest.fixture
def five(run: Run, given: list[str]) -> str:
    """A saved set of five images with two systems."""
    assert run("add", "-t", "five", "a=a.json", "bee=b.json", *given).code == 0
    return "five"


def test_an_image_asks_for_captions_and_a_text_for_images(run: Run, five: str) -> None:
    """One row a hit, tab-separated; the kind of answer follows the kind of query."""
    image = f"images/{drawn.name(1)}.png"
    captions = run("search", image, *FAKE, "-k", "3")
    assert captions.code == 0, captions.err
    assert captions.rows[0] == ["#", "cosine", "found"]
    assert len(captions.rows) == 4
    images = run("search", "a red picture", *FAKE, "-k", "2")
    assert all(Path(row[2]).suffix == ".png" for row in images.rows[1:])
    near = run("search", "a red picture", *FAKE, "--in", "captions", "-t", five, "--system", "bee", "--json")
    assert {hit["found"] for hit in near.json["queries"][0]["hits"]} == {f"number {i} by b" for i in range(5)}
    assert run("search", "a red picture", image, *FAKE).code == 2


def test_a_file_as_the_pool_and_an_index(run: Run, five: str) -> None:
    """--pool takes caption files; --index names its recall."""
    done = run(
        "search", "a caption", *FAKE, "--in", "captions", "--pool", "a.json", "--index", "IVF2,Flat", "--nprobe", "2"
    )
    assert done.code == 0, done.err
    assert "recall@10" in done.err
    assert len(done.rows) == 1 + 5 + 1
    assert run("search", "a", *FAKE, "--in", "captions", "--index", "NOPE").code == 2


def test_a_retrieval_baseline_is_scored_and_compared(run: Run, given: list[str], five: str) -> None:
    """To a file, or as a system of the set; own captions left out on request."""
    done = run("retrieve", *given, *FAKE, "--pool-set", five, "--exclude-own", "-o", "near.json")
    assert done.code == 0, done.err
    assert len(json.loads(Path("near.json").read_text())) == 5
    assert run("score", "near.json", *given).code == 0
    kept = run("retrieve", "-t", five, *FAKE, "--save-as", "near")
    assert "near: added in five" in kept.err
    assert run("score", "-t", five, "near").code == 0
    assert run("retrieve", *given, *FAKE, "--format", "clipscore").json.keys() == {drawn.name(i) for i in range(5)}


def test_what_is_refused(run: Run, five: str) -> None:
    """Options that do not fit, and a store that is not there."""
    assert "-t SET" in run("search", "a", *FAKE, "--in", "captions", "--system", "bee").err
    assert "hold captions" in run("search", "a", *FAKE, "--pool", "a.json").err
    assert "-t SET" in run("retrieve", "--images", "images", *FAKE, "--save-as", "x").err
    assert run("retrieve", *FAKE).code == 2
    assert run("search", "a", *FAKE, "--store", "elsewhere").code == 2
    assert not Path("elsewhere").exists()


def test_a_path_that_is_not_there_is_no_text(run: Run, five: str) -> None:
    """A mistyped image, an empty query and a folder are refused; words with a dot or a slash are words."""
    for query, words in (
        (f"images/{drawn.name(77)}.png", "looks like an image file"),
        ("dog.JPG", "looks like an image file"),
        ("images/dog", "looks like an image file"),
        ("./dog", "looks like an image file"),
        ("", "empty"),
        ("  ", "empty"),
        ("images", "is a folder"),
    ):
        refused = run("search", query, *FAKE)
        assert refused.code == 2, query
        assert words in refused.err
        assert not refused.out
    for text in ("a black/white dog", "black/white", "number 2.0", "dog.png.", "word " * 200):
        assert run("search", text, *FAKE, "-k", "1").code == 0


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("search dog --in captions --pool a.json -t five", "--pool -t"),
        ("search dog --in captions --pool a.json --system a", "--system --pool"),
        ("search dog --in captions --nprobe 3", "--nprobe --index"),
        ("retrieve -t five --pool a.json --pool-set five", "--pool --pool-set"),
        ("retrieve -t five --replace", "--replace --save-as"),
        ("retrieve -t five -k 2", "--format -k"),
        ("retrieve -t five -o nowhere/x.json", "nowhere"),
    ],
)
def test_options_that_would_do_nothing_are_refused(run: Run, five: str, words: str, flags: str) -> None:
    """A usage error that names both."""
    done = run(*words.split(), *FAKE)
    assert done.code == 2
    assert all(flag in done.err for flag in flags.split()), done.err


def test_a_folder_alone_can_be_retrieved_for(run: Run, five: str) -> None:
    """All of its images are the set, called by their stems; JSON lines hold rank and cosine."""
    done = run("retrieve", "--images", "images", *FAKE, "--format", "jsonl")
    assert "not in the eval set" not in done.err
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["image"] for row in rows] == [drawn.name(i) for i in range(8)]
    assert {row["rank"] for row in rows} == {0}
    assert all(-1 <= row["cosine"] <= 1 for row in rows)
    assert run("retrieve", "--images", "images", *FAKE, "-o", "all.json").code == 0
    assert run("score", "all.json", "--images", "images").code == 0
    twins = Path("twins")
    for part in ("x", "y"):
        drawn.draw(twins / part, 2)
    again = run("retrieve", "--images", "twins", *FAKE, "--format", "clipscore")
    assert set(again.json) == {f"{part}/{drawn.name(i)}.png" for part in ("x", "y") for i in range(2)}
