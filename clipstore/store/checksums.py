"""Checksums of a data set's images, as ``md5sum`` lists them: whether the files here are those of the paper."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from clipstore.errors import BadFormat
from clipstore.storage.catalogue import whole
from clipstore.storage.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clipstore.store.store import Store

UNKNOWN: Final = "image unknown"
"""The kind of finding about a file of the list that is not here."""
_DIGITS = 32
_OBTAIN = "get the data set's own files: scores of other pixels are not the paper's"


def check_images(store: Store, listed: Path, images: Path | None = None) -> tuple[list[Path], list[Finding]]:
    """Compare image files with a list of MD5 sums, each line ``MD5``, two spaces, a path.

    Parameters
    ----------
    store
        Its image files are looked up by the end of their paths.
    listed
        The list.
    images
        A folder to look in first.

    Returns
    -------
    tuple
        The files that are byte-identical; what is not. A file that is nowhere is a note, one with other bytes
        is damage. Of several files of one name here an identical one counts.

    Raises
    ------
    BadFormat
        When the list is none.
    """
    with store.catalogue.read() as tx:
        by_name: dict[str, list[Path]] = defaultdict(list)
        for file in whole.files(tx):
            by_name[Path(file.path).name].append(Path(file.path))
    agree: list[Path] = []
    found: list[Finding] = []
    for expected, name in _lines(listed):
        sums = {}
        for path in _places(name, images, by_name):
            sums[path] = _md5(path)
            if sums[path] == expected:
                agree.append(path)
                break
        else:
            found.append(_odd(name, expected, sums))
    return agree, found


def _odd(name: str, expected: str, sums: Mapping[Path, str | None]) -> Finding:
    if not sums:
        return Finding(UNKNOWN, name, "no file of this name is here", "add the set's images", "note")
    path = next(iter(sums))
    return _differs(path, expected, sums[path])


def _differs(path: Path, expected: str, actual: str | None) -> Finding:
    if actual is None:
        remedy = "give --images, or say where its folder is now with `clipstore store relink OLD NEW`"
        return Finding("image unreadable", str(path), "the file can't be read", remedy, "damage")
    detail = f"md5:{actual[:8]}… is not md5:{expected[:8]}…"
    return Finding("image differs", str(path), detail, _OBTAIN, "damage")


def _lines(listed: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = listed.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{listed}: can't be read as a list of checksums ({error})"
        raise BadFormat(msg) from error
    for number, line in enumerate(lines, start=1):
        digest, _, name = line.partition(" ")
        name = name.lstrip(" *")
        if not line.strip():
            continue
        if len(digest) != _DIGITS or not name or set(digest.lower()) - set("0123456789abcdef"):
            msg = f"{listed}:{number}: is no line of md5sum: a checksum, two spaces, a path"
            raise BadFormat(msg)
        yield digest.lower(), name


def _places(name: str, images: Path | None, by_name: dict[str, list[Path]]) -> list[Path]:
    """Return the files that a line may mean, the likeliest first."""
    parts = PurePosixPath(name).parts
    given = [] if images is None else [images / PurePosixPath(name), images / parts[-1]]
    found = [path for path in given if path.is_file()][:1]
    known = by_name.get(parts[-1], [])
    return found or sorted(known, key=lambda path: _shared(path.parts, parts), reverse=True)


def _shared(mine: tuple[str, ...], theirs: tuple[str, ...]) -> int:
    """Return how many parts two paths share at their ends."""
    count = 0
    for one, other in zip(reversed(mine), reversed(theirs), strict=False):
        if one != other:
            break
        count += 1
    return count


def _md5(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError:
        return None
