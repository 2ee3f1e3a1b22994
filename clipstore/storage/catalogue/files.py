"""Image files: which path held which image, so that a stat saves a read; and which could not be decoded.

A path is stored as its folder, once, and its name, so that a moved folder is one row to change.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from clipstore.storage.catalogue.statements import Tx, next_id, rows, rows_in, run, run_in, run_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class FileRow(NamedTuple):
    """An image file as it was when it was hashed.

    Parameters
    ----------
    path
        Absolute path.
    size, mtime_ns, ctime_ns, inode
        Its stat: bytes, nanoseconds, number.
    hashed_ns
        When it was hashed; a file changed less than a clock tick before is hashed again.
    image_id
        The image that it held.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    hashed_ns: int
    image_id: int


class FailureRow(NamedTuple):
    """A file that could not be decoded.

    Parameters
    ----------
    path
        Absolute path.
    size, mtime_ns
        Its stat: bytes, nanoseconds.
    reason
        What the decoder said.
    at
        Seconds since the epoch.
    """

    path: str
    size: int
    mtime_ns: int
    reason: str
    at: float


_SIGN = 1 << 63
_REMEMBER = (
    "INSERT INTO image_files (root_id, name, size, mtime_ns, ctime_ns, inode, hashed_ns, image_id) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (root_id, name) DO UPDATE SET size = excluded.size, "
    "mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, inode = excluded.inode, "
    "hashed_ns = excluded.hashed_ns, image_id = excluded.image_id"
)
_FAIL = (
    "INSERT INTO image_failures (path, size, mtime_ns, reason, failed_at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns, "
    "reason = excluded.reason, failed_at = excluded.failed_at"
)


def _signed(value: int) -> int:
    return value - (_SIGN << 1) if value >= _SIGN else value  # some file systems use all 64 bits


def _unsigned(value: int) -> int:
    return value + (_SIGN << 1) if value < 0 else value


def _roots(tx: Tx) -> dict[bytes, int]:
    return {bytes(path): key for key, path in rows(tx, "SELECT id, path FROM image_roots")}


def _split(path: str) -> tuple[bytes, bytes]:
    return os.path.split(os.fsencode(path))


def known(tx: Tx, paths: Iterable[str]) -> dict[str, FileRow]:
    """Return what is remembered of those files, by path."""
    names: dict[bytes, dict[bytes, str]] = defaultdict(dict)
    for path in paths:
        root, name = _split(path)
        names[root][name] = path
    query = (
        "SELECT name, size, mtime_ns, ctime_ns, inode, hashed_ns, image_id FROM image_files "
        "WHERE root_id = ? AND name IN ({marks})"
    )
    found: dict[str, FileRow] = {}
    for root, key in _roots(tx).items():
        for row in rows_in(tx, query, names.get(root, ()), key):
            path = names[root][bytes(row[0])]
            found[path] = FileRow(path, row[1], row[2], row[3], _unsigned(row[4]), row[5], row[6])
    return found


def remember(tx: Tx, files: Sequence[FileRow]) -> None:
    """Remember files, in place of what was known of the same paths."""
    roots = _roots(tx)
    new = []
    for file in files:
        root, name = _split(file.path)
        if root not in roots:
            roots[root] = next_id(tx, "image_roots")
            run(tx, "INSERT INTO image_roots (id, path) VALUES (?, ?)", roots[root], root)
        stat = (file.size, file.mtime_ns, file.ctime_ns, _signed(file.inode), file.hashed_ns, file.image_id)
        new.append((roots[root], name, *stat))
    run_many(tx, _REMEMBER, sorted(new))


def paths(tx: Tx, image_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return all known paths of each image that has any, the one that was hashed last first."""
    query = (
        "SELECT f.image_id, r.path, f.name FROM image_files f JOIN image_roots r ON r.id = f.root_id "
        "WHERE f.image_id IN ({marks}) ORDER BY f.image_id, f.hashed_ns DESC, r.path, f.name"
    )
    found: dict[int, tuple[str, ...]] = {}
    for key, root, name in rows_in(tx, query, sorted({int(key) for key in image_ids})):
        path = os.fsdecode(os.path.join(bytes(root), bytes(name)))  # noqa: PTH118
        found[key] = (*found.get(key, ()), path)
    return found


def roots(tx: Tx) -> list[str]:
    """Return the folders in which image files are known, in order."""
    return sorted(os.fsdecode(root) for root in _roots(tx))


def relink(tx: Tx, old_root: str, new_root: str) -> int:
    """Say that a folder, with all below it, now lies elsewhere; return how many files that moves."""
    old, new = os.fsencode(old_root.rstrip("/")), os.fsencode(new_root.rstrip("/"))
    roots, moved = _roots(tx), 0
    for root, key in list(roots.items()):
        if root == old or root.startswith(old + b"/"):
            moved += _move(tx, key, new + root[len(old) :] or b"/", roots)
    return moved


def _move(tx: Tx, key: int, target: bytes, roots: dict[bytes, int]) -> int:
    there = roots.get(target)
    files = rows(tx, "SELECT count(*) FROM image_files WHERE root_id = ?", key)[0][0]
    if there is None:
        run(tx, "UPDATE image_roots SET path = ? WHERE id = ?", target, key)
    elif there != key:
        columns = "name, size, mtime_ns, ctime_ns, inode, hashed_ns, image_id"
        copy = f"INSERT INTO image_files (root_id, {columns}) SELECT ?, {columns} FROM image_files WHERE root_id = ?"  # noqa: S608
        run(tx, f"{copy} ON CONFLICT (root_id, name) DO NOTHING", there, key)
        run(tx, "DELETE FROM image_files WHERE root_id = ?", key)
        run(tx, "DELETE FROM image_roots WHERE id = ?", key)
    return int(files)


def fail(tx: Tx, failures: Sequence[FailureRow]) -> None:
    """Remember files that could not be decoded, in place of what was known of the same paths."""
    values = [(os.fsencode(row.path), row.size, row.mtime_ns, row.reason, row.at) for row in failures]
    run_many(tx, _FAIL, values)


def failures(tx: Tx) -> list[FailureRow]:
    """Return all files that could not be decoded, by path."""
    found = rows(tx, "SELECT path, size, mtime_ns, reason, failed_at FROM image_failures ORDER BY path")
    return [_failure(row) for row in found]


def _failure(row: Any) -> FailureRow:
    return FailureRow(os.fsdecode(bytes(row[0])), *row[1:])


def clear_failures(tx: Tx, paths: Iterable[str]) -> int:
    """Forget that those files failed; return how many had."""
    return run_in(tx, "DELETE FROM image_failures WHERE path IN ({marks})", [os.fsencode(path) for path in paths])
