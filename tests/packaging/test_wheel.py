"""What is installed is tested: the wheel, built and put into an environment of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PART = ("shape_checks.py", "drawn.py", "conftest.py", "test_door.py", "test_errors.py", "golden", "store/test_store.py")
"""What runs again on the installed wheel."""

OUTSIDE = """
import clipstore, pathlib, sys
from clipstore.storage import upgrade
home = pathlib.Path(clipstore.__file__).parent
assert pathlib.Path(sys.prefix) in home.parents, home
assert upgrade.scripts() == home / "_migrations", upgrade.scripts()
with clipstore.Store.open("made") as store:
    print(store.space("fake").ensure_texts(["a cat"]).encoded)
"""


def ran(*words: str | Path, cwd: Path) -> str:
    """Run a program without this process's settings and return what it printed; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLIPSTORE_"))}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the checkout: without isolation where hatchling is at hand."""
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("no checkout here to build from")
    if importlib.util.find_spec("pip") is None:
        pytest.skip("no pip in this environment to build with")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("clipstore", "cli", "migrations"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    alone = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    words = [
        "-m",
        "pip",
        "wheel",
        "-q",
        "--disable-pip-version-check",
        "--no-deps",
        *alone,
        "-w",
        folder / "dist",
        source,
    ]
    ran(sys.executable, *words, cwd=folder)
    (built,) = (folder / "dist").glob("clipstore-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of a second environment that has the wheel, and sees this one's other packages through a .pth file."""
    folder = tmp_path_factory.mktemp("second")
    ran(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    ran(
        sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", "--no-deps",
        "--no-index", "--no-compile", wheel, cwd=folder,
    )  # fmt: skip
    site = Path(ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    others = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (site / "first-environment.pth").write_text("\n".join(others) + "\n")
    return python


def test_the_wheel_holds_what_is_needed_and_nothing_else(wheel: Path) -> None:
    """Library, command, migrations, the tiny model's files; no tests, no caches, no bytecode."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    revisions = [path.name for path in (ROOT / "migrations" / "versions").glob("*.py")]
    assert {f"clipstore/_migrations/versions/{name}" for name in revisions} <= set(names)
    assert "clipstore/_migrations/env.py" in names
    assert "clipstore_cli/main.py" in names
    data = [path.name for path in (ROOT / "clipstore" / "encoders" / "tiny").iterdir() if path.is_file()]
    assert {f"clipstore/encoders/tiny/{name}" for name in data} <= set(names)
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"clipstore", "clipstore_cli"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_a_store_is_made_from_the_wheel_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    """The installed library finds its own migrations, makes a store and encodes into it."""
    assert ran(installed, "-I", "-c", OUTSIDE, cwd=tmp_path).strip() == "1"
    assert (tmp_path / "made" / "catalogue.sqlite").is_file()


def test_the_console_script_runs(installed: Path, tmp_path: Path) -> None:
    """``clipstore`` is installed and knows its version; so does ``python -m clipstore``."""
    version = ran(installed.with_name("clipstore"), "--version", cwd=tmp_path)
    assert version.startswith("clipstore ")
    assert ran(installed, "-I", "-m", "clipstore", "--version", cwd=tmp_path) == version


def test_a_part_of_the_suite_passes_on_the_wheel(installed: Path, tmp_path: Path) -> None:
    """``python -I -m pytest`` on what is installed, with the tests copied away from the checkout."""
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in PART:
        source, target = ROOT / "tests" / name, tests / Path(name).name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    plain = tmp_path / "pytest.ini"
    plain.write_text("[pytest]\n")
    out = ran(
        installed, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tests, "-c", plain, tests,
        cwd=tmp_path,
    )  # fmt: skip
    assert " passed" in out
    assert "error" not in out.lower().replace("test_errors", "")


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """``clipstore demo``: three systems in the right order, and nothing encoded the second time."""
    if not list((ROOT / "clipstore" / "encoders" / "tiny").glob("*.safetensors")):
        pytest.skip("the tiny model's weights are not in the checkout yet")
    out = ran(installed.with_name("clipstore"), "demo", "demo", cwd=tmp_path)
    rows = [line.split("\t") for line in out.splitlines()]
    means = {row[0]: float(row[2]) for row in rows if row[0] in {"good", "mixed", "poor"}}
    assert means["good"] > means["mixed"] > means["poor"]
    assert "tiny: not for reporting" in out
