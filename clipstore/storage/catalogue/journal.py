"""How SQLite keeps its journal here: WAL where it works, else the plain rollback journal, and says so.

WAL needs shared memory between processes, which network file systems lack. Some of them
answer "wal" and fail at the first write, so a new catalogue is probed by a write.

Only SQLite opens its files: a process that opens and closes one by itself drops every lock that its own
connections hold there, and the next process to close the catalogue deletes the journal under them.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger("clipstore.storage")

_TRIES = 50
_PAUSE = 0.02  # seconds


def prepare(path: Path) -> None:
    """Set the journal of a new SQLite file at ``path``, after a probe beside it.

    Raises
    ------
    sqlite3.Error
        When the file can't be written at all.
    """
    if _probe(path.parent):
        _set(path, "WAL")
    else:
        logger.warning(
            "%s: SQLite's WAL does not work on this file system (a network one?): using a rollback journal; "
            "writers and readers wait for each other, and only one host should write at a time",
            path,
        )


def leave_wal(path: Path) -> None:
    """Turn a WAL catalogue that was moved to where WAL fails into one with a rollback journal."""
    connection = sqlite3.connect(path, isolation_level=None)
    with contextlib.closing(connection):
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # WAL without shared memory
        connection.execute("PRAGMA journal_mode=DELETE")
    logger.warning("%s: SQLite's WAL does not work here: the catalogue now uses a rollback journal", path)


def _probe(folder: Path) -> bool:
    scratch = folder / f".probe-{uuid.uuid4().hex}.sqlite"
    try:
        return _set(scratch, "WAL") and _shared_write(scratch)
    except sqlite3.Error as error:
        logger.debug("%s: the WAL probe failed: %s", folder, error)
        return False
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)


def _shared_write(path: Path) -> bool:
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader,
    ):
        writer.execute("CREATE TABLE probe (value INTEGER)")
        writer.execute("INSERT INTO probe VALUES (1)")
        return bool(reader.execute("SELECT value FROM probe").fetchall() == [(1,)])


def _set(path: Path, mode: str) -> bool:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for _ in range(_TRIES):
            try:
                answer = connection.execute(f"PRAGMA journal_mode={mode}").fetchone()[0]
            except sqlite3.OperationalError as error:
                # Another connection at work: SQLite says so at once, whatever the timeout.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
            else:
                return str(answer).upper() == mode
            time.sleep(_PAUSE)
    return False
