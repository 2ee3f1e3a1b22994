"""A folder -> the image files in it, by content rather than by extension.

A known extension is believed without opening the file (40,000 files: no reads), so a broken
``x.jpg`` and even a folder of that name are listed and fail by name later. Any other file is
listed when its first bytes are an image's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clipstore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EXTENSIONS = frozenset({
    ".apng", ".avif", ".avifs", ".bmp", ".dib", ".gif", ".heic", ".heif", ".hif", ".ico", ".icns", ".j2c",
    ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpf", ".jpg", ".jpx", ".pbm", ".pcx", ".pgm", ".png", ".pnm",
    ".ppm", ".psd", ".qoi", ".sgi", ".tga", ".tif", ".tiff", ".webp", ".xbm",
})  # fmt: skip
_NOT_IMAGES = frozenset({
    ".json", ".jsonl", ".txt", ".csv", ".tsv", ".md", ".parquet", ".tar", ".gz", ".zst", ".zip", ".py", ".npy",
    ".npz", ".pt", ".safetensors", ".sqlite", ".faiss", ".html", ".yaml", ".yml", ".toml", ".xml", ".log",
    ".mp4", ".pdf",
})  # fmt: skip
_HEAD = 32
_MAGIC = (
    b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"BM", b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+",
    b"\x00\x00\x00\x0cjP  ", b"\xff\x4f\xff\x51", b"8BPS", b"qoif", b"\x00\x00\x01\x00",
)  # fmt: skip
_FTYP = frozenset({b"avif", b"avis", b"heic", b"heix", b"heif", b"mif1", b"msf1", b"hevc"})
_PNM = frozenset(b"P%d%c" % (kind, space) for kind in range(1, 8) for space in b"\n \t\r")


def image_files(folder: Path) -> list[str]:
    """Return the image files under a folder as relative POSIX paths, sorted by code point.

    Hidden files and folders (a leading dot) are passed over; links to folders are followed once.

    Parameters
    ----------
    folder
        Where to look, at any depth.

    Raises
    ------
    InputError
        When the folder is missing, is no folder, can't be listed, or holds no image.
    """
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        msg = f"image folder {folder} {what}"
        raise InputError(msg)
    try:
        found = sorted(_walk(str(folder), "", set()))
    except OSError as error:
        msg = f"can't list {folder}: {error.strerror}"
        raise InputError(msg) from error
    if not found:
        msg = f"image folder {folder} holds no image"
        raise InputError(msg)
    return found


def _walk(folder: str, prefix: str, seen: set[tuple[int, int]]) -> Iterator[str]:
    status = os.stat(folder)  # noqa: PTH116  strings are several times faster here than Path
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            is_folder = _holds(entry.is_dir)
            if _is_image(entry, is_folder=is_folder):
                yield prefix + entry.name
            if is_folder:
                yield from _walk(entry.path, f"{prefix}{entry.name}/", seen)


def _holds(question: Callable[[], bool]) -> bool:
    """Ask about an entry; one that can't be followed (a link to itself) is neither file nor folder."""
    try:
        return question()
    except OSError:
        return False


def _is_image(entry: os.DirEntry[str], *, is_folder: bool) -> bool:
    extension = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122  as above
    if extension in EXTENSIONS:
        return True
    return not is_folder and extension not in _NOT_IMAGES and _holds(entry.is_file) and is_image(_head(entry.path))


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  as above
            return file.read(_HEAD)
    except OSError:  # not readable and not named like an image: nobody asked for it
        return b""


def is_image(head: bytes) -> bool:
    """Return whether the first 32 bytes of a file are those of an image format that Pillow may open."""
    if head.startswith(_MAGIC) or head[:3] in _PNM:
        return True
    return (head[:4] == b"RIFF" and head[8:12] == b"WEBP") or (head[4:8] == b"ftyp" and head[8:12] in _FTYP)


def has_image_extension(name: str) -> bool:
    """Return whether a name ends like an image file's."""
    name = name.rpartition("/")[2]
    dot = name.rfind(".")
    return dot > 0 and name[dot:].lower() in EXTENSIONS
