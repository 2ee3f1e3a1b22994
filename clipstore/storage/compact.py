"""Compaction: small segments become one, so that a look-up opens few files; each vector stays bit for bit.

Tiers are powers of :data:`FANOUT` in rows. As soon as so many segments of one tier pile up they
become one of the next, so a row is copied once a tier: n adds cost O(n log n) in all, and a
thousand small ones leave at most :data:`MOST` segments.

A new file is written, rows are swapped in one transaction (only if no other compaction came
between), and the old files stay for readers that have them in hand until :data:`GRACE` is over.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from clipstore.errors import Busy, CannotWrite, Damaged
from clipstore.storage import durable, splice
from clipstore.storage import segments as files
from clipstore.storage.catalogue import replacements, segments
from clipstore.storage.leftovers import sweep_retired
from clipstore.storage.location import VECTORS
from clipstore.storage.splice import Source
from clipstore.storage.upgrade import file_lock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.segments import SegmentRow
    from clipstore.storage.segments import SegmentFile

    Modality = Literal["image", "text"]

logger = logging.getLogger("clipstore.storage")

FANOUT = 4
"""So many segments of one tier become one of the next."""

MOST = 15
"""Segments of one modality that automatic compaction leaves, beside full ones."""

FULL = 1 << 31
"""Bytes above which automatic compaction leaves a segment alone."""

_PATIENCE = 5.0  # seconds that automatic compaction waits for other writers
_LONG = 60.0  # seconds that one that was asked for waits
_TRIES = 5
_PASSES = 50  # of one writer, while others add: the last to leave must have found nothing piled up


@final
@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did to one space and modality.

    Parameters
    ----------
    digest, modality
        Of which.
    segments
        How many there were, and how many there are.
    rows
        Vectors that there were, repeats counted, and that there are.
    """

    digest: str
    modality: Modality
    segments: tuple[int, int]
    rows: tuple[int, int]


def choose(sizes: Sequence[int]) -> list[int]:
    """Return which segments of these sizes, in rows, should become one now; none most of the time."""
    order = sorted(range(len(sizes)), key=lambda index: sizes[index])
    taken, total = 0, 0  # always a beginning of ``order``: the smallest ones
    while True:
        more = _crowded([sizes[index] for index in order[taken:]], total)
        if not more:
            break
        total += sum(sizes[index] for index in order[taken : taken + more])
        taken += more
    left = len(order) - taken + (taken > 0)
    if left > MOST:
        taken = max(taken, left - MOST + FANOUT)
    return sorted(order[:taken]) if taken > 1 else []


def _crowded(sizes: Sequence[int], merged: int) -> int:
    """Return how many of the smallest sizes fill a tier, together with what is merged already."""
    tiers = [_tier(size) for size in sizes]
    for tier in sorted(set(tiers)):
        if tiers.count(tier) + (merged > 0 and _tier(merged) == tier) >= FANOUT:
            return sum(1 for one in tiers if one <= tier)
    return 0


def _tier(rows: int) -> int:
    return (rows.bit_length() - 1) // (FANOUT.bit_length() - 1)


def tidy(catalogue: Catalogue, digest: str, modality: Modality) -> None:
    """Merge what has piled up in a space and modality; called by writers after a commit.

    Whatever stands in the way (another compactor, a busy or full store) leaves it for next time.
    """
    try:
        for _ in range(_PASSES):  # who found us at it left us what came meanwhile
            if not _tidied(catalogue, digest, modality):
                return
    except (Busy, CannotWrite, files.Gone) as error:
        logger.debug("%s: not compacted now: %s", catalogue.url_shown, error)
    except Damaged as error:
        logger.warning("not compacted: %s", error)


def _tidied(catalogue: Catalogue, digest: str, modality: Modality) -> bool:
    """Merge once what has piled up; say whether anything had."""
    with catalogue.read() as tx:
        table = segments.all(tx, digest, modality)
    small = [row for row in table if row.bytes < FULL]
    for dtype, dim in sorted({(row.dtype, row.dim) for row in small}):
        same = [row for row in small if (row.dtype, row.dim) == (dtype, dim)]
        chosen = [same[index] for index in choose([row.rows for row in same])]
        if chosen:
            with file_lock(_lock(catalogue, digest, modality), patience=0.0):
                _merge(catalogue, table, chosen, _PATIENCE)
            sweep_retired(catalogue)
            return True
    return False


def compact(catalogue: Catalogue) -> list[Compacted]:
    """Make one segment of all that a space and modality has, without repeats; say what changed.

    Raises
    ------
    CannotWrite
        When the store is read-only or the disk is full.
    Busy
        When other writers or compactors leave no room for it.
    Damaged
        When a segment's bytes are not those that were committed; nothing of its modality is changed.
    """
    with catalogue.read() as tx:
        groups = sorted({(row.digest, row.modality) for row in segments.all(tx)})
    done = [_compact_all(catalogue, digest, modality) for digest, modality in groups]
    sweep_retired(catalogue)
    return [one for one in done if one.segments[0] != one.segments[1] or one.rows[0] != one.rows[1]]


