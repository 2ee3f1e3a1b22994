"""The schema: migrations make what the code knows, once, in silence, whoever comes first."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from small_stores import in_children
from sqlalchemy import create_engine

from clipstore.errors import Busy, CannotWrite, NewerSchema, NotAStore
from clipstore.storage import upgrade
from clipstore.storage.catalogue import Catalogue
from clipstore.storage.schema import metadata


def _alembic_scripts():
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(upgrade.scripts()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def test_scripts_are_found_in_a_wheel_and_in_a_checkout(tmp_path, monkeypatch):
    """Scripts packed beside the library come first; without them the checkout's are used."""
    package = tmp_path / "clipstore" / "storage"
    package.mkdir(parents=True)
    monkeypatch.setattr(upgrade, "__file__", str(package / "upgrade.py"))
    assert upgrade.scripts() == tmp_path / "migrations"
    (tmp_path / "clipstore" / "_migrations").mkdir()
    assert upgrade.scripts() == tmp_path / "clipstore" / "_migrations"


def test_known_revisions_are_the_scripts():
    """The revisions that the code names are those of the migration scripts, oldest first."""
    scripts = [script.revision for script in _alembic_scripts().walk_revisions()]
    assert tuple(reversed(scripts)) == upgrade.REVISIONS


def test_migrations_make_exactly_the_tables_that_the_code_knows(catalogue):
    """A migrated catalogue has no difference from the schema in tables, columns, types, keys and indexes."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with catalogue.read() as tx:
        context = MigrationContext.configure(tx, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_sqlite_tables_are_made_as_the_schema_says(tmp_path):
    """On SQLite the statements are equal too, so that ids are row numbers and large tables have no hidden one."""
    Catalogue.open(tmp_path / "s").close()
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'alembic%' AND sql IS NOT NULL"
    with engine.connect() as connection:
        wanted = {name: " ".join(sql.split()) for name, sql in connection.exec_driver_sql(query)}
    engine.dispose()
    made = dict(_query(tmp_path / "s", query))
    assert set(made) == set(wanted)
    for name in ("candidates", "cuts", "image_files", "item_references", "pair_scores"):
        assert "WITHOUT ROWID" in made[name]
        assert "WITHOUT ROWID" in wanted[name]


def _query(folder, query):
    connection = sqlite3.connect(folder / "catalogue.sqlite")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_newer_store_is_refused_with_both_revisions(catalogue, folder):
    """A revision that this clipstore does not know is NewerSchema, with both revisions and the remedy."""
    with catalogue.write() as tx:
        tx.exec_driver_sql("UPDATE alembic_version SET version_num = '0907'")
    with pytest.raises(NewerSchema, match=rf"0907.*{upgrade.HEAD}.*install a newer clipstore"):
        Catalogue.open(folder)


def test_foreign_database_is_refused(tmp_path):
    """A SQLite file of something else under our name is refused, not filled with tables."""
    connection = sqlite3.connect(tmp_path / "catalogue.sqlite")
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(NotAStore, match="recipes"):
        Catalogue.open(tmp_path)


_OPEN = """
import sys
from pathlib import Path
from clipstore.storage.catalogue import Catalogue
Catalogue.open(Path(sys.argv[1])).close()
print(*(name for name in ("alembic", "faiss", "torch") if name in sys.modules))
"""


def _open_elsewhere(folder) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _OPEN, str(folder)], capture_output=True, text=True, check=False, timeout=60
    )


def test_store_at_the_newest_schema_opens_without_alembic(tmp_path):
    """Opening loads Alembic for a new store, and not for one that needs no migration."""
    assert _open_elsewhere(tmp_path / "s").stdout.split() == ["alembic"]  # so the probe can fail
    assert _open_elsewhere(tmp_path / "s").stdout.split() == []


def test_six_processes_open_a_fresh_store_at_once(folder):
    """Processes that race for a store that is not there yet all succeed, and leave one sound schema."""
    assert in_children(6, lambda _: Catalogue.open(folder).close()) == [0] * 6
    catalogue = Catalogue.open(folder)
    with catalogue.read() as tx:
        assert tx.exec_driver_sql("SELECT version_num FROM alembic_version").fetchall() == [(upgrade.HEAD,)]
        assert tx.exec_driver_sql("SELECT number FROM commits").fetchall() == [(0,)]
    catalogue.close()


def test_threads_open_a_fresh_store_at_once(folder):
    """Threads of one process that race for a fresh store all succeed, though Alembic has global state."""
    errors = []

    def work():
        try:
            Catalogue.open(folder).close()
        except Exception as error:  # noqa: BLE001  told to the test, whatever it is
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_migration_leaves_logging_and_streams_alone(folder, capfd):
    """Making a store prints nothing and changes no logger."""
    loggers = [logging.getLogger(name) for name in (None, "alembic", "sqlalchemy", "clipstore.storage")]
    before = [(logger.level, list(logger.handlers), logger.disabled) for logger in loggers]
    Catalogue.open(folder).close()
    assert [(logger.level, list(logger.handlers), logger.disabled) for logger in loggers] == before
    assert capfd.readouterr() == ("", "")


def test_failed_migration_leaves_nothing_half_made(folder, monkeypatch):
    """A migration that fails halfway is rolled back whole, and the next open starts over."""
    real = upgrade.upgrade

    def half(connection):
        real(connection)
        raise RuntimeError

    monkeypatch.setattr(upgrade, "upgrade", half)
    with pytest.raises(RuntimeError):
        Catalogue.open(folder)
    monkeypatch.undo()
    Catalogue.open(folder).close()


def test_older_store_that_cannot_be_written_says_so(folder, monkeypatch):
    """A read-only store at an older schema asks to be opened where it may be written."""
    Catalogue.open(folder).close()
    monkeypatch.setattr(upgrade, "HEAD", "0002")
    monkeypatch.setattr("clipstore.storage.location.Location.writable", False)
    with pytest.raises(CannotWrite, match="older schema 0001"):
        Catalogue.open(folder)


def test_lock_is_waited_for_with_a_bound(tmp_path):
    """The upgrade lock excludes others, also threads of one process, and gives up with Busy."""
    with upgrade.file_lock(tmp_path / "lock"):
        started = time.monotonic()
        with pytest.raises(Busy, match="another process"), upgrade.file_lock(tmp_path / "lock", patience=0.2):
            pass
        assert time.monotonic() - started >= 0.2
    with upgrade.file_lock(tmp_path / "lock", patience=0):
        pass
