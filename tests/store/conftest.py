"""The contract of a store and its spaces holds on both catalogues: every test here runs on SQLite and PostgreSQL."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import drawn
import postgresql
import pytest

from clipstore import Store

ABOUT_THE_FILE = {
    "test_a_store_of_a_newer_schema_is_refused",  # on both databases in storage/test_upgrade.py
    "test_vectors_without_a_catalogue_are_damage_not_a_new_store",  # a server does not lose its file
}
"""Tests that look into SQLite's file."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that opens a store once a database."""
    if "database" in metafunc.fixturenames:
        wanted = postgresql.DATABASES[:1] if metafunc.function.__name__ in ABOUT_THE_FILE else postgresql.DATABASES
        metafunc.parametrize("database", wanted, indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The database of the test's stores."""
    return str(request.param)


@pytest.fixture
def open_store(database: str, empty_store: Path, tmp_path: Path) -> Iterator[Callable[[str], Store]]:
    """Open real stores by name in the test's folder, on either database; afterwards each must be found sound."""
    opened: dict[str, Store] = {}
    places = contextlib.ExitStack()

    def by_name(name: str = "store") -> Store:
        if name not in opened:
            folder = tmp_path / name
            if not folder.exists() and database == "sqlite":
                shutil.copytree(empty_store, folder)
            elif not folder.exists():
                try:
                    places.enter_context(postgresql.place(folder, database))
                except postgresql.Unavailable as error:
                    pytest.skip(f"no PostgreSQL server: {error}")
            opened[name] = Store.open(folder)
        return opened[name]

    with places:
        yield by_name
        for one in opened.values():
            found = drawn.damage(one)
            one.close()
            assert not found, found
