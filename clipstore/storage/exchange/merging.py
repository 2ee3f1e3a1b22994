"""Merging: vectors and rows of another store come into this one; nothing is encoded, nothing here changes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.storage import compact, durable, splice
from clipstore.storage import segments as files
from clipstore.storage.catalogue import segments, settings
from clipstore.storage.catalogue.engine import WRITE_PATIENCE
from clipstore.storage.exchange import manifest
from clipstore.storage.lookup import Shelf
from clipstore.storage.splice import Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.segments import SegmentRow

_ATTEMPTS = 5


@final
@dataclass(frozen=True, slots=True)
class Merged:
    """What came in: vectors that were new, vectors that were here, new eval sets and systems."""

    vectors: int
    known: int
    sets: int
    systems: int


def merge(catalogue: Catalogue, other: Catalogue, *, names: bool = True) -> Merged:
    """Bring the vectors, texts, images, eval sets and systems of another store into this one.

    Parameters
    ----------
    catalogue
        Of this store.
    other
        Of the other; only read.
    names
        False leaves its eval sets and systems out.

    Raises
    ------
    InputError
        When an eval set or a system has other content under the same name here; nothing is taken over.
    Damaged
        When a segment of the other store is not what was committed.
    CannotWrite
        When this store is read-only or the disk is full.
    Gone
        When the other store keeps being compacted while it is read.
    """
    with other.read() as tx:
        named = list(manifest.pack_sets(tx)) if names else []
    manifest.refuse_clashes(catalogue, named, str(other.folder))
    before = _counts(catalogue)
    with other.read() as tx:
        manifest.unpack(catalogue, chain(manifest.pack_names(tx), manifest.pack_contents(tx)))
    vectors = _vectors(catalogue, other)
    with catalogue.write() as tx:
        manifest.put(tx, named)
    after = _counts(catalogue)
    return Merged(*vectors, after[0] - before[0], after[1] - before[1])


def _counts(catalogue: Catalogue) -> tuple[int, int]:
    from clipstore.storage.catalogue import sets

    with catalogue.read() as tx:
        summaries = sets.names(tx)
    return len(summaries), sum(summary.n_systems for summary in summaries)


def _vectors(catalogue: Catalogue, other: Catalogue) -> tuple[int, int]:
    """Bring segments in; a segment that was compacted away meanwhile sends us back to the other's rows."""
    new = known = 0
    done: set[str] = set()
    for attempt in range(_ATTEMPTS):
        with other.read() as tx:
            table, environments = segments.all(tx), settings.environments(tx)
        try:
            for row in table:
                if row.name not in done:
                    taken = take(catalogue, row, row.path(other.folder), environments.get(row.environment or -1))
                    done.add(row.name)
                    new, known = new + taken, known + row.rows - taken
        except files.Gone:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            break
    for digest, modality in sorted({(row.digest, row.modality) for row in table}):
        compact.tidy(catalogue, digest, modality)
    return new, known


def take(
    catalogue: Catalogue,
    row: SegmentRow,
    path: Path,
    environment: dict[str, str] | None,
    patience: float = WRITE_PATIENCE,
) -> int:
    """Bring the rows of a segment in that this store lacks, bit for bit; return how many.

    Parameters
    ----------
    catalogue
        Of this store; the segment's space is known to it.
    row, path
        The segment's row in its own store, and its file.
    environment
        What it was made in.
    patience
        Seconds to wait for other writers.
    """
    with catalogue.read() as tx:
        here = Shelf(catalogue.folder, segments.all(tx, row.digest, row.modality))
    lacking = ~here.contains(files.open(path, row).ids)
    if not lacking.any():
        return 0
    written = splice.write(row.path(catalogue.folder).parent, [Source(path, row, lacking)], row.dtype)
    if written is None:
        return 0
    done = False
    try:
        with catalogue.write(patience) as tx:
            number = None if environment is None else settings.environment(tx, environment)
            segments.add(tx, compact.row_of(written, row, number, row.created))
        done = True
    finally:
        if not done:
            durable.discard(row.path(catalogue.folder).with_name(f"{written.name}{files.SUFFIX}"))
    return int(np.count_nonzero(lacking))


def total(results: Sequence[Merged]) -> Merged:
    """Return the sum of several merges."""
    sums = [sum(getattr(one, field.name) for one in results) for field in dataclasses.fields(Merged)]
    return Merged(*sums)
