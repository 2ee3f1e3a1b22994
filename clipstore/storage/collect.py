"""Collecting: vectors, texts and images that nothing refers to any more, and that are old enough.

Something refers to what an eval set, a system (old captions too) or a run names. The last
use of anything else is known coarsely: a vector is as young as its segment, so that reading
never writes. What goes is planned on one snapshot, and done only if the store still is that one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import Busy, CannotWrite, Damaged
from clipstore.storage import durable, settings_file, splice
from clipstore.storage import segments as files
from clipstore.storage.catalogue import references, replacements, segments, settings, spaces
from clipstore.storage.check import REBUILD, UNDER_WAY
from clipstore.storage.compact import row_of
from clipstore.storage.splice import Source
from clipstore.storage.translate import REPAIR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clipstore.arrays import Ids
    from clipstore.storage.catalogue import Catalogue, Tx
    from clipstore.storage.catalogue.segments import SegmentRow
    from clipstore.storage.catalogue.spaces import SpaceRow

    KeysOf = Callable[[SpaceRow, Sequence[str], Sequence[str]], Ids | None]

DAY = 86_400.0

_NOTHING = np.empty(0, np.int64)


@final
@dataclass(frozen=True, eq=False)
class Drop:
    """A segment that loses rows: its row, and which of its rows stay, bool of shape (rows,)."""

    row: SegmentRow
    keep: np.ndarray

    @property
    def vectors(self) -> int:
        """How many vectors go."""
        return int(len(self.keep) - self.keep.sum())

    @property
    def bytes(self) -> int:
        """How many bytes of the file go."""
        return self.vectors * (self.row.bytes // self.row.rows)


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """What can go.

    Parameters
    ----------
    version
        Number of the commit that it was made on.
    drops
        Segments that lose rows.
    texts, images
        Ids of rows that go, int64.
    runs
        Records of runs that go, and before when they were made (epoch seconds).
    cuts
        Fingerprint of a space -> vector keys whose cuts go.
    """

    version: int
    drops: list[Drop]
    texts: Ids
    images: Ids
    runs: tuple[int, float] = (0, 0.0)
    cuts: dict[str, Ids] = field(default_factory=dict)

    @property
    def vectors(self) -> int:
        """How many vectors go."""
        return sum(drop.vectors for drop in self.drops)

    @property
    def bytes(self) -> int:
        """How many bytes of vectors go."""
        return sum(drop.bytes for drop in self.drops)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.drops or len(self.texts) or len(self.images) or self.runs[0])


def plan(catalogue: Catalogue, keys_of: KeysOf, *, unused_for: float = 90.0, forget_runs: float | None = None) -> Plan:
    """Return what nothing refers to and was not used for some days.

    Parameters
    ----------
    catalogue
        Of the store.
    keys_of
        Gives, for a space, its prefixes and raw texts, all their vector keys; None where that can't be known.
    unused_for
        Days.
    forget_runs
        Days after which the record of a run counts no more; None keeps all.

    Raises
    ------
    CannotWrite
        When the store is marked as a base: what others use is not known here.
    Damaged
        When a rebuild of the catalogue did not come to its end.
    """
    if settings_file.is_base(catalogue.folder):
        msg = f"{catalogue.folder}: this store is marked as a base of others, so nothing here is known to be unused"
        raise CannotWrite(msg)
    now = time.time()
    runs_since = 0.0 if forget_runs is None else now - forget_runs * DAY
    with catalogue.read() as tx:
        if settings.get(tx, REBUILD) == UNDER_WAY:
            msg = f"{catalogue.folder}: a rebuild of the catalogue did not come to its end: {REPAIR}"
            raise Damaged(msg)
        table = segments.all(tx)
        kept = references.text_ids(tx, runs_since), references.image_ids(tx, runs_since)
        old = now - unused_for * DAY
        keepers = {space.digest: _kept_keys(tx, space, kept[0], keys_of) for space in spaces.all(tx)}
        drops: list[Drop] = []
        left: dict[tuple[str, str], Ids] = {}
        for row in table:
            wanted = kept[1] if row.modality == "image" else keepers[row.digest]
            ids = files.open(row.path(catalogue.folder), row).ids
            keep = np.ones(len(ids), bool) if wanted is None or row.created > old else np.isin(ids, wanted)
            if not keep.all():
                drops.append(Drop(row, keep))
            key = row.digest, row.modality
            left[key] = np.union1d(left.get(key, _NOTHING), ids[keep])
        return Plan(
            replacements.version(tx),
            drops,
            _unused_texts(tx, kept[0], left, keys_of),
            _unused_images(tx, kept[1], left),
            (references.runs_before(tx, runs_since), runs_since),
            _lost_keys(catalogue, drops, left),
        )


def _lost_keys(catalogue: Catalogue, drops: Iterable[Drop], left: dict[tuple[str, str], Ids]) -> dict[str, Ids]:
    lost: dict[str, Ids] = {}
    for drop in drops:
        if drop.row.modality == "text":
            gone = files.open(drop.row.path(catalogue.folder), drop.row).ids[~drop.keep]
            gone = gone[~np.isin(gone, left[drop.row.digest, "text"])]
            lost[drop.row.digest] = np.union1d(lost.get(drop.row.digest, _NOTHING), gone)
    return lost


def _kept_keys(tx: Tx, space: SpaceRow, kept: Ids, keys_of: KeysOf) -> Ids | None:
    """Return the vector keys of the texts that are named; None when the space can't be read that way."""
    prefixes = spaces.prompts(tx, space.digest)
    found = [_NOTHING]
    for ids, texts in references.all_texts(tx):
        named = np.isin(np.array(ids, np.int64), kept)
        vector_keys = keys_of(space, prefixes, [texts[index] for index in np.flatnonzero(named)])
        if vector_keys is None:
            return None
        found.append(vector_keys)
    return None if not prefixes else np.unique(np.concatenate(found))


