"""Where a value comes from: flag, environment, clipstore.toml, pyproject.toml, default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import drawn
import pytest

Run = Callable[..., object]


def origin(run: Run, name: str, *words: str) -> tuple[str, str]:
    """Return value and origin of a setting as ``info`` prints them first."""
    return next((row[1], row[2]) for row in run("info", *words).rows if row[0] == name)


def test_flag_beats_environment_beats_files_beats_default(
    run: Run, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flag > CLIPSTORE_* > clipstore.toml > pyproject.toml > default, and info says which it was."""
    assert origin(run, "store") == (".clipstore", "default")
    (desk / "pyproject.toml").write_text('[tool.clipstore]\nstore = "by-pyproject"\nmodel = "fake:8"\n')
    assert origin(run, "store") == (str(desk / "by-pyproject"), "pyproject.toml")
    (desk / "clipstore.toml").write_text('store = "by-file"\n')
    assert origin(run, "store") == (str(desk / "by-file"), "clipstore.toml")
    assert origin(run, "model") == ("fake:8", "pyproject.toml")
    monkeypatch.setenv("CLIPSTORE_STORE", "by-environment")
    assert origin(run, "store") == ("by-environment", "CLIPSTORE_STORE")
    assert origin(run, "store", "--store", "by-flag") == ("by-flag", "flag")


def test_a_projects_file_is_found_from_below_and_its_paths_start_there(
    run: Run, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths in clipstore.toml are relative to it, wherever below it the command runs."""
    (desk / "clipstore.toml").write_text(
        'images = "images"\nrefs = "refs.json"\nmodel = "fake:16"\nstore = "there"\n', encoding="utf-8"
    )
    deep = desk / "runs" / "today"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    from clipstore_cli.main import call

    assert call(["score", "../../a.json", "-q", "-o", "out.txt"]) == 0
    assert (desk / "there" / "catalogue.sqlite").is_file()
    assert "model:fake:16" in (deep / "out.txt").read_text()
    assert not (deep / ".clipstore").exists()


def test_the_nearest_store_is_used_from_below(
    run: Run, given: list[str], desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like git: a folder below a store uses it; --store and CLIPSTORE_STORE win."""
    run("score", "a.json", *given)
    (desk / "below").mkdir()
    monkeypatch.chdir(desk / "below")
    assert run("ls", "models").code == 0
    where = ["--images", "../images", "--refs", "../refs.json"]
    assert "0 encoded" in run("score", "../a.json", *where).err
    monkeypatch.setenv("CLIPSTORE_STORE", "other")
    assert run("score", "../a.json", *where).code == 0
    assert (desk / "below" / "other" / "catalogue.sqlite").is_file()
    assert not (desk / "below" / ".clipstore").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("images = ", "not valid TOML"),
        ('imags = "x"', "no setting 'imags'"),
        ("images = 7", "images must be text in quotes"),
    ],
)
def test_a_wrong_projects_file_is_refused(run: Run, desk: Path, text: str, message: str) -> None:
    """Broken TOML, an unknown name and a value that is no text: exit 2 with the file's name."""
    (desk / "clipstore.toml").write_text(text)
    done = run("info")
    assert done.code == 2
    assert "clipstore.toml" in done.err
    assert message in done.err


def test_a_pyproject_of_another_kind_is_no_matter(run: Run, desk: Path) -> None:
    """A pyproject.toml without [tool.clipstore] says nothing, and a parent's is looked at."""
    (desk / "pyproject.toml").write_text('[tool.clipstore]\nmodel = "fake:8"\n')
    (desk / "inner").mkdir()
    (desk / "inner" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    import os

    os.chdir(desk / "inner")
    assert origin(run, "model") == ("fake:8", "pyproject.toml")


def test_id_key_comes_from_the_environment(run: Run, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """CLIPSTORE_ID_KEY is as good as --id-key: a wrong word is refused by name."""
    monkeypatch.setenv("CLIPSTORE_ID_KEY", "nonsense")
    done = run("score", "a.json", *given)
    assert done.code == 2
    assert "nonsense" in done.err


def test_split_comes_from_the_environment(run: Run, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLIPSTORE_SPLIT chooses the split of a Karpathy file."""
    images = [
        {"filename": f"{drawn.name(i)}.png", "split": split, "imgid": i, "sentids": [i],
         "sentences": [{"raw": f"ref {i}", "tokens": ["ref"], "sentid": i, "imgid": i}]}
        for i, split in enumerate(("val", "test", "val", "test", "test"))
    ]  # fmt: skip
    drawn.write_json(desk / "dataset.json", {"dataset": "mine", "images": images})
    drawn.write_json(desk / "val.json", {drawn.name(i): "x" for i in (0, 2)})
    monkeypatch.setenv("CLIPSTORE_SPLIT", "val")
    done = run("score", "val.json", "--images", "images", "--refs", "dataset.json")
    assert done.code == 0
    assert done.rows[1][:2] == ["val", "2"]
