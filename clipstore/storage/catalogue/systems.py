"""Systems as rows: one captioner's candidates for the items of an eval set, and the older ones of the same name."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from clipstore.errors import Damaged, InputError, NotStored
from clipstore.storage.catalogue import items
from clipstore.storage.catalogue.statements import Tx, first, next_id, rows, run, run_many
from clipstore.storage.translate import REPAIR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


CURRENT, _NOT_CURRENT = True, False


class CandidateRow(NamedTuple):
    """One caption of a system.

    Parameters
    ----------
    key
        The item's key.
    rank
        Its place among the item's candidates, 0 first.
    text
        The caption, raw.
    score, score_kind
        The captioner's own log-probability, and what it is, where known.
    """

    key: str | int
    rank: int
    text: str
    score: float | None = None
    score_kind: str | None = None


@final
@dataclass(frozen=True, slots=True)
class SystemRow:
    """A system as it stands now.

    Parameters
    ----------
    name
        What the user calls it.
    digest
        Hash of its captions.
    created
        When these captions were added, seconds since the epoch.
    origin
        Where they came from; JSON values.
    n_candidates
        How many of its captions are for items of the set.
    """

    name: str
    digest: str
    created: float
    origin: dict[str, Any]
    n_candidates: int


def add_system(
    tx: Tx, set_name: str, name: str, digest: str, candidates: Sequence[CandidateRow], origin: Mapping[str, object]
) -> None:
    """Make ``candidates`` the current captions of a system; captions that it had before stay, not current.

    Captions for keys that the set does not name are kept, and count again when a replaced set names them.

    Raises
    ------
    NotStored
        When there is no such set.
    InputError
        When two candidates have the same item and rank.
    """
    number = items.set_id(tx, set_name)
    run(tx, "UPDATE systems SET is_current = ? WHERE set_id = ? AND name = ?", _NOT_CURRENT, number, name)
    origin_text = json.dumps(dict(origin))
    again = "UPDATE systems SET is_current = ?, created = ?, origin = ? WHERE set_id = ? AND name = ? AND digest = ?"
    if run(tx, again, CURRENT, time.time(), origin_text, number, name, digest):
        return
    system = next_id(tx, "systems")
    run(
        tx,
        "INSERT INTO systems (id, set_id, name, digest, created, origin, is_current) VALUES (?, ?, ?, ?, ?, ?, ?)",
        *(system, number, name, digest, time.time(), origin_text, CURRENT),
    )
    _write(tx, number, system, candidates)


def _write(tx: Tx, number: int, system: int, candidates: Sequence[CandidateRow]) -> None:
    spelled = [items.spelled(candidate.key) for candidate in candidates]
    known = items.numbers(tx, number)
    unlisted = [key for key in dict.fromkeys(spelled) if key not in known]
    if unlisted:
        items.add_unlisted(tx, number, unlisted)
        known = items.numbers(tx, number)
    texts = items.add_texts(tx, (candidate.text for candidate in candidates))
    values = {
        (system, known[key], candidate.rank): (texts[candidate.text], candidate.score, candidate.score_kind)
        for key, candidate in zip(spelled, candidates, strict=True)
    }
    if len(values) < len(candidates):
        msg = "two candidates of one system have the same item and rank: give each its own rank"
        raise InputError(msg)
    run_many(
        tx,
        "INSERT INTO candidates (system_id, item_id, rank, text_id, score, score_kind) VALUES (?, ?, ?, ?, ?, ?)",
        [(*key, *values[key]) for key in sorted(values)],
    )


def systems(tx: Tx, set_name: str) -> list[SystemRow]:
    """Return the current systems of an eval set, in the order in which their names were first added.

    Raises
    ------
    NotStored
        When there is no such set.
    """
    number = items.set_id(tx, set_name)
    found = rows(
        tx,
        "SELECT s.name, s.digest, s.created, s.origin, (SELECT count(*) FROM candidates c JOIN eval_items i "
        "ON i.id = c.item_id WHERE c.system_id = s.id AND i.position IS NOT NULL) FROM systems s "
        "WHERE s.set_id = ? AND s.is_current = ? "
        "ORDER BY (SELECT min(o.id) FROM systems o WHERE o.set_id = s.set_id AND o.name = s.name)",
        number,
        CURRENT,
    )
    return [SystemRow(row[0], row[1], row[2], json.loads(row[3]), row[4]) for row in found]


def _system_id(tx: Tx, set_name: str, name: str, digest: str | None) -> int:
    number = items.set_id(tx, set_name)
    if digest is None:
        found = first(
            tx, "SELECT id FROM systems WHERE set_id = ? AND name = ? AND is_current = ?", number, name, CURRENT
        )
    else:
        found = first(tx, "SELECT id FROM systems WHERE set_id = ? AND name = ? AND digest = ?", number, name, digest)
    if found is None:
        which = f"{name!r}" if digest is None else f"{name!r} with captions {digest}"
        msg = f"no system {which} in eval set {set_name!r}: see `clipstore ls systems`, or add it"
        raise NotStored(msg)
    return int(found[0])


def candidates(tx: Tx, set_name: str, system_name: str, digest: str | None = None) -> list[CandidateRow]:
    """Return the captions of a system for the items of the set, by item position and rank.

    Parameters
    ----------
    tx
        A transaction.
    set_name, system_name
        Which system.
    digest
        Hash of its captions, current or not; None for the current ones.

    Raises
    ------
    NotStored
        When there is no such set or system.
    Damaged
        When the text of a caption is not stored.
    """
    number = _system_id(tx, set_name, system_name, digest)
    found = rows(
        tx,
        "SELECT i.item_key, c.rank, t.text, c.score, c.score_kind FROM candidates c "
        "JOIN eval_items i ON i.id = c.item_id LEFT JOIN texts t ON t.id = c.text_id "
        "WHERE c.system_id = ? AND i.position IS NOT NULL ORDER BY i.position, c.rank",
        number,
    )
    if any(row[2] is None for row in found):
        msg = f"a caption of system {system_name!r} has no text in the catalogue: {REPAIR}"
        raise Damaged(msg)
    unspelled = items.unspelled
    return [CandidateRow(unspelled(key), rank, text, score, kind) for key, rank, text, score, kind in found]


def remove_system(tx: Tx, set_name: str, name: str) -> None:
    """Take away a system with all captions that it had; texts stay until gc.

    Raises
    ------
    NotStored
        When there is no such set or system.
    """
    _system_id(tx, set_name, name, None)
    number = items.set_id(tx, set_name)
    mine = "SELECT id FROM systems WHERE set_id = ? AND name = ?"
    run(tx, f"DELETE FROM candidates WHERE system_id IN ({mine})", number, name)  # noqa: S608
    run(tx, "DELETE FROM systems WHERE set_id = ? AND name = ?", number, name)
    items.drop_unused(tx, number)
