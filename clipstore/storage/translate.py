"""Foreign errors stop here: what sqlite3, SQLAlchemy, psycopg or the system raise becomes a ``StoreError``."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import exc

from clipstore.errors import Busy, CannotWrite, Damaged, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

REPAIR = "run `clipstore store verify --repair`"

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_NO_WRITE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_SHARED_MEMORY = {
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_PROTOCOL,
}
_IO_WRITE = {
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_DELETE,
}
_PRIMARY = 0xFF  # the low byte of an extended SQLite code

_BUSY_STATES = {"55P03", "40P01", "40001", "57014"}  # lock timeout, deadlock, serialisation, cancelled
_FULL_STATES = {"53100"}
_DENIED_STATES = {"25006", "42501"}


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", 0) or 0


def _state(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


def original(error: BaseException) -> BaseException:
    """Return the driver's own error that SQLAlchemy wrapped, or ``error`` itself."""
    if isinstance(error, exc.DBAPIError) and error.orig is not None:
        return error.orig
    return error


def is_busy(error: BaseException) -> bool:
    """Say whether another connection held what was needed, so that a retry can help."""
    cause = original(error)
    return _code(cause) & _PRIMARY in _BUSY or _state(cause) in _BUSY_STATES


def is_without_wal(error: BaseException) -> bool:
    """Say whether this is how SQLite fails where WAL's shared memory does not work."""
    return _code(original(error)) in _SHARED_MEMORY


def is_unopenable(error: BaseException) -> bool:
    """Say whether SQLite could not open its file or its journal beside it."""
    return _code(original(error)) & _PRIMARY in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}


def database_error(error: BaseException, where: str) -> StoreError:
    """Return the ``StoreError`` that says what a database error means to a user."""
    cause = original(error)
    code, state = _code(cause), _state(cause)
    if is_busy(error):
        return Busy(f"{where}: another process is writing to the store and did not finish in time: try again")
    if code & _PRIMARY == sqlite3.SQLITE_FULL or state in _FULL_STATES:
        return CannotWrite(f"{where}: the disk is full; nothing of this step was stored: free some space and rerun")
    if code & _PRIMARY in _NO_WRITE or code in _IO_WRITE or state in _DENIED_STATES:
        return CannotWrite(f"{where}: the store can't be written ({cause}): check permissions and free space")
    if code & _PRIMARY in _BROKEN or code & _PRIMARY == sqlite3.SQLITE_IOERR:
        return Damaged(f"{where}: the catalogue can't be read ({cause}): {REPAIR}")
    return StoreError(f"{where}: {_other_problem(error, cause)}")


def _other_problem(error: BaseException, cause: BaseException) -> str:
    if isinstance(error, exc.DataError):
        return f"the catalogue can't hold a value ({cause}): take it out of the input"
    if isinstance(error, exc.OperationalError) and not _state(cause) and not _code(cause):
        return f"can't reach the catalogue ({cause}): check server, network and password"
    return f"the catalogue refused a statement ({cause}): {REPAIR}"


def file_error(error: OSError, where: str) -> StoreError:
    """Return the ``StoreError`` that says what a failed file operation means to a user."""
    if error.errno in _FULL:
        return CannotWrite(f"{where}: the disk is full; nothing of this step was stored: free some space and rerun")
    if error.errno in _DENIED:
        return CannotWrite(f"{where}: no permission to write ({error.strerror}): choose another store or change it")
    return CannotWrite(f"{where}: can't be written ({error.strerror or error}): check the disk")


@contextmanager
def translating(where: str) -> Iterator[None]:
    """Turn database errors of the block into a ``StoreError`` that names ``where``; the cause stays chained."""
    try:
        yield
    except (exc.DBAPIError, sqlite3.Error) as error:
        raise database_error(error, where) from error


@contextmanager
def writing(where: str) -> Iterator[None]:
    """Turn ``OSError`` of the block into :class:`CannotWrite` that names ``where``; the cause stays chained."""
    try:
        yield
    except OSError as error:
        raise file_error(error, where) from error
