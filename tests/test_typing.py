from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
API = ROOT / "tests" / "typing" / "api.py"
WRONG = """
import clipstore as cs
store = cs.Store.open(".clipstore")
cs.EvalSet.read(images="val/", missing="perhaps")
number: str = cs.score(store.space(), {}, cs.EvalSet())["a"].n
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy strict says of the right uses and of some wrong ones, an error a line."""
    pytest.importorskip("mypy")
    config = ROOT / "pyproject.toml"
    if not config.is_file():
        pytest.skip("no pyproject.toml here: the tests run outside a checkout")
    wrong = tmp_path_factory.mktemp("typing") / "wrong.py"
    wrong.write_text(WRONG)
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(config), str(API), str(wrong)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]


def test_the_public_surface_is_typed_as_a_user_would_use_it(said: list[str]) -> None:
    """Mypy strict accepts ordinary uses of the public names, with the types that they promise."""
    assert [line for line in said if "wrong.py" not in line] == []


def test_a_wrong_use_is_refused(said: list[str]) -> None:
    """The check can fail: a wrong word and a wrong type are errors."""
    assert len([line for line in said if "wrong.py" in line]) == 2
