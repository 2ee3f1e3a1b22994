"""Findings: what files and rows say about each other, walked both ways, as values."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from clipstore import keys
from clipstore.errors import Damaged
from clipstore.storage import segments as files
from clipstore.storage import soundness
from clipstore.storage.catalogue import segments, settings, spaces
from clipstore.storage.catalogue.statements import rows, rows_in
from clipstore.storage.finding import Finding
from clipstore.storage.location import VECTORS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clipstore.arrays import Ids
    from clipstore.storage.catalogue import Catalogue, Tx
    from clipstore.storage.catalogue.segments import SegmentRow

AGAIN = "run `clipstore store verify --repair`: its items are encoded again when needed"
_REBUILD = "run `clipstore store verify --repair`: it keeps the damaged file and rebuilds from the segments"
_LATER = "nothing to do: `clipstore store gc` takes it away"
_SAVED = "add the eval set or system again"
REBUILD, UNDER_WAY = "rebuild", "under way"
"""A setting of the catalogue, and its value from the start of a rebuild to its end."""

_FIRST = 3  # ids that a finding names


def check(folder: Path, catalogue: Catalogue, *, checksums: bool = True) -> list[Finding]:
    """Look for anything in the store that is not as it was committed.

    Parameters
    ----------
    folder
        The store's folder.
    catalogue
        Its catalogue.
    checksums
        Read every byte and compare checksums; otherwise vectors are read, checksums are not computed.

    Returns
    -------
    list[Finding]
        Empty for a sound store. ``note`` findings need nothing done.
    """
    try:
        with catalogue.read() as tx:
            found = list(_catalogue(tx, catalogue.url_shown, thorough=checksums))
            if settings.get(tx, REBUILD) == UNDER_WAY:
                detail = "a rebuild of it did not come to its end: segments that have no row yet are no leftovers"
                found.append(Finding("catalogue", catalogue.url_shown, detail, _REBUILD, "damage"))
            table, dims = segments.all(tx), {space.digest: space.dim for space in spaces.all(tx)}
    except Damaged as error:
        return [Finding("catalogue", catalogue.url_shown, str(error), _REBUILD, "damage")]
    for row in table:
        found.extend(_segment(folder, row, dims[row.digest], checksums=checksums))
    with catalogue.read() as tx:
        now = {row.name for row in segments.all(tx)}
        found = [finding for finding in found if finding.segment is None or finding.segment in now]
        found.extend(_unknown_images(tx, folder, [row for row in table if row.modality == "image"]))
    found.extend(_strays(folder, now))
    return found


def _segment(folder: Path, row: SegmentRow, dim: int, *, checksums: bool) -> Iterator[Finding]:
    path = row.path(folder)
    where = str(path.relative_to(folder))

    def finding(kind: str, detail: str) -> Finding:
        return Finding(kind, where, detail, AGAIN, "damage", row.name)

    if row.dim != dim:
        yield finding("dimension", f"its vectors have {row.dim} numbers, those of its encoder {dim}")
    try:
        segment = files.open(path, row)
        if checksums and files.checksum(path) != row.sha256:
            yield finding("checksum", f"its bytes are not those committed (sha256:{row.sha256[:12]}…)")
        yield from (finding(kind, detail) for kind, detail in _content_problems(segment))
    except files.Gone:
        yield finding("missing file", f"{row.rows:,} {row.modality} vectors are gone")
    except Damaged as error:
        yield finding(_header_kind(path, row), str(error).split(": ", 1)[-1])


def _header_kind(path: Path, row: SegmentRow) -> str:
    with contextlib.suppress(OSError):
        if path.stat().st_size != row.bytes:
            return "truncated"
    shape = None
    with contextlib.suppress(Damaged):
        shape = files.shape_of(path)
    if shape is None:
        return "header"
    return "dimension" if shape[1] != row.dim else "count"


def _content_problems(segment: files.Segment) -> Iterator[tuple[str, str]]:
    ids, vectors = segment.ids, segment.vectors()
    if (np.diff(ids) <= 0).any() or ids[0] < 0:
        yield "order of ids", "ids are not sorted and distinct"
    infinite = off = 0
    for block in soundness.blocks(vectors):
        bad = ~np.isfinite(block).all(axis=1)
        infinite += int(bad.sum())
        off += int((soundness.off_norm(block) & ~bad).sum())
    if infinite:
        yield "not finite", f"{infinite} of {len(ids)} vectors hold NaN or infinity"
    if off:
        yield "not unit norm", f"{off} of {len(ids)} vectors are not of unit norm"


def _strays(folder: Path, names: set[str]) -> Iterator[Finding]:
    for path in sorted((folder / VECTORS).glob("*/*/*")):
        where = str(path.relative_to(folder))
        if path.suffix == files.UNFINISHED:
            yield Finding("unfinished file", where, "a writer stopped here, or is at work", _LATER, "note")
        elif path.suffix == files.SUFFIX and path.stem not in names:
            yield Finding("unreferenced file", where, "no row names it; no reader sees it", _LATER, "note")


def _unknown_images(tx: Tx, folder: Path, table: list[SegmentRow]) -> Iterator[Finding]:
    for row in table:
        with contextlib.suppress(Damaged):
            ids = files.open(row.path(folder), row).ids
            missing = _absent(tx, "images", ids)
            if missing:
                where = str(row.path(folder).relative_to(folder))
                detail = f"{len(missing)} of its ids have no image row ({_named(missing)})"
                yield Finding("ids without content", where, detail, "add those images again", "note", row.name)


def _absent(tx: Tx, table: str, ids: Ids) -> list[int]:
    asked = ids.tolist()
    query = f"SELECT id FROM {table} WHERE id IN ({{marks}})"  # noqa: S608  the name is one of ours
    there = {row[0] for row in rows_in(tx, query, asked)}
    return [key for key in asked if key not in there]


def _named(ids: list[int]) -> str:
    return ", ".join(keys.to_hex(key) for key in ids[:_FIRST])


def _catalogue(tx: Tx, where: str, *, thorough: bool) -> Iterator[Finding]:
    if tx.dialect.name == "sqlite":
        yield from _sqlite(tx, where, thorough=thorough)
    for table, what in (("item_references", "references"), ("candidates", "candidates")):
        query = f"SELECT DISTINCT c.text_id FROM {table} c LEFT JOIN texts t ON t.id = c.text_id WHERE t.id IS NULL"  # noqa: S608
        lost = [row[0] for row in rows(tx, query)]
        if lost:
            yield Finding("text missing", where, f"{len(lost)} {what} have no text ({_named(lost)})", _SAVED, "damage")
    wrong = [key for key, text in _texts(tx) if keys.text_id(text) != key]
    if wrong:
        detail = f"{len(wrong)} texts are not what their id says ({_named(wrong)})"
        yield Finding("text changed", where, detail, _SAVED, "damage")


def _texts(tx: Tx) -> Iterator[tuple[int, str]]:
    last = -1
    while page := rows(tx, "SELECT id, text FROM texts WHERE id > ? ORDER BY id LIMIT 10000", last):
        yield from ((row[0], row[1]) for row in page)
        last = page[-1][0]


def _sqlite(tx: Tx, where: str, *, thorough: bool) -> Iterator[Finding]:
    pragma = "integrity_check" if thorough else "quick_check"
    problems = [str(row[0]) for row in rows(tx, f"PRAGMA {pragma}")]
    if problems != ["ok"]:
        yield Finding("catalogue", where, "; ".join(problems[:_FIRST]), _REBUILD, "damage")
    broken = rows(tx, "PRAGMA foreign_key_check")
    if broken:
        tables = ", ".join(sorted({str(row[0]) for row in broken}))
        yield Finding("catalogue", where, f"{len(broken)} rows of {tables} point to nothing", _SAVED, "damage")
