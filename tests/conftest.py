"""What every test shares: shapes that are checked at run time, an empty environment, small real stores."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shape_checks

shape_checks.install()

from clipstore import Store  # noqa: E402  only now: the hook comes first

ROOT = Path(__file__).resolve().parents[1]
KEPT = {"CLIPSTORE_SHARED_DATA", "CLIPSTORE_TEST_POSTGRESQL"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the caller's environment reaches a test, and no model hub is asked."""
    for variable in [one for one in os.environ if one.startswith("CLIPSTORE_") and one not in KEPT]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def shared_data() -> Path:
    """The folder of shared data; the test is skipped where it is not there."""
    folder = Path(os.environ.get("CLIPSTORE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}: set CLIPSTORE_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store's folder with nothing in it, to copy: making one takes a tenth of a second."""
    folder = tmp_path_factory.mktemp("empty") / "store"
    Store.open(folder).close()
    return folder


@pytest.fixture
def open_store(empty_store: Path, tmp_path: Path) -> Iterator[Callable[[str], Store]]:
    """Open real stores by name in the test's folder; afterwards each must be found sound."""
    import drawn

    opened: dict[str, Store] = {}

    def by_name(name: str = "store") -> Store:
        if name not in opened:
            if not (tmp_path / name).exists():
                shutil.copytree(empty_store, tmp_path / name)
            opened[name] = Store.open(tmp_path / name)
        return opened[name]

    yield by_name
    for one in opened.values():
        found = drawn.damage(one)
        one.close()
        assert not found, found


@pytest.fixture
def store(open_store: Callable[[str], Store]) -> Store:
    """A real store in the test's folder, found sound afterwards."""
    return open_store("store")
