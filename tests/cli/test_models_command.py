"""``clipstore models``."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from clipstore_cli import models
from typer.testing import CliRunner

from clipstore import Store
from clipstore.encoders import fetching, hub
from clipstore.errors import UnknownModel
from clipstore.items import Image


def test_models_lists_formula_prefix_context_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    """One row a model that can be named, each with where its weights are."""
    assert models.listed() == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["model", "formula", "prefix", "context", "weights"]
    by_name = {row[0]: row for row in rows}
    assert by_name["pac-s"][1:4] == ["2 max(cos, 0); RefPAC-S = H(PAC-S, max_r cos)", "A photo depicts ", "77"]
    assert by_name["longclip-b"][3] == "248"
    assert by_name["siglip2"][3] == "64"
    assert {"ViT-B-32/openai", "tiny", "hpsv2", "hpsv2.1", "pickscore"} <= set(by_name)


def test_every_pair_of_open_clip_is_listed_on_request() -> None:
    """--all adds the pairs, each once."""
    names = [row.name for row in fetching.known(every=True)]
    assert len(names) == len(set(names)) > 100
    assert "ViT-B-32/laion2b_s34b_b79k" in names


def test_fetch_copies_weights_and_says_how_to_use_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file lies in the folder under the model's name; the last line is the options for the other machine."""
    (tmp_path / "cache.safetensors").write_bytes(b"weights")
    monkeypatch.setattr(hub, "fetch", lambda *_: tmp_path / "cache.safetensors")
    done = CliRunner().invoke(models.app, ["fetch", "hpsv2.1", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    file = tmp_path / "out" / "hpsv2.1.safetensors"
    assert file.read_bytes() == b"weights"
    assert done.stdout.strip().splitlines()[-1] == f"--model hpsv2.1 --weights {file}"
    assert "MB" in done.output


def test_fetch_of_a_repository_is_a_folder_that_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Config and weights lie together, and local-dir:FOLDER is a model."""
    from clipstore.encoders import open_clip, source

    tiny = source.TINY
    monkeypatch.setattr(hub, "fetch", lambda *_: tiny / "config.json")
    monkeypatch.setattr(hub, "fetch_weights", lambda *_: tiny / "model.safetensors")
    fetched = fetching.fetch("hf-hub:org/tiny", tmp_path / "out")
    assert fetched.usage == f"--model local-dir:{tmp_path / 'out'}"
    torch.set_num_threads(1)
    assert open_clip.load(f"local-dir:{tmp_path / 'out'}", device="cpu").encode_texts(["a dog"]).shape[0] == 1


@pytest.mark.parametrize("name", ["tiny", "fake", "local-dir:x"])
def test_what_is_here_is_not_fetched(tmp_path: Path, name: str) -> None:
    """A model on this machine needs no fetching."""
    with pytest.raises(UnknownModel, match="nothing to fetch"):
        fetching.fetch(name, tmp_path)


def test_what_can_not_be_had_says_where_it_is(tmp_path: Path) -> None:
    """PAC-S is not on the hub: the place is named."""
    with pytest.raises(UnknownModel, match="aimagelab/pacscore"):
        fetching.fetch("pac-s", tmp_path)


def test_without_a_model_the_store_says_which_it_holds(run, given, monkeypatch):
    """The default's weights are not here: the error names what the store has; audit takes the only one."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert run("add", "-t", "set", *given, "a.json").code == 0
    done = run("compare", "-t", "set")
    if done.code == 0:
        pytest.skip("the real weights are here")
    assert "No --model was given; this store has vectors of fake: --model fake" in done.err
    audited = run("store", "audit", "--sample", "3")
    assert audited.code == 0, audited.err
    assert audited.out.startswith("fake: 3 images and 3 texts encoded again")


@pytest.mark.parametrize("left", ["some", "none"])
def test_an_audit_that_saw_no_image_is_no_pass(run, given, desk, left):
    """All image files are gone: texts alone do not vouch for them, and nothing compared is no gap of 0."""
    assert run("add", "-t", "set", *given, "a.json").code == 0
    for path in sorted((desk / "images").iterdir())[left == "some" :]:
        path.unlink()
    done = run("store", "audit", "--model", "fake", "--json")
    assert done.code == (left == "none")
    assert done.json["images"] == (left == "some")
    assert ("error: no image was compared: add the set again with --images" in done.err) == (left == "none")


def test_an_audit_that_compared_nothing_has_no_gap(run, desk):
    """Images whose files are gone, and no text: the gap is null in JSON and a dash in words."""
    with Store.open(desk / "store", create=True) as store:
        paths = sorted((desk / "images").iterdir())
        store.space("fake").ensure_images([Image(path, path.name) for path in paths])
    for path in paths:
        path.unlink()
    done = run("store", "audit", "--store", "store", "--model", "fake", "--json")
    assert (done.code, done.json["gap"], done.json["unread"]) == (1, None, len(paths))
    done = run("store", "audit", "--store", "store", "--model", "fake")
    assert (done.code, done.out) == (
        1,
        "fake: 0 images and 0 texts encoded again: largest 1 - cosine - (limit 1e-05)\n",
    )


def test_an_audit_says_what_it_did_not_look_at(run, given):
    """The space is named, and the others are counted."""
    for model in ("fake", "fake:32"):
        assert run("score", "a.json", *given, "--model", model).code == 0
    done = run("store", "audit", "--sample", "2", "--model", "fake:32")
    assert done.out.startswith("fake:32: 2 images and 2 texts encoded again")
    assert "1 more spaces of this store were not looked at" in done.err
    parsed = run("store", "audit", "--sample", "2", "--model", "fake:32", "--json").json
    assert (parsed["schema"], parsed["model"]) == (1, "fake:32")
