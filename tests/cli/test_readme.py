"""README's own commands, in its order, in a folder that has the files they name."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import drawn
import pytest
from clipstore_cli.main import call

from clipstore.demo.make import make

README = Path(__file__).parents[2] / "README.md"
ELSEWHERE = (
    "pip",
    "make",
    "clipstore serve",  # tests/serve and tests/browser
    "clipstore models fetch",  # needs a network
    "clipstore metaeval flickr8k-expert",  # tests/metaeval, on the published files
    "ViT-B-32.pt",  # needs the real weights
    "postgresql",  # tests/storage, on a real server
)
"""Blocks and commands that are shown elsewhere."""
COUNT = 12


def blocks(language: str) -> list[str]:
    """Return README's code blocks of a language."""
    if not README.is_file():
        pytest.skip("no README here: the tests run outside a checkout")
    found = re.findall(r"^```(\w*)\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def commands() -> list[list[str]]:
    """Return README's commands that can be run here, each as its words."""
    lines = [line for block in blocks("") for line in block.splitlines()]
    kept = [line for line in lines if line.startswith("clipstore ") and not any(one in line for one in ELSEWHERE)]
    return [shlex.split(line, comments=True) for line in kept]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The current folder, with scenes under the names that README uses; what its absolute paths mean here."""
    here = tmp_path / "here"
    files = make(here / "drawn", COUNT)
    files.images.rename(here / "val2014")
    files.references.rename(here / "refs.json")
    (here / "out").mkdir()
    for name, path in (
        ("blip.json", files.systems["good"]),
        ("ofa.json", files.systems["mixed"]),
        ("caps.json", files.systems["mixed"]),
        ("out/git.json", files.systems["poor"]),
        ("out/step-1000.json", files.systems["mixed"]),
    ):
        (here / name).write_bytes(path.read_bytes())
    beams = {drawn.name(i): [f"a red circle {i}", "a scene with a blue square", "nothing"] for i in range(COUNT)}
    drawn.write_json(here / "beams.json", beams)
    rows = [f"val2014/{drawn.name(i)}.png,a red circle {i},{1 + i % 4},a circle" for i in range(COUNT)]
    (here / "mine.csv").write_text("image,caption,rating,reference\n" + "\n".join(rows) + "\n", encoding="utf-8")
    shutil.copytree(here / "val2014", here / "moved")
    monkeypatch.chdir(here)
    monkeypatch.setenv("CLIPSTORE_MODEL", "tiny")
    assert call(["score", "ofa.json", "--images", "val2014", "--store", "../other/.clipstore"]) == 0
    shutil.copytree("../other", "../team")
    return {
        "/old/images": str(here / "val2014"),
        "/new/images": str(here / "moved"),
        "/team/coco/.clipstore": "../team/.clipstore",
    }


def test_the_commands_do_what_they_say(places: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, each is done and writes what it names."""
    done = 0
    for words in commands():
        capsys.readouterr()
        assert call([places.get(word, word) for word in words[1:]]) == 0, (words, capsys.readouterr().err)
        done += 1
    assert done > 20
    for left in ("report.html", "picks.json", "figures", "backup", "mine"):
        assert Path(left).exists()


def test_the_python_example_gives_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The block of README, after the demo whose files it uses; nothing but its own print is printed."""
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "clipstore-demo", COUNT)
    capsys.readouterr()
    names: dict[str, Any] = {}
    (block,) = blocks("python")
    exec(block, names)
    out, err = capsys.readouterr()
    assert err == ""
    assert out == f"{names['scores']}\n"
    assert names["scores"]["good"].clip_s.mean > names["scores"]["ours"].clip_s.mean
