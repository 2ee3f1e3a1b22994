"""Repair: mend what can be mended, set aside what can't, lose nothing good.

A damaged segment's row goes, in one transaction, and its file moves to ``aside/``; its items
are encoded again when they are needed. A sound file that no row names (a writer was killed
between file and row, or the catalogue was lost) is adopted: ids are content hashes, so its
vectors are right wherever they are found.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import numpy as np

from clipstore.errors import Damaged
from clipstore.storage import layout, soundness
from clipstore.storage import segments as files
from clipstore.storage.catalogue import Catalogue, replacements, segments, settings, spaces
from clipstore.storage.catalogue.segments import SegmentRow
from clipstore.storage.check import REBUILD, UNDER_WAY, check
from clipstore.storage.faults import reach
from clipstore.storage.finding import Finding
from clipstore.storage.location import ASIDE, CATALOGUE, VECTORS
from clipstore.storage.translate import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clipstore.storage.catalogue import Tx

GRACE = 3600.0
"""Seconds for which a file without a row is left alone: its writer may be about to add the row."""

_AGAIN = "its items are encoded again when needed"
_BEYOND_REPAIR = {"ids without content", "text missing", "text changed", "catalogue"}


def repair(folder: Path, catalogue: Catalogue, *, grace: float = GRACE) -> list[Finding]:
    """Mend the store; return what was done, one finding each, and what must be done by hand.

    Parameters
    ----------
    folder
        The store's folder.
    catalogue
        Its catalogue.
    grace
        Seconds for which a file without a row is left alone.

    Raises
    ------
    CannotWrite
        When the store is read-only or the disk is full.
    Busy
        When other writers take too long.
    """
    found = check(folder, catalogue)
    by_hand = [finding for finding in found if finding.severity == "damage" and finding.kind in _BEYOND_REPAIR]
    return [*_drop_damaged(folder, catalogue, found), *_adopt_all(folder, catalogue, grace), *by_hand]


def rebuild(folder: Path) -> tuple[Catalogue, list[Finding]]:
    """Set a damaged or lost SQLite catalogue aside, make a new one, and adopt every sound segment.

    Names of models, eval sets and texts are not in the segments: add them again; nothing is encoded for it.

    Returns
    -------
    tuple
        The new catalogue, open, and what was done.
    """
    done = list(_set_catalogue_aside(folder))
    catalogue = Catalogue.open(folder, rebuilding=True)
    try:
        _mark(catalogue, UNDER_WAY)  # until all is adopted: what has no row yet is no leftover
        done += _adopt_all(folder, catalogue, grace=0.0)
        _mark(catalogue, "")
    except BaseException:
        catalogue.close()
        raise
    return catalogue, done


def _mark(catalogue: Catalogue, value: str) -> None:
    with catalogue.write() as tx:
        settings.set(tx, REBUILD, value)


def _drop_damaged(folder: Path, catalogue: Catalogue, found: list[Finding]) -> Iterator[Finding]:
    damaged = {finding.segment: finding for finding in found if finding.segment and finding.severity == "damage"}
    if not damaged:
        return
    with catalogue.read() as tx:
        rows = {row.name: row.rows for row in segments.all(tx)}
    # The file first: if this stops halfway, a row without file is found again, a damaged file is never adopted.
    for name, finding in damaged.items():
        path = folder / finding.where
        where = f"its file is kept as {_set_aside(folder, path)}" if path.exists() else "its file was missing"
        lost = f"{rows.get(name, 0):,} vectors"
        yield Finding("set aside", finding.where, f"{finding.kind}; {lost} lost; {where}", _AGAIN, "note")
    with catalogue.write() as tx:
        segments.remove(tx, damaged)


def _set_aside(folder: Path, path: Path) -> str:
    target = folder / ASIDE / path.relative_to(folder)
    if target.exists():
        target = target.with_name(f"{target.name}.{time.time_ns()}")
    with writing(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        reach("file deleting")
        path.replace(target)
        reach("file deleted")
    return str(target.relative_to(folder))


def _set_catalogue_aside(folder: Path) -> Iterator[Finding]:
    again = "add eval sets and systems again: nothing is encoded for it"
    if not (folder / CATALOGUE).exists():
        yield Finding("catalogue", CATALOGUE, "it is gone, with its eval sets, systems, texts and runs", again, "note")
    for suffix in ("", "-wal", "-shm", "-journal"):
        path = folder / f"{CATALOGUE}{suffix}"
        if path.exists():
            kept = _set_aside(folder, path)
            detail = f"the old catalogue is kept as {kept}"
            yield Finding("set aside", path.name, detail, again, "note")


def _adopt_all(folder: Path, catalogue: Catalogue, grace: float) -> Iterator[Finding]:
    with catalogue.read() as tx:
        known = {row.name for row in segments.all(tx)} | {one.name for one in replacements.retired(tx)}
    for path in sorted((folder / VECTORS).glob(f"*/*/*{files.SUFFIX}")):
        if path.stem in known or path.parent.name not in ("image", "text") or _age(path) < grace:
            continue
        where = str(path.relative_to(folder))
        try:
            row = _sound(path)
        except Damaged as error:
            yield Finding("set aside", where, f"{error}; kept as {_set_aside(folder, path)}", _AGAIN, "note")
            continue
        with catalogue.write() as tx:
            adopted = _adopt(tx, row)
        if adopted:
            yield Finding("adopted", where, f"{row.rows:,} vectors came back", "nothing more to do", "note")
    yield from _sweep(folder, grace)


def _adopt(tx: Tx, row: SegmentRow) -> bool:
    if any(known.name == row.name for known in segments.all(tx, row.digest, row.modality)):
        return False
    space = spaces.get(tx, row.digest)
    if space is None:
        spaces.register(tx, row.digest, {}, row.dim, row.dtype)
    elif space.dim != row.dim:
        return False
    segments.add(tx, row)
    return True


def _sound(path: Path) -> SegmentRow:
    shape, digest = files.shape_of(path), files.checksum(path)
    if shape is None:
        msg = f"{path.name} is no whole segment"
        raise Damaged(msg)
    if not files.is_named(path.stem, digest):
        msg = f"{path.name} does not hold the bytes that its name was made for"
        raise Damaged(msg)
    rows, dim, dtype = shape
    row = SegmentRow(
        name=path.stem,
        digest=path.parent.parent.name,
        modality="image" if path.parent.name == "image" else "text",
        rows=rows,
        dim=dim,
        dtype=dtype,
        vectors_offset=layout.VECTORS_OFFSET[dtype],
        ids_offset=layout.ids_offset(rows, dim, dtype),
        bytes=layout.file_size(rows, dim, dtype),
        sha256=digest,
        layout=layout.VERSION,
        environment=None,
        created=path.stat().st_mtime,
    )
    segment = files.open(path, row)
    ids, vectors = segment.ids, segment.vectors()
    off = any(soundness.off_norm(block).any() for block in soundness.blocks(vectors))
    if off or (np.diff(ids) <= 0).any() or ids[0] < 0:
        msg = f"{path.name} holds vectors or ids that no writer of ours makes"
        raise Damaged(msg)
    return row


def _sweep(folder: Path, grace: float) -> Iterator[Finding]:
    for path in sorted((folder / VECTORS).glob(f"*/*/*{files.UNFINISHED}")):
        if _age(path) >= grace:
            with contextlib.suppress(FileNotFoundError), writing(str(path)):
                path.unlink()
            yield Finding("removed", str(path.relative_to(folder)), "an unfinished file", "nothing more to do", "note")


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
