"""Stores for the stress tests, on either database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import postgresql
import pytest

from clipstore import Store


@pytest.fixture
def new_store(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Make an empty store on ``sqlite`` or ``postgresql``; its folder is returned."""
    with ExitStack() as places:

        def made(database: str) -> Path:
            try:
                folder = places.enter_context(postgresql.place(tmp_path / database, database))
            except postgresql.Unavailable as error:
                pytest.skip(f"no PostgreSQL server: {error}")
            Store.open(folder).close()
            return folder

        yield made
