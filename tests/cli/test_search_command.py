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
    assert run("retrieve", "--images", "images", *FAKE).code == 2
    assert run("search", "a", *FAKE, "--store", "elsewhere").code == 2
    assert not Path("elsewhere").exists()
