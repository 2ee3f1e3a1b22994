"""Small real stores for the tests of storage, on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import postgresql
import pytest

from clipstore.storage.catalogue import Catalogue


@pytest.fixture(params=postgresql.DATABASES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return where a store may be made; on PostgreSQL its ``store.toml`` names a schema of its own."""
    try:
        with postgresql.place(tmp_path / "store", request.param) as store:
            yield store
    except postgresql.Unavailable as error:
        pytest.skip(f"no PostgreSQL server: {error}")


@pytest.fixture
def catalogue(folder: Path) -> Iterator[Catalogue]:
    """Open a new, empty store."""
    opened = Catalogue.open(folder)
    yield opened
    opened.close()


@pytest.fixture
def reopen(folder: Path) -> Iterator[Callable[[], Catalogue]]:
    """Open the same store once more, as another process would."""
    others: list[Catalogue] = []

    def again() -> Catalogue:
        others.append(Catalogue.open(folder))
        return others[-1]

    yield again
    for other in others:
        other.close()
