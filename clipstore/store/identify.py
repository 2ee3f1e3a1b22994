"""Image -> id: hash the bytes, or trust the catalogue where a file's stat says that nothing changed."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, final

from clipstore import keys
from clipstore.errors import BadImage, Busy, CannotWrite
from clipstore.storage.catalogue import files
from clipstore.storage.catalogue.files import FileRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.items import Image
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store.progress import Progress

RACY_NS = 2_000_000_000
"""A file whose time is younger than this when it was read may change unseen within one tick (git's racy rule)."""

_CHUNK = 2000
_THREADS = min(8, (os.cpu_count() or 1) + 2)


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """An image that could not be read or encoded.

    Parameters
    ----------
    name
        What the user calls it: its path, or the name given.
    reason
        What is wrong with it, in one clause.
    """

    name: str
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Identified:
    """The ids of images, in the order asked.

    Parameters
    ----------
    ids
        One content id an image, None where it could not be read.
    failures
        Those that could not be read.
    """

    ids: tuple[int | None, ...]
    failures: tuple[Failure, ...]


def content(image: Image) -> bytes:
    """Return the bytes whose hash is the image's id.

    Raises
    ------
    OSError
        When the file can't be read.
    BadImage
        When a picture in memory can't be read.
    """
    if isinstance(image.source, bytes):
        return image.source
    if isinstance(image.source, Path):
        return image.source.read_bytes()
    from clipstore.encoders import in_memory  # imports Pillow, which who has a picture in memory has loaded

    return in_memory.content(image.source)


def _unchanged(known: FileRow | None, stat: os.stat_result) -> bool:
    return (
        known is not None
        and (known.size, known.mtime_ns, known.ctime_ns, known.inode)
        == (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
        and known.hashed_ns - max(stat.st_mtime_ns, stat.st_ctime_ns) > RACY_NS
    )


def _held(image: Image) -> int | str:
    """Return the id of an image in memory; a reason in words when it can't be read."""
    try:
        return keys.image_id(content(image))
    except BadImage as error:
        return str(error)


def _read(path: Path) -> FileRow | str:
    """Hash one file; a reason in words when it can't be read."""
    try:
        stat = path.stat()
        if not (S_ISREG(stat.st_mode) or S_ISDIR(stat.st_mode)):  # reading a pipe would wait for ever
            return "is no regular file"
        hashed = time.time_ns()
        image = keys.image_id(path.read_bytes())
    except IsADirectoryError:
        return "is a folder"
    except OSError as error:
        return (error.strerror or "can't be read").lower()
    return FileRow(str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, hashed, image)


def absolute(path: Path) -> Path:
    """Return a path from the root, links not followed: the catalogue knows files by it."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def identify(catalogue: Catalogue, images: Sequence[Image], progress: Progress) -> Identified:
    """Return the content id of each image; files whose stat is known are not read.

    A file or picture that could not be read is a :class:`Failure`; the others go on.
    """
    paths = {row: absolute(image.source) for row, image in enumerate(images) if isinstance(image.source, Path)}
    with catalogue.read() as tx:
        known = files.known(tx, [str(path) for path in paths.values()])
    ids: list[int | None] = [None] * len(images)
    failures: list[Failure] = []
    unread: list[int] = []
    fresh: list[FileRow] = []
    for row, image in enumerate(images):
        if row not in paths:
            held = _held(image)
            ids[row] = held if isinstance(held, int) else None
            failures += [] if isinstance(held, int) else [Failure(image.name, held)]
            continue
        stat = _stat(paths[row])
        row_known = known.get(str(paths[row]))
        if row_known is not None and stat is not None and _unchanged(row_known, stat):
            ids[row] = row_known.image_id
        else:
            unread.append(row)
    with ThreadPoolExecutor(_THREADS) as pool:
        for start in range(0, len(unread), _CHUNK):
            chunk = unread[start : start + _CHUNK]
            for row, read in zip(chunk, pool.map(_read, [paths[row] for row in chunk]), strict=True):
                if isinstance(read, str):
                    failures.append(Failure(images[row].name, read))
                else:
                    ids[row] = read.image_id
                    fresh.append(read)
            fresh = _remember(catalogue, fresh)
            progress("read", min(start + _CHUNK, len(unread)), len(unread))
    return Identified(tuple(ids), tuple(failures))


def _remember(catalogue: Catalogue, rows: list[FileRow]) -> list[FileRow]:
    """Keep what was hashed; return it where the store is busy now. What is never kept is read again next time."""
    if not rows or catalogue.readonly:
        return []
    try:
        with catalogue.write(patience=0) as tx:
            files.remember(tx, rows)
    except (Busy, CannotWrite):
        return rows
    return []
