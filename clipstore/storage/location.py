"""Where a store's catalogue lies: a file in the folder, or the server that ``store.toml`` names."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sqlalchemy import URL, exc, make_url

from clipstore.errors import BadFormat, Damaged, NotAStore
from clipstore.storage.translate import REPAIR, file_error

if TYPE_CHECKING:
    from pathlib import Path

CATALOGUE = "catalogue.sqlite"
SETTINGS = "store.toml"
VECTORS = "vectors"
LOCK = "store.lock"
ASIDE = "aside"
_OWN = {
    CATALOGUE,
    f"{CATALOGUE}-wal",
    f"{CATALOGUE}-shm",
    f"{CATALOGUE}-journal",
    SETTINGS,
    VECTORS,
    LOCK,
    ASIDE,
}
_MARKS = {CATALOGUE, SETTINGS, VECTORS}
_KEYS = {"catalogue", "bases", "base"}
_DRIVER = "postgresql+psycopg"


@final
@dataclass(frozen=True, slots=True)
class Location:
    """A store's folder, and its catalogue.

    Parameters
    ----------
    folder
        The store's folder.
    url
        A PostgreSQL URL without password, or None: ``catalogue.sqlite`` in the folder.
    """

    folder: Path
    url: URL | None

    @property
    def file(self) -> Path:
        """The SQLite catalogue's file."""
        return self.folder / CATALOGUE

    @property
    def shown(self) -> str:
        """What messages call the catalogue; a password never shows."""
        return str(self.file) if self.url is None else self.url.render_as_string(hide_password=True)

    @property
    def writable(self) -> bool:
        """Whether this process may write the folder and, where it is there, the catalogue's file."""
        if not os.access(self.folder, os.W_OK | os.X_OK):
            return False
        return self.url is not None or not self.file.exists() or os.access(self.file, os.W_OK)


def locate(folder: Path, *, create: bool) -> Location:
    """Find the catalogue of ``folder``; make the folder where it is absent and ``create`` is set.

    Raises
    ------
    NotAStore
        When the path is a file, is absent (``create`` off), or holds other things and no store.
    Damaged
        When segments lie there and the catalogue is gone.
    CannotWrite
        When the folder can't be made.
    """
    if not folder.exists():
        if not create:
            msg = f"{folder}: there is no store here: check the path, or add something to create one"
            raise NotAStore(msg)
        _make(folder)
    if not folder.is_dir():
        msg = f"{folder}: a store is a folder, and this is a file: choose another path"
        raise NotAStore(msg)
    location = Location(folder, _url(folder / SETTINGS))
    _refuse_others(location)
    return location


def holds_segments(folder: Path) -> bool:
    """Say whether any segment file lies in the store's folder."""
    return next((folder / VECTORS).glob("*/*/*.faiss"), None) is not None


def refuse_lost(location: Location) -> None:
    """Raise when an empty catalogue stands beside segments: a new one would hide them all.

    Raises
    ------
    Damaged
        When segment files lie in the folder.
    """
    if holds_segments(location.folder):
        msg = f"{location.folder}: vectors are here but the catalogue ({location.shown}) is gone or empty: {REPAIR}"
        raise Damaged(msg)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (NotADirectoryError, FileExistsError) as error:
        msg = f"{folder}: a file stands in the way of this folder: choose another path"
        raise NotAStore(msg) from error
    except OSError as error:
        raise file_error(error, str(folder)) from error


def _refuse_others(location: Location) -> None:
    names = {entry.name for entry in os.scandir(location.folder)}
    others = sorted(name for name in names - _OWN if not name.startswith("."))
    if others and not names & _MARKS:
        msg = (
            f"{location.folder}: this folder is not a store and is not empty (it holds {others[0]}): "
            "choose a new or an empty folder"
        )
        raise NotAStore(msg)


def _url(path: Path) -> URL | None:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"{path}: can't be read as TOML ({error}): mend or remove it"
        raise BadFormat(msg) from error
    unknown = sorted(settings.keys() - _KEYS)
    if unknown:
        msg = f"{path}: unknown key {unknown[0]!r}: known are {', '.join(sorted(_KEYS))}"
        raise BadFormat(msg)
    text = settings.get("catalogue")
    return None if text is None else _parsed(path, text)


def _parsed(path: Path, text: object) -> URL:
    remedy = 'write catalogue = "postgresql://user@host/database", or leave it out for SQLite'
    try:
        url = make_url(text) if isinstance(text, str) else None
    except (exc.ArgumentError, ValueError):
        url = None  # the message of the cause would show a password
    if url is None or url.get_backend_name() != "postgresql":
        msg = f"{path}: catalogue is no PostgreSQL URL: {remedy}"
        raise BadFormat(msg)
    if url.password is not None or "password" in url.query:
        msg = f"{path}: a password stands in catalogue: take it out and use PGPASSWORD or ~/.pgpass"
        raise BadFormat(msg)
    return url.set(drivername=_DRIVER)
