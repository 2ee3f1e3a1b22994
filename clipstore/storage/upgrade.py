"""The schema's revision, and Alembic to bring an older one up; Alembic is loaded only when one is behind."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect

from clipstore.errors import Busy, NewerSchema, NotAStore
from clipstore.storage.translate import file_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

REVISIONS = ("0001",)
"""Every revision that this clipstore knows, oldest first; a test compares them with the scripts."""

HEAD = REVISIONS[-1]

PATIENCE = 120.0
"""Seconds to wait for another process that upgrades the same store."""

_PAUSE = 0.05
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}

logger = logging.getLogger("clipstore.storage")

_alembic = threading.Lock()  # Alembic's context is a global of its module


def _fresh_lock() -> None:
    global _alembic  # noqa: PLW0603  a child must not inherit a lock that a thread of its parent held
    _alembic = threading.Lock()


os.register_at_fork(after_in_child=_fresh_lock)


def scripts() -> Path:
    """Return the folder of the migrations: packed beside the library in a wheel, else the checkout's."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "_migrations"
    return packed if packed.is_dir() else package.parent / "migrations"


def revision(connection: Connection, where: str) -> str | None:
    """Return the schema's revision, or None for a database that holds nothing of ours.

    Raises
    ------
    NotAStore
        When the database holds tables of ours, or on SQLite any tables, without a revision.
    """
    inspector = inspect(connection)
    if inspector.has_table("alembic_version"):
        row = connection.exec_driver_sql("SELECT version_num FROM alembic_version").fetchone()
        return None if row is None else str(row[0])
    tables = inspector.get_table_names()
    if (tables and connection.dialect.name == "sqlite") or {"segments", "texts"} & set(tables):
        msg = f"{where}: this database is no clipstore catalogue (it holds the table {tables[0]}): choose another"
        raise NotAStore(msg)
    return None


def refuse_newer(found: str | None, where: str) -> None:
    """Raise :class:`NewerSchema` when ``found`` is a revision that this clipstore does not know."""
    if found is not None and found not in REVISIONS:
        msg = f"{where}: the store is at schema {found}, this clipstore knows {HEAD}: install a newer clipstore"
        raise NewerSchema(msg)


def upgrade(connection: Connection) -> None:
    """Run the migrations up to :data:`HEAD` in the transaction that ``connection`` has open."""
    from alembic import command
    from alembic.config import Config

    config = Config(stdout=io.StringIO())
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    with _alembic:
        command.upgrade(config, HEAD)


@contextlib.contextmanager
def file_lock(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock file at ``path``, between processes and between threads.

    Raises
    ------
    Busy
        When another holds it for longer than ``patience`` seconds.
    CannotWrite
        When the file can't be made.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise file_error(error, str(path)) from error
    try:
        _wait_for(handle, path, patience)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)  # not only close: a forked child may hold a copy
    finally:
        os.close(handle)


def _wait_for(handle: int, path: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                msg = f"{path}: another process that upgrades or compacts this store did not finish in time: try again"
                raise Busy(msg) from error
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise file_error(error, str(path)) from error
            logger.warning("%s: this file system has no locks: open a new store from one process first", path)
            return
        else:
            return
