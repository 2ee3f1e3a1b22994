"""A file written durably: temporary name, fsync, rename, fsync of its folder; or nothing at all.

For files that are streamed rather than held: the parts of a merged segment, an export.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from typing import TYPE_CHECKING

from clipstore.storage.faults import reach
from clipstore.storage.translate import file_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

UNFINISHED = ".tmp"
"""Suffix of a file that is being written."""


def write(folder: Path, parts: Iterable[bytes], named: Callable[[str], str]) -> tuple[Path, str]:
    """Write the parts, one after the other, into a new file of ``folder``.

    Parameters
    ----------
    folder
        Made if absent.
    parts
        The content, piece by piece.
    named
        Gives the file's name from its sha256.

    Returns
    -------
    tuple
        Where the file is, complete on the disk, and its sha256, 64 hex digits.

    Raises
    ------
    CannotWrite
        When the disk is full or the folder can't be written; nothing is left behind.
    """
    temporary = folder / f"{uuid.uuid4().hex}{UNFINISHED}"
    path = temporary
    try:
        make_folder(folder)
        digest = _write_parts(temporary, parts)
        path = folder / named(digest)
        temporary.replace(path)
        reach("file renamed")
        sync_folder(folder)
        reach("folder synced")
    except OSError as error:
        discard(path)
        raise file_error(error, str(folder)) from error
    finally:
        discard(temporary)  # there only when something went wrong
    return path, digest


def _write_parts(path: Path, parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    with path.open("xb") as file:
        reach("file opened")
        for part in parts:
            digest.update(part)
            file.write(part)
        reach("file written")
        file.flush()
        os.fsync(file.fileno())
        reach("file synced")
    return digest.hexdigest()


def make_folder(folder: Path) -> None:
    """Make a folder and its parents so that they survive a power cut."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.is_dir()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def discard(path: Path) -> None:
    """Take a file away, if it is there and can be."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
