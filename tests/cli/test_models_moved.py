"""Models whose files change, move or are mistyped, through the command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drawn
import pytest
import torch
from safetensors.torch import load_file, save_file

from clipstore.encoders.source import TINY

Run = Callable[..., Any]


@pytest.fixture
def mine(desk: Path) -> Path:
    """A model of one's own in a folder: the small one that ships."""
    torch.set_num_threads(1)
    folder = desk / "models" / "mine"
    folder.mkdir(parents=True)
    config = json.loads((TINY / "config.json").read_text(encoding="utf-8"))
    drawn.write_json(folder / "open_clip_config.json", {"model_cfg": config.get("model_cfg", config)})
    shutil.copy(TINY / "model.safetensors", folder / "model.safetensors")
    return folder


def train(folder: Path) -> None:
    """Change the weights in place, as a training run does."""
    tensors = load_file(folder / "model.safetensors")
    name = min(tensors)
    tensors[name] = tensors[name] + 1
    save_file(tensors, folder / "model.safetensors")


def test_a_folder_that_was_trained_on_is_refused_and_shown_by_its_name(run: Run, mine: Path, given: list[str]) -> None:
    """The old vectors are not given out for the new weights; no result names a path of this machine."""
    words = ["score", "a.json", *given, "--model", f"local-dir:{mine}", "--json"]
    first = run(*words)
    assert first.code == 0, first.err
    assert "local-dir:mine" in first.out
    assert str(mine) not in first.out
    assert str(mine) not in run("ls", "models", "--json").out
    again = run("score", "a.json", *given, "--model", "local-dir:models/mine", "--json", "--no-encode")
    assert again.code == 0, again.err
    train(mine)
    after = run(*words)
    assert after.code == 2
    assert "now loads another encoder" in after.err
    assert "weights: sha256:" in after.err


def test_a_mistyped_weights_path_is_refused(run: Run, mine: Path, given: list[str]) -> None:
    """``--weights`` that names no file is refused although the store knows a file of that name elsewhere."""
    words = ["score", "a.json", *given, "--model", f"local-dir:{mine}", "--weights"]
    right = mine / "model.safetensors"
    assert run(*words, right).code == 0
    wrong = run(*words, mine.parent / "model.safetensors")
    assert wrong.code == 2
    assert "models/model.safetensors: no such file" in wrong.err
    assert str(right) in wrong.err
