"""Replacements: a segment's row takes the place of others, whose files then wait for their readers to move on.

Of two segments with one item the earlier answers, so the new row stands where the first of
the old ones stood. Names of retired files are settings until the files are deleted.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from clipstore.storage.catalogue import segments, settings
from clipstore.storage.catalogue.statements import Tx, number, rows, rows_in, run, run_in
from clipstore.storage.faults import reach

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from clipstore.storage.catalogue.segments import SegmentRow

_RETIRED = "retired "
_JOINT = " | "


class Retired(NamedTuple):
    """A file that no row names any more: its name, where it lies in the store, since when (epoch seconds)."""

    name: str
    place: str
    since: float

    def path(self, store: Path) -> Path:
        """Return where its file lies."""
        return store / "vectors" / self.place / f"{self.name}.faiss"


def replace(tx: Tx, old: Collection[SegmentRow], new: SegmentRow | None, standing: Collection[str]) -> bool:
    """Put ``new`` in the place of ``old``; say whether the store still was as the caller saw it.

    Parameters
    ----------
    tx
        A writing transaction.
    old
        Segments that go, all of one space and modality.
    new
        What comes for them, its file complete on the disk; None when nothing does.
    standing
        Names that must still be committed; False is returned, and nothing done, when one is not.
    """
    known = {row.name for row in segments.all(tx)}
    names = [row.name for row in old]
    if not known.issuperset(standing) or not known.issuperset(names):
        return False
    reach("row inserting")
    marks = "SELECT id, name FROM segments WHERE name IN ({marks})"
    place = min(row[0] for row in rows_in(tx, marks, names))
    segments.remove(tx, names)
    now = time.time()
    for row in old:
        settings.set(tx, f"{_RETIRED}{row.name}", json.dumps([f"{row.digest}/{row.modality}", now]))
    if new is not None:
        segments.add(tx, new)
        run(tx, "UPDATE segments SET id = ? WHERE name = ?", place, new.name)
    reach("row inserted")
    return True


def retired(tx: Tx) -> list[Retired]:
    """Return the files that wait to be deleted."""
    found = rows(tx, "SELECT name, value FROM settings WHERE name LIKE ?", f"{_RETIRED}%")
    return [Retired(name.removeprefix(_RETIRED), *json.loads(value)) for name, value in found]


def forget(tx: Tx, names: Iterable[str]) -> int:
    """Forget retired files that are deleted; return how many were known."""
    return run_in(tx, "DELETE FROM settings WHERE name IN ({marks})", [f"{_RETIRED}{name}" for name in names])


def version(tx: Tx) -> int:
    """Return the number of the last commit, as this transaction sees it."""
    return number(tx, "SELECT number FROM commits WHERE id = 1")


def joint_environment(tx: Tx, numbers: Iterable[int | None]) -> int | None:
    """Return the environment of vectors that were made in several: each field names all values."""
    wanted = {value for value in numbers if value is not None}
    if len(wanted) <= 1:
        return next(iter(wanted), None)
    known = settings.environments(tx)
    return settings.environment(tx, _joined([known[value] for value in sorted(wanted)]))


def _joined(fields: list[dict[str, str]]) -> Mapping[str, str]:
    names = sorted({name for one in fields for name in one})
    return {
        name: _JOINT.join(sorted({part for one in fields for part in one.get(name, "").split(_JOINT)} - {""}))
        for name in names
    }
