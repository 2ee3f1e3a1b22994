"""A desk to work at: a folder with images, references and captions, and the command in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drawn
import pytest
from clipstore_cli.main import call

from clipstore import Store

N = 5


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as JSON."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Stdout's lines, split at tabs."""
        return [line.split("\t") for line in self.out.splitlines()]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: images of five scenes and three others, references, two systems; stores are sound afterwards."""
    folder = tmp_path / "desk"
    drawn.draw(folder / "images", N + 3)
    drawn.write_json(folder / "refs.json", drawn.references(N))
    drawn.write_json(folder / "a.json", drawn.captions(N))
    drawn.write_json(folder / "b.json", [{"image_id": i, "caption": f"number {i} by b"} for i in range(N)])
    monkeypatch.chdir(folder)
    yield folder
    for catalogue in tmp_path.rglob("catalogue.sqlite"):
        with Store.open(catalogue.parent) as store:
            assert not drawn.damage(store)


@pytest.fixture
def run(desk: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run the command at the desk, with the fake model where a model is needed."""

    def run(*words: str | Path) -> Done:
        capsys.readouterr()
        arguments = [str(word) for word in words]
        if arguments[:1] in (["score"], ["add"]) and "--model" not in arguments:
            arguments += ["--model", "fake"]
        code = call(arguments)
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def given() -> list[str]:
    """The options that name images and references."""
    return ["--images", "images", "--refs", "refs.json"]
