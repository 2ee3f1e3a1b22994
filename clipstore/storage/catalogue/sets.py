"""Eval sets as rows: the items that count, under a name. Systems come along from ``systems``."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from clipstore.errors import InputError
from clipstore.storage.catalogue import items as item_rows
from clipstore.storage.catalogue.items import ItemRow
from clipstore.storage.catalogue.statements import Tx, first, next_id, rows, run
from clipstore.storage.catalogue.systems import (
    CURRENT,
    CandidateRow,
    SystemRow,
    add_system,
    candidates,
    remove_system,
    systems,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CandidateRow",
    "ItemRow",
    "SetRow",
    "SetSummary",
    "SystemRow",
    "add",
    "add_system",
    "candidates",
    "get",
    "names",
    "remove",
    "remove_system",
    "replace",
    "systems",
]


@final
@dataclass(frozen=True, slots=True)
class SetRow:
    """An eval set with its items.

    Parameters
    ----------
    name
        What the user calls it.
    digest
        Hash of its items and references.
    created
        Seconds since the epoch.
    origin
        Where it came from; JSON values.
    items
        Its items, in order.
    """

    name: str
    digest: str
    created: float
    origin: dict[str, Any]
    items: tuple[ItemRow, ...]


class SetSummary(NamedTuple):
    """One line about an eval set: name, hash, how many items and systems, when it was made."""

    name: str
    digest: str
    n_items: int
    n_systems: int
    created: float


def add(tx: Tx, name: str, items: Sequence[ItemRow], digest: str, origin: Mapping[str, object]) -> None:
    """Store a new eval set with its items, references and their texts.

    Raises
    ------
    InputError
        When a set of that name is there, or a key repeats.
    """
    if first(tx, "SELECT 1 FROM eval_sets WHERE name = ?", name) is not None:
        msg = f"eval set {name!r} is in this store already: choose another name, or replace it"
        raise InputError(msg)
    number = next_id(tx, "eval_sets")
    statement = "INSERT INTO eval_sets (id, name, digest, created, origin) VALUES (?, ?, ?, ?, ?)"
    run(tx, statement, number, name, digest, time.time(), json.dumps(dict(origin)))
    item_rows.write(tx, number, items)


def replace(tx: Tx, name: str, items: Sequence[ItemRow], digest: str, origin: Mapping[str, object]) -> None:
    """Give an eval set other items; its systems stay, and their candidates follow the items' keys.

    Raises
    ------
    NotStored
        When there is no such set.
    InputError
        When a key repeats.
    """
    number = item_rows.set_id(tx, name)
    statement = "UPDATE eval_sets SET digest = ?, created = ?, origin = ? WHERE id = ?"
    run(tx, statement, digest, time.time(), json.dumps(dict(origin)), number)
    item_rows.write(tx, number, items)
    item_rows.drop_unused(tx, number)


def get(tx: Tx, name: str) -> SetRow | None:
    """Return an eval set with its items in order, or None."""
    found = first(tx, "SELECT id, digest, created, origin FROM eval_sets WHERE name = ?", name)
    if found is None:
        return None
    return SetRow(name, found[1], found[2], json.loads(found[3]), item_rows.read(tx, found[0]))


def names(tx: Tx) -> list[SetSummary]:
    """Return one line about each eval set, by name."""
    query = (
        "SELECT e.name, e.digest, "
        "(SELECT count(*) FROM eval_items i WHERE i.set_id = e.id AND i.position IS NOT NULL), "
        "(SELECT count(*) FROM systems s WHERE s.set_id = e.id AND s.is_current = ?), "
        "e.created FROM eval_sets e ORDER BY e.name"
    )
    return [SetSummary(*row) for row in rows(tx, query, CURRENT)]


def remove(tx: Tx, name: str) -> None:
    """Take away an eval set with its items and systems; texts and images stay until gc.

    Raises
    ------
    NotStored
        When there is no such set.
    """
    number = item_rows.set_id(tx, name)
    run(tx, "DELETE FROM candidates WHERE system_id IN (SELECT id FROM systems WHERE set_id = ?)", number)
    run(tx, "DELETE FROM systems WHERE set_id = ?", number)
    run(tx, "DELETE FROM item_references WHERE item_id IN (SELECT id FROM eval_items WHERE set_id = ?)", number)
    run(tx, "DELETE FROM eval_items WHERE set_id = ?", number)
    run(tx, "DELETE FROM eval_sets WHERE id = ?", number)
