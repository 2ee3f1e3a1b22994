"""An open catalogue: safe in threads, safe after a fork, at the newest schema."""

from __future__ import annotations

import os
import sqlite3
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Self, final

from sqlalchemy import exc

from clipstore.errors import CannotWrite, NotAStore
from clipstore.storage import lease, settings_file, upgrade
from clipstore.storage.catalogue import engine as engines
from clipstore.storage.catalogue import journal
from clipstore.storage.catalogue.statements import Tx, number, run
from clipstore.storage.faults import reach
from clipstore.storage.location import LOCK, SETTINGS, Location, locate, refuse_lost
from clipstore.storage.translate import is_unopenable, is_without_wal, translating

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

_inherited: list[object] = []  # connections of a parent process: closing them here would hurt it


@final
class Catalogue:
    """The rows of one store. Made by :meth:`open`.

    Parameters
    ----------
    location
        Where the catalogue lies.
    base
        Whether it is a base of the store at hand, and so never written.
    """

    def __init__(self, location: Location, *, base: bool = False) -> None:
        self.folder: Path = location.folder
        self.url_shown: str = location.shown
        self.readonly: bool = base or not location.writable
        self.bases: tuple[Catalogue, ...] = ()
        self._location = location
        self._lockless = False  # a read-only folder where SQLite can't make the files that WAL needs
        self._immutable = False
        self._wal: bool | None = None  # not asked yet
        self._process = os.getpid()
        self._engine = self._connectable()

    @classmethod
    def open(cls, folder: Path, *, create: bool = True, rebuilding: bool = False, base: bool = False) -> Self:
        """Open the catalogue of the store at ``folder``; migrate an older one, under a lock.

        Parameters
        ----------
        folder
            The store's folder.
        create
            Make an empty store where there is none.
        rebuilding
            Make an empty catalogue even where segments lie: they are adopted next.
        base
            Open it as a base of another store: it is never written, and its own bases are left out.

        Raises
        ------
        NotAStore
            When there is no store and none can be made there.
        NewerSchema
            When a newer clipstore wrote it.
        Damaged
            When the catalogue can't be read, or is gone while vectors are there.
        CannotWrite
            When it must be created or migrated and can't be written.
        Busy
            When another process holds it for too long.
        """
        catalogue = cls(locate(folder, create=create), base=base)
        try:
            with translating(catalogue.url_shown):
                catalogue._bring_up(create=create, rebuilding=rebuilding)
            named = () if base else settings_file.bases(folder)
            catalogue.bases = tuple(cls._base(folder, one) for one in named)
        except BaseException:
            catalogue.close()
            raise
        return catalogue

    @classmethod
    def _base(cls, folder: Path, place: Path) -> Self:
        try:
            return cls.open(place, create=False, base=True)
        except NotAStore as error:
            msg = f"{folder / SETTINGS} names {place} as a base, and there is no store there: mount it, or change bases"
            raise NotAStore(msg) from error

    @contextmanager
    def read(self) -> Iterator[Tx]:
        """Give a transaction that sees one snapshot; short, please: it holds back SQLite's checkpoints."""
        with translating(self.url_shown), self._current().connect() as connection:
            engines.begin_read(connection)
            yield connection

    @contextmanager
    def write(self, patience: float = engines.WRITE_PATIENCE) -> Iterator[Tx]:
        """Give the store's one writing transaction; commit at the end, roll back on an error.

        Parameters
        ----------
        patience
            Seconds to wait for other writers; 0 gives up at once.

        Raises
        ------
        CannotWrite
            When the store is read-only or the disk is full.
        Busy
            When other writers took longer than ``patience``.
        """
        if self.readonly:
            msg = f"{self.url_shown}: the store is read-only: change its permissions or use another --store"
            raise CannotWrite(msg)
        with translating(self.url_shown), self._leased(patience), self._writer(patience) as connection:
            yield connection
            run(connection, "UPDATE commits SET number = number + 1 WHERE id = 1")
            reach("committing")
            engines.commit(connection, patience)
            reach("committed")

    def version(self) -> int:
        """Return a number that changes with every commit, of this or of another process."""
        with self.read() as tx:
            return number(tx, "SELECT number FROM commits WHERE id = 1")

    def close(self) -> None:
        """Close the connections of this process; the catalogue opens new ones if it is used again."""
        if self._process == os.getpid():
            self._engine.dispose()
        for base in self.bases:
            base.close()

    def _current(self) -> Engine:
        if self._process != os.getpid():
            _inherited.append(self._engine)
            self._engine = self._connectable()
            self._process = os.getpid()
        if self._lockless and self._immutable == self._journal().exists():
            self._set_immutable(on=not self._immutable)
        return self._engine

    def _journal(self) -> Path:
        return self._location.file.with_name(f"{self._location.file.name}-wal")

    def _set_immutable(self, *, on: bool) -> None:
        """Read the file as it lies; only while no writer has it open, whose journal we would miss."""
        self._engine.dispose()
        self._immutable = on
        self._engine = self._connectable()

    def _connectable(self) -> Engine:
        if self._location.url is not None:
            return engines.postgresql_engine(self._location.url)
        mode = "ro" if self.readonly else "rwc"
        return engines.sqlite_engine(self._location.file, mode=mode, immutable=self._immutable)

    def _leased(self, patience: float) -> AbstractContextManager[None]:
        """Where WAL does not work, other hosts can't be trusted to see our locks: one host writes at a time."""
        if self._location.url is not None or self._has_wal(patience):
            return nullcontext()
        return lease.held(self.folder, patience)

    def _has_wal(self, patience: float) -> bool:
        """Say how the journal is kept; asked once, and again after WAL was left."""
        if self._wal is None:
            try:
                self._wal = engines.has_wal(self._current(), patience)
            except sqlite3.Error as error:
                if not is_without_wal(error):
                    raise
                return True  # set to it, and it fails here: the writer finds out, and leaves it
        return self._wal

    def _writer(self, patience: float) -> Tx:
        try:
            return engines.writer(self._current(), patience)
        except (exc.DBAPIError, sqlite3.Error) as error:
            if not self._left_wal(error):
                raise
            return engines.writer(self._current(), patience)

    def _left_wal(self, error: BaseException) -> bool:
        """Say whether WAL failed here and a rollback journal now takes its place."""
        file = self._location.file
        if self.readonly or self._location.url is not None or not is_without_wal(error) or self._wal is False:
            return False
        self._engine.dispose()
        self._wal = None
        with upgrade.file_lock(self.folder / LOCK):
            journal.leave_wal(file)
        return True

    def _bring_up(self, *, create: bool, rebuilding: bool) -> None:
        found = self._revision()
        upgrade.refuse_newer(found, self.url_shown)
        if found == upgrade.HEAD:
            return
        if found is None and not rebuilding:
            refuse_lost(self._location)
        if found is None and not create:
            msg = f"{self.folder}: there is no store here: check the path, or add something to create one"
            raise NotAStore(msg)
        if self.readonly:
            state = "there is no store yet" if found is None else f"the store is at the older schema {found}"
            msg = f"{self.url_shown}: {state} and nothing can be written here: open it where you may write"
            raise CannotWrite(msg)
        self._migrate()

    def _revision(self) -> str | None:
        if self._location.url is None and not _has_bytes(self._location.file):
            return None
        try:
            return self._asked()
        except (exc.DBAPIError, sqlite3.Error) as error:
            if self._read_without_locks(error) or self._left_wal(error):
                return self._asked()
            raise

    def _asked(self) -> str | None:
        with self._current().connect() as connection:
            engines.begin_read(connection)
            return upgrade.revision(connection, self.url_shown)

    def _read_without_locks(self, error: BaseException) -> bool:
        """Say whether a read-only WAL catalogue, whose journal can't be made here, can now be read as it lies."""
        if not self.readonly or self._location.url is not None or not is_unopenable(error) or self._journal().exists():
            return False
        self._lockless = True
        self._set_immutable(on=True)
        return True

    def _migrate(self) -> None:
        with upgrade.file_lock(self.folder / LOCK):
            found = self._revision()
            upgrade.refuse_newer(found, self.url_shown)
            if found == upgrade.HEAD:
                return
            if found is None and self._location.url is None:
                journal.prepare(self._location.file)
            migrating = self._migrating_engine()
            try:
                with self._leased(upgrade.PATIENCE), migrating.connect() as connection:
                    engines.begin_write(connection, upgrade.PATIENCE)
                    if upgrade.revision(connection, self.url_shown) != upgrade.HEAD:
                        upgrade.upgrade(connection)
                    engines.commit(connection, upgrade.PATIENCE)
            finally:
                migrating.dispose()

    def _migrating_engine(self) -> Engine:
        if self._location.url is not None:
            return engines.postgresql_engine(self._location.url)
        return engines.sqlite_engine(self._location.file, foreign_keys=False)


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
