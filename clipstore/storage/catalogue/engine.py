"""Connections to the catalogue: pragmas, the two kinds of transaction, waiting with a bound."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event, exc
from sqlalchemy.pool import NullPool, QueuePool

from clipstore.errors import StoreError
from clipstore.storage.catalogue.statements import first
from clipstore.storage.translate import is_busy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import URL, Connection

READ_PATIENCE = 30.0
"""Seconds that a reader waits for a writer, where readers and writers must (journals without WAL)."""

WRITE_PATIENCE = 60.0
"""Seconds that a writer waits for its turn."""

_WRITERS = 0x636C6970  # "clip": the advisory lock of writers on PostgreSQL
_IDLE = 4  # connections kept open in a process
_CACHE = 32_000  # KiB of pages that a connection may keep: a third off reading a large eval set
_JOURNAL = 16_000  # pages in the journal before they are moved, 64 MB: a page that many commits touch moves once
_PAUSE = 0.02  # seconds between tries where the database answers "busy" at once


def sqlite_engine(path: Path, *, mode: str = "rwc", immutable: bool = False, foreign_keys: bool = True) -> Engine:
    """Return an engine for a SQLite file.

    Parameters
    ----------
    path
        The file.
    mode
        SQLite's URI mode: ``rwc``, ``rw`` or ``ro``.
    immutable
        Read without any lock: for a read-only folder where WAL can't work.
    foreign_keys
        Off only while a migration rebuilds tables.
    """
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}{'&immutable=1' if immutable else ''}"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri, uri=True, timeout=READ_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA cache_size=-{_CACHE}")
            connection.execute(f"PRAGMA wal_autocheckpoint={_JOURNAL}")
        except sqlite3.Error:  # such as a file that is no database
            connection.close()
            raise
        return connection

    pool: dict[str, Any] = {"poolclass": NullPool} if immutable else _pool()
    engine = create_engine("sqlite://", creator=connect, **pool)
    event.listen(engine, "begin", _begin)
    return engine


def postgresql_engine(url: URL) -> Engine:
    """Return an engine for a PostgreSQL catalogue; the password comes from the environment or pgpass.

    Raises
    ------
    StoreError
        When its driver is not installed.
    """
    try:
        return create_engine(url, isolation_level="REPEATABLE READ", pool_pre_ping=True, **_pool())
    except ImportError as error:
        shown = url.render_as_string(hide_password=True)
        msg = f"{shown}: a PostgreSQL catalogue needs its driver: pip install 'psycopg[binary]'"
        raise StoreError(msg) from error


def _pool() -> dict[str, Any]:
    return {"poolclass": QueuePool, "pool_size": _IDLE, "max_overflow": -1}


def _begin(connection: Connection) -> None:
    kind = connection.get_execution_options().get("clipstore_begin", "DEFERRED")
    _driver(connection).execute(f"BEGIN {kind}")


def _driver(connection: Connection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", connection.connection.dbapi_connection)


def _on_sqlite(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def has_wal(engine: Engine, patience: float) -> bool:
    """Say whether a SQLite catalogue keeps its journal as WAL; waits up to ``patience`` seconds to be told."""
    with engine.connect() as connection:
        _driver(connection).execute(f"PRAGMA busy_timeout={int(patience * 1000)}")
        return bool(_driver(connection).execute("PRAGMA journal_mode").fetchone()[0] == "wal")


def begin_read(connection: Connection) -> None:
    """Open a transaction that sees one snapshot and writes nothing."""
    if _on_sqlite(connection):
        _driver(connection).execute(f"PRAGMA busy_timeout={int(READ_PATIENCE * 1000)}")
    connection.begin()


def begin_write(connection: Connection, patience: float) -> None:
    """Open the one writing transaction of the store; wait up to ``patience`` seconds for the others."""
    if _on_sqlite(connection):
        connection.execution_options(clipstore_begin="IMMEDIATE")
        _driver(connection).execute(f"PRAGMA busy_timeout={int(patience * 1000)}")
        _patiently(connection.begin, patience)
    else:
        # A snapshot taken before the lock would miss what the writer before us committed.
        connection.execution_options(isolation_level="READ COMMITTED")
        connection.begin()
        _take_turn(connection, patience)


def writer(engine: Engine, patience: float) -> Connection:
    """Return a connection that has the writing transaction open; closing it rolls back."""
    connection = engine.connect()
    try:
        begin_write(connection, patience)
    except BaseException:
        connection.close()
        raise
    return connection


def commit(connection: Connection, patience: float) -> None:
    """Commit; where readers block it (SQLite without WAL), try again up to ``patience`` seconds."""
    _patiently(connection.commit, patience)


def _patiently(action: Callable[[], object], patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            action()
        except (sqlite3.Error, exc.DBAPIError) as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _take_turn(connection: Connection, patience: float) -> None:
    if patience <= 0:
        row = first(connection, "SELECT pg_try_advisory_xact_lock(?)", _WRITERS)
        if row is None or not row[0]:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '1ms'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")
        return
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{int(patience * 1000)}ms'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")
    connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
