"""``clipstore ls`` and ``clipstore info``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

Run = Callable[..., object]


def test_ls_lists_sets_systems_and_models(run: Run, given: list[str]) -> None:
    """Sets with images and systems, systems with captions, models with vectors; the same as JSON."""
    run("add", "-t", "one", *given, "a.json", "b.json")
    run("add", "-t", "two", *given, "a.json")
    assert [row[:3] for row in run("ls").rows] == [["set", "images", "systems"], ["one", "5", "2"], ["two", "5", "1"]]
    systems = run("ls", "systems").rows
    assert [row[:3] for row in systems[1:]] == [["one", "a", "5"], ["one", "b", "5"], ["two", "a", "5"]]
    assert [row[1] for row in run("ls", "systems", "-t", "two").rows[1:]] == ["a"]
    models = run("ls", "models", "--json").json["models"]
    assert [(one["model"], one["precision"], one["images"], one["texts"]) for one in models] == [
        ("fake", "fp32", 5, 20)
    ]
    assert run("ls", "failures").out == "file\treason\twhen\n"


def test_ls_makes_no_store(run: Run, desk: Path) -> None:
    """Without a store: exit 2, a remedy, and none is made."""
    done = run("ls")
    assert done.code == 2
    assert "there is no store here" in done.err
    assert not (desk / ".clipstore").exists()


def test_ls_knows_its_words(run: Run) -> None:
    """Another word is refused with those there are."""
    done = run("ls", "things")
    assert done.code == 2
    assert all(word in done.err for word in ("sets", "systems", "models", "failures"))


def test_info_makes_no_store(run: Run, desk: Path) -> None:
    """Without a store it prints the settings and says so."""
    done = run("info")
    assert done.code == 0
    assert done.rows[0] == ["what", "value", "from"]
    assert ["clipstore", metadata.version("clipstore"), "installed"] in done.rows
    assert ["model", "ViT-B-32/openai", "default"] in done.rows
    assert ["store", ".clipstore", "default"] in done.rows
    assert "no store yet" in done.err
    assert not (desk / ".clipstore").exists()


def test_info_counts_the_store(run: Run, given: list[str]) -> None:
    """Images, texts, eval sets, spaces and the size on disk."""
    run("add", "-t", "one", *given, "a.json")
    rows = {row[0]: row[1:] for row in run("info").rows}
    assert rows["images"] == ["-", "default"] or rows["images"] == ["5", "store"]
    assert rows["texts"] == ["15", "store"]
    assert rows["eval sets"] == ["1", "store"]
    assert rows["spaces"] == ["1", "store"]
    assert rows["size"][0].endswith(" MB")


def test_info_as_json_keeps_settings_and_counts_apart(
    run: Run, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting ``images`` and the count of images are both there."""
    run("add", "-t", "one", *given, "a.json")
    monkeypatch.setenv("CLIPSTORE_IMAGES", "pictures")
    told = run("info", "--json").json
    assert told["settings"]["images"] == {"value": "pictures", "from": "CLIPSTORE_IMAGES"}
    assert told["store"]["images"] == 5