def _unused_texts(tx: Tx, kept: Ids, left: dict[tuple[str, str], Ids], keys_of: KeysOf) -> Ids:
    """Return the texts that nothing names and of which no vector stays."""
    unused = []
    with_texts = [space for space in spaces.all(tx) if len(left.get((space.digest, "text"), ()))]
    prefixes = {space.digest: spaces.prompts(tx, space.digest) for space in with_texts}
    for ids, texts in references.all_texts(tx):
        loose = np.flatnonzero(~np.isin(np.array(ids, np.int64), kept))
        raw = [texts[index] for index in loose]
        needed = np.zeros(len(loose), bool)
        for space in with_texts:
            vector_keys = keys_of(space, prefixes[space.digest], raw)
            if vector_keys is None or not prefixes[space.digest]:
                return _NOTHING
            there = np.isin(vector_keys, left[space.digest, "text"])
            needed |= there.reshape(len(prefixes[space.digest]), len(raw)).any(axis=0)
        unused.append(np.array(ids, np.int64)[loose[~needed]])
    return np.concatenate([_NOTHING, *unused])


def _unused_images(tx: Tx, kept: Ids, left: dict[tuple[str, str], Ids]) -> Ids:
    stay = np.concatenate([kept, *(ids for (_, modality), ids in left.items() if modality == "image")])
    there = references.all_images(tx)
    unused: Ids = there[~np.isin(there, stay)]
    return unused


def carry_out(catalogue: Catalogue, planned: Plan) -> None:
    """Take away what was planned, in one transaction; the files go after their readers' grace.

    Raises
    ------
    Busy
        When the store changed since the plan was made: plan again.
    CannotWrite
        When the store is read-only or the disk is full.
    """
    written = []
    for drop in planned.drops:
        folder = drop.row.path(catalogue.folder).parent
        source = Source(drop.row.path(catalogue.folder), drop.row, drop.keep)
        written.append(splice.write(folder, [source], drop.row.dtype))
    done = False
    try:
        with catalogue.write() as tx:
            if replacements.version(tx) != planned.version:
                msg = f"{catalogue.url_shown}: the store changed meanwhile; nothing was taken away: run it again"
                raise Busy(msg)
            for drop, new in zip(planned.drops, written, strict=True):
                row = None if new is None else row_of(new, drop.row, drop.row.environment, drop.row.created)
                replacements.replace(tx, [drop.row], row, [])
            references.drop_texts(tx, planned.texts)
            references.drop_images(tx, planned.images)
            for digest, vector_keys in planned.cuts.items():
                references.drop_cuts(tx, digest, vector_keys)
            if planned.runs[0]:
                references.drop_runs(tx, planned.runs[1])
        done = True
    finally:
        if not done:
            for drop, new in zip(planned.drops, written, strict=True):
                if new is not None:
                    durable.discard(drop.row.path(catalogue.folder).with_name(f"{new.name}{files.SUFFIX}"))
