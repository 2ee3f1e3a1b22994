"""The official script's arguments and prints."""

import json
import subprocess
import sys

import drawn
import numpy as np
import pytest

from clipstore.compat import clipscore
from clipstore.encoders.fake import FakeEncoder

COUNT = 6


@pytest.fixture
def space(store):
    """A space whose vectors are drawn from hashes."""
    return store.custom_space(FakeEncoder(), "fake")


@pytest.fixture
def files(tmp_path):
    """Candidates, images and references in the official layout."""
    drawn.draw(tmp_path / "images", COUNT)
    drawn.write_json(tmp_path / "caps.json", drawn.captions(COUNT))
    drawn.write_json(tmp_path / "refs.json", drawn.references(COUNT))
    return [str(tmp_path / "caps.json"), str(tmp_path / "images")], str(tmp_path / "refs.json")


def run(space, *arguments):
    """Report on parsed arguments."""
    return clipscore.report(space, clipscore.parser().parse_args(list(arguments)))


def test_without_references_one_line(space, files, capsys):
    """``CLIPScore: 0.1234`` on stdout, nothing else; the signature is said on stderr."""
    given, _ = files
    assert run(space, *given) == 0
    out, err = capsys.readouterr()
    name, value = out.removesuffix("\n").split(": ")
    assert name == "CLIPScore"
    assert len(value.partition(".")[2]) == 4
    assert "CLIP-S|model:fake|" in err


def test_with_references_and_instances(space, files, capsys, tmp_path):
    """Both lines, and the per-instance file in the official layout, whose means they are."""
    given, refs = files
    saved = tmp_path / "each.json"
    arguments = ["--references_json", refs, "--compute_other_ref_metrics", "0", "--save_per_instance", str(saved)]
    assert run(space, *given, *arguments) == 0
    lines = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    each = json.loads(saved.read_text(encoding="utf-8"))
    assert list(each) == [drawn.name(row) for row in range(COUNT)]
    for name in ("CLIPScore", "RefCLIPScore"):
        assert lines[name] == f"{np.mean([one[name] for one in each.values()]):.4f}"


def test_other_metrics_come_in_the_official_order(space, files, capsys):
    """BLEU-1 to 4, METEOR, ROUGE, CIDER, then CLIPScore and RefCLIPScore; without Java a line on stderr instead."""
    pytest.importorskip("pycocoevalcap")
    given, refs = files
    run(space, *given, "--references_json", refs)
    out, err = capsys.readouterr()
    names = [line.split(": ")[0] for line in out.splitlines()]
    official = [
        "BLEU-1",
        "BLEU-2",
        "BLEU-3",
        "BLEU-4",
        "METEOR",
        "ROUGE",
        "CIDER",
        "SPICE",
        "CLIPScore",
        "RefCLIPScore",
    ]
    assert names == [name for name in official if name in names]
    assert len(names) > 2 or "left out" in err


def test_strict_official_does_not_clip_twice(space, files, monkeypatch, capsys, tmp_path):
    """Where all references point away the official formula goes below 0 (ours is 0), and the signature says so."""
    given, refs = files
    saved = tmp_path / "each.json"
    plain = ["--references_json", refs, "--compute_other_ref_metrics", "0", "--save_per_instance", str(saved)]
    run(space, *given, *plain)
    ours = json.loads(saved.read_text(encoding="utf-8"))
    run(space, *given, *plain, "--strict-official")
    strict = json.loads(saved.read_text(encoding="utf-8"))
    err = capsys.readouterr().err
    assert "|official:unclipped" in err
    for key, one in ours.items():
        if one["RefCLIPScore"] > 0:
            assert strict[key]["RefCLIPScore"] == pytest.approx(one["RefCLIPScore"], abs=1e-6)
    monkeypatch.setattr(clipscore.ref_clip_s, "best_reference", lambda _c, _s, rows: np.full(rows, -0.1, np.float32))
    run(space, *given, *plain, "--strict-official")
    below = json.loads(saved.read_text(encoding="utf-8"))
    first = below[drawn.name(0)]
    clip = first["CLIPScore"]
    assert first["RefCLIPScore"] == pytest.approx(2 * clip * -0.1 / (clip - 0.1), rel=1e-4)


def test_a_per_instance_file_must_be_json(files, capsys):
    """The official words, and nothing is done."""
    given, _ = files
    assert clipscore.main([*given, "--save_per_instance", "x.txt"]) == 0
    assert "filepath ends in json" in capsys.readouterr().out


def test_an_error_is_a_line(files, tmp_path, capsys):
    """No traceback: what is wrong, and exit code 2."""
    given, _ = files
    drawn.write_json(tmp_path / "caps.json", {"nobody": "a caption"})
    code = clipscore.main([*given, "--store", str(tmp_path / "s"), "--model", "no-such-model"])
    assert code == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _given, folder: drawn.write_json(folder / "caps.json", {"nobody": "a caption"}), "nobody"),
        (lambda _given, folder: (folder / "caps.json").unlink(), "caps.json"),
        (lambda _given, folder: (folder / "caps.json").write_text("{", encoding="utf-8"), "caps.json"),
        (lambda given, _folder: given.__setitem__(1, "no/such/folder"), "no/such/folder"),
        (lambda given, _folder: given.extend(["--save_per_instance", "no/such/x.json"]), "its folder does not exist"),
    ],
    ids=["ids", "missing", "broken", "images", "out"],
)
def test_files_are_checked_before_a_model_is_loaded(files, tmp_path, capsys, monkeypatch, change, said):
    """Whatever is wrong with a file is said at once: no store is made, no model asked for."""
    given, _ = files
    monkeypatch.setattr(clipscore.Store, "space", lambda *_, **__: pytest.fail("a model was asked for"))
    change(given, tmp_path)
    assert clipscore.main([*given, "--store", str(tmp_path / "s")]) in {1, 2}
    assert said in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_it_runs_as_a_module(files):
    """``python -m clipstore.compat.clipscore --help`` names the official arguments."""
    done = subprocess.run(
        [sys.executable, "-m", "clipstore.compat.clipscore", "--help"], capture_output=True, text=True, check=True
    )
    assert "--compute_other_ref_metrics" in done.stdout
