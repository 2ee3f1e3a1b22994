"""A full copy: a sound store in another folder, taken while writers work.

The catalogue is copied as of one instant; its segments never change, so they are hard links
where the file system allows and copies elsewhere. The copy appears under its name when it is whole.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, final

from clipstore.errors import InputError
from clipstore.storage import durable, settings_file
from clipstore.storage import segments as files
from clipstore.storage.catalogue import Catalogue, segments, whole
from clipstore.storage.location import CATALOGUE
from clipstore.storage.translate import translating, writing

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.storage.catalogue import Tx
    from clipstore.storage.catalogue.segments import SegmentRow

_ATTEMPTS = 5


@final
@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds: segments, their bytes, and how many of them are links to the same bytes on the disk."""

    segments: int
    bytes: int
    linked: int


def export(catalogue: Catalogue, target: Path, *, link: bool = True) -> Copied:
    """Copy a store into a new folder, soundly, whatever writers do meanwhile.

    Parameters
    ----------
    catalogue
        Of the store; it may be PostgreSQL, the copy's is SQLite.
    target
        The copy's folder: absent, or empty.
    link
        Link segments where the file system allows; False copies all bytes, for another disk's safety.

    Raises
    ------
    InputError
        When the target is there and not empty.
    CannotWrite
        When the disk is full or the folder can't be written; nothing stays of the copy.
    Gone
        When the store keeps being compacted faster than it is copied.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        msg = f"{target}: is there and not empty: a full copy needs a new folder"
        raise InputError(msg)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    with writing(str(target)):
        try:
            durable.make_folder(partial)
            copied = _copy(catalogue, partial, link=link)
            _copy_settings(catalogue.folder, partial)
            durable.sync_folder(partial)
            if target.exists():
                target.rmdir()
            partial.replace(target)
            durable.sync_folder(target.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return copied


def _copy(catalogue: Catalogue, partial: Path, *, link: bool) -> Copied:
    """Copy rows, then files; where a file was deleted in between, begin again with newer rows."""
    for attempt in range(_ATTEMPTS):
        _copy_catalogue(catalogue, partial)
        table = _rows(partial)
        try:
            linked = sum(_fetch(row, catalogue.folder, partial, link=link) for row in table)
        except FileNotFoundError as error:
            if attempt == _ATTEMPTS - 1:
                msg = f"{error.filename}: a segment's file is missing: run `clipstore store verify --repair`"
                raise files.Gone(msg) from error
        else:
            break
    return Copied(len(table), sum(row.bytes for row in table), linked)


def _rows(folder: Path) -> list[SegmentRow]:
    copy = Catalogue.open(folder, create=False)
    try:
        with copy.read() as tx:
            return segments.all(tx)
    finally:
        copy.close()


def _copy_catalogue(catalogue: Catalogue, partial: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        durable.discard(partial / f"{CATALOGUE}{suffix}")
    with catalogue.read() as tx:
        on_server = tx.dialect.name != "sqlite"
        if on_server:
            _copy_tables(tx, partial)
    if not on_server:
        with translating(catalogue.url_shown), catalogue.read() as tx:
            driver = cast("sqlite3.Connection", tx.connection.dbapi_connection)
            with contextlib.closing(sqlite3.connect(partial / CATALOGUE)) as target:
                driver.backup(target)


def _copy_tables(tx: Tx, partial: Path) -> None:
    copy = Catalogue.open(partial)
    try:
        with copy.write() as target:
            whole.copy(tx, target)
    finally:
        copy.close()


def _fetch(row: SegmentRow, store: Path, partial: Path, *, link: bool) -> bool:
    """Put one segment's file into the copy; say whether it is a link."""
    source, target = row.path(store), row.path(partial)
    if target.exists():
        return target.stat().st_ino == source.stat().st_ino
    durable.make_folder(target.parent)
    if link:
        with contextlib.suppress(OSError):
            os.link(source, target)
            return True
    with source.open("rb") as read, target.open("xb") as write:
        shutil.copyfileobj(read, write, 1 << 22)
        write.flush()
        os.fsync(write.fileno())
    return False


def _copy_settings(store: Path, partial: Path) -> None:
    """Keep ``bases``, as whole paths; a server's URL stays behind, for the copy has its own catalogue."""
    bases = [str(path) for path in settings_file.bases(store)]
    if bases:
        settings_file.write(partial, {"bases": bases})
