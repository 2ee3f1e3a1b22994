"""Leftovers: files that no row names: retired ones, and strays of killed writers. They go after a grace."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.storage import segments as files
from clipstore.storage.catalogue import replacements, segments
from clipstore.storage.faults import reach
from clipstore.storage.location import VECTORS
from clipstore.storage.translate import writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from clipstore.storage.catalogue import Catalogue

GRACE = 600.0
"""Seconds for which a retired file stays for readers that still have its row in hand."""

STRAY_GRACE = 3600.0
"""Seconds for which a file that never had a row stays: its writer may be about to add the row."""


@final
@dataclass(frozen=True, slots=True)
class Leftover:
    """A file that no row names: where it lies, its size in bytes, and whether its grace is over."""

    path: Path
    bytes: int
    due: bool


def find(catalogue: Catalogue, *, grace: float | None = None) -> list[Leftover]:
    """Return the files that no row names.

    Parameters
    ----------
    catalogue
        Of the store.
    grace
        Seconds, in place of the two usual ones.
    """
    root = catalogue.folder / VECTORS
    paths = sorted(path for path in root.glob("*/*/*") if path.suffix in {files.SUFFIX, files.UNFINISHED})
    with catalogue.read() as tx:  # after the listing: what is committed meanwhile has a row
        named = {row.name for row in segments.all(tx)}
        retired = {one.name: one.since for one in replacements.retired(tx)}
    now = time.time()
    found = []
    for path in paths:
        if path.stem in named:
            continue
        with contextlib.suppress(FileNotFoundError):
            stat = path.stat()
            since = max(stat.st_mtime, retired.get(path.stem, 0.0))
            usual = GRACE if path.stem in retired else STRAY_GRACE
            due = now - since >= (usual if grace is None else grace)
            found.append(Leftover(path, stat.st_size, due))
    return found


def sweep(catalogue: Catalogue, leftovers: Iterable[Leftover]) -> tuple[int, int]:
    """Delete those leftovers whose grace is over; return how many files and bytes went."""
    due = [one for one in leftovers if one.due]
    gone = [one for one in due if _delete(one.path)]
    _forget(catalogue, [one.path.stem for one in due])
    return len(gone), sum(one.bytes for one in gone)


def sweep_retired(catalogue: Catalogue, *, grace: float = GRACE) -> int:
    """Delete retired files whose grace is over, without a look into folders; return how many."""
    with catalogue.read() as tx:
        retired = replacements.retired(tx)
    due = [one for one in retired if time.time() - one.since >= grace]
    for one in due:
        _delete(one.path(catalogue.folder))
    _forget(catalogue, [one.name for one in due])
    return len(due)


def _delete(path: Path) -> bool:
    reach("file deleting")
    with writing(str(path)):
        try:
            path.unlink()
        except FileNotFoundError:
            return False
    reach("file deleted")
    return True


def _forget(catalogue: Catalogue, names: list[str]) -> None:
    with catalogue.read() as tx:
        known = {one.name for one in replacements.retired(tx)} & set(names)
    if known:
        with catalogue.write() as tx:
            replacements.forget(tx, sorted(known))