def _compact_all(catalogue: Catalogue, digest: str, modality: Modality) -> Compacted:
    with file_lock(_lock(catalogue, digest, modality), patience=_LONG):
        before = _table(catalogue, digest, modality)
        for dtype, dim in sorted({(row.dtype, row.dim) for row in before}):
            _insist(catalogue, digest, modality, (dtype, dim))
        after = _table(catalogue, digest, modality)
    rows = sum(row.rows for row in after)  # with what others added meanwhile
    return Compacted(digest, modality, (len(before), len(after)), (max(rows, sum(row.rows for row in before)), rows))


def _insist(catalogue: Catalogue, digest: str, modality: Modality, kind: tuple[str, int]) -> None:
    for _ in range(_TRIES):
        table = _table(catalogue, digest, modality)
        chosen = [row for row in table if (row.dtype, row.dim) == kind]
        if (len(chosen) < 2 and len(table) < 2) or _merge(catalogue, table, chosen, _LONG):
            return
    msg = f"{catalogue.url_shown}: other processes keep changing the store: compact when they are done"
    raise Busy(msg)


def _table(catalogue: Catalogue, digest: str, modality: Modality) -> list[SegmentRow]:
    with catalogue.read() as tx:
        return segments.all(tx, digest, modality)


def _lock(catalogue: Catalogue, digest: str, modality: Modality) -> Path:
    return catalogue.folder / VECTORS / digest / f"{modality}.lock"


def _merge(catalogue: Catalogue, table: Sequence[SegmentRow], chosen: Sequence[SegmentRow], patience: float) -> bool:
    """Make one segment of the chosen ones; say whether the store still was as ``table`` says."""
    if not chosen:
        return True
    if catalogue.readonly:
        with catalogue.write():  # says why it can't
            return False
    last = max(table.index(row) for row in chosen)
    earlier = table[: last + 1]
    sources = [_source(catalogue.folder, earlier, row, chosen) for row in chosen]
    if len(sources) == 1 and (sources[0].keep is None or sources[0].keep.all()):
        return True
    first = chosen[0]
    folder = first.path(catalogue.folder).parent
    written = splice.write(folder, sources, first.dtype)
    swapped = False
    try:
        with catalogue.write(patience) as tx:
            environment = replacements.joint_environment(tx, (row.environment for row in chosen))
            new = None if written is None else row_of(written, first, environment, max(row.created for row in chosen))
            swapped = replacements.replace(tx, chosen, new, [row.name for row in earlier])
    finally:
        if not swapped and written is not None and not _is_committed(catalogue, written):
            durable.discard(folder / f"{written.name}{files.SUFFIX}")
    return swapped


def _is_committed(catalogue: Catalogue, written: SegmentFile) -> bool:
    """Say whether a commit that ended in an error went through after all; yes, where that can't be known."""
    try:
        with catalogue.read() as tx:
            return any(row.name == written.name for row in segments.all(tx))
    except (Busy, CannotWrite, Damaged):
        return True


def _source(store: Path, earlier: Sequence[SegmentRow], row: SegmentRow, chosen: Sequence[SegmentRow]) -> Source:
    """Return a segment to merge without the rows that an earlier one, not merged now, answers for."""
    others = [one for one in earlier[: earlier.index(row)] if one not in chosen]
    if not others:
        return Source(row.path(store), row)
    ids = files.open(row.path(store), row).ids
    keep = np.ones(len(ids), dtype=bool)
    for other in others:
        keep &= ~held(store, other, ids)
    return Source(row.path(store), row, keep)


def held(store: Path, row: SegmentRow, wanted: np.ndarray) -> np.ndarray:
    """Say of each sorted id whether a segment has it, touching few of its pages: bool of shape (ids,)."""
    files.open(row.path(store), row)
    there = np.memmap(row.path(store), dtype="<i8", mode="r", offset=row.ids_offset, shape=(row.rows,))
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), row.rows, np.int64)
    for _ in range(row.rows.bit_length()):
        middle = (low + high) // 2
        searching = low < high
        less = searching & (there[np.minimum(middle, row.rows - 1)] < wanted)
        low = np.where(less, middle + 1, low)
        high = np.where(searching & ~less, middle, high)
    return np.asarray((low < row.rows) & (there[np.minimum(low, row.rows - 1)] == wanted))


def row_of(written: SegmentFile, like: SegmentRow, environment: int | None, created: float) -> SegmentRow:
    """Return the row of a written file that is of the space and modality of ``like``."""
    return replace(
        like,
        name=written.name,
        rows=written.rows,
        dim=written.dim,
        dtype=written.dtype,
        vectors_offset=written.vectors_offset,
        ids_offset=written.ids_offset,
        bytes=written.bytes,
        sha256=written.sha256,
        layout=written.layout,
        environment=environment,
        created=created,
    )
