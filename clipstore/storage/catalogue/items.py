"""Items of an eval set as rows: a user's key, an image, references, tags, in order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clipstore import keys
from clipstore.errors import Damaged, InputError, NotStored
from clipstore.storage.catalogue import contents
from clipstore.storage.catalogue.statements import Tx, first, next_id, rows, run, run_many
from clipstore.storage.translate import REPAIR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ItemRow(NamedTuple):
    """One item of an eval set.

    Parameters
    ----------
    key
        The user's id, as it came: 7 and "7" stay apart.
    image_id
        Its image, or None in a set without images.
    references
        Its references, raw, in order.
    tags
        Named facts to slice by.
    """

    key: str | int
    image_id: int | None
    references: tuple[str, ...]
    tags: dict[str, str]


def spelled(key: str | int) -> str:
    """Write an item's key as JSON text, which keeps its type."""
    return json.dumps(key)


def unspelled(text: str) -> str | int:
    """Return the key that :func:`spelled` wrote; usual ones without a JSON parser, which costs ten times as much."""
    if text[:1] == '"' and "\\" not in text:
        return text[1:-1]
    return int(text) if text.isdecimal() and text.isascii() else cast("str | int", json.loads(text))


def set_id(tx: Tx, name: str) -> int:
    """Return the row number of an eval set.

    Raises
    ------
    NotStored
        When there is none of that name.
    """
    found = first(tx, "SELECT id FROM eval_sets WHERE name = ?", name)
    if found is None:
        names = [row[0] for row in rows(tx, "SELECT name FROM eval_sets ORDER BY name LIMIT 5")]
        there = f"it holds {', '.join(names)}" if names else "it holds none"
        msg = f"no eval set {name!r} in this store ({there}): see `clipstore ls sets`, or add it"
        raise NotStored(msg)
    return int(found[0])


def add_texts(tx: Tx, texts: Iterable[str]) -> dict[str, int]:
    """Store raw texts; return the id of each distinct one."""
    distinct = list(dict.fromkeys(texts))
    ids = keys.text_ids(distinct)
    contents.add_texts(tx, ids, distinct)
    return dict(zip(distinct, ids, strict=True))


def write(tx: Tx, number: int, items: Sequence[ItemRow]) -> None:
    """Make ``items`` the items of the set in row ``number``; items that it had keep their rows by key."""
    known = numbers(tx, number)
    run(tx, "UPDATE eval_items SET position = NULL WHERE set_id = ?", number)
    there = "SELECT id FROM eval_items WHERE set_id = ?"
    run(tx, f"DELETE FROM item_references WHERE item_id IN ({there})", number)  # noqa: S608
    free = next_id(tx, "eval_items")
    values = []
    for position, item in enumerate(items):
        key = spelled(item.key)
        row = known.get(key, free + position)
        tags = json.dumps(dict(item.tags), sort_keys=True) if item.tags else None
        values.append((row, number, key, position, item.image_id, tags))
    if len({value[2] for value in values}) < len(values):
        msg = "an eval set names each item once, and some key repeats: make keys unique"
        raise InputError(msg)
    _upsert(tx, values)
    _write_references(tx, [value[0] for value in values], items)


def _upsert(tx: Tx, values: Sequence[tuple[object, ...]]) -> None:
    run_many(
        tx,
        "INSERT INTO eval_items (id, set_id, item_key, position, image_id, tags) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET "
        "position = excluded.position, image_id = excluded.image_id, tags = excluded.tags",
        values,
    )


def _write_references(tx: Tx, numbered: Sequence[int], items: Sequence[ItemRow]) -> None:
    ids = add_texts(tx, (text for item in items for text in item.references))
    values = [
        (row, position, ids[text])
        for row, item in zip(numbered, items, strict=True)
        for position, text in enumerate(item.references)
    ]
    run_many(tx, "INSERT INTO item_references (item_id, position, text_id) VALUES (?, ?, ?)", sorted(values))


def add_unlisted(tx: Tx, number: int, names: Iterable[str]) -> None:
    """Give rows to items that are not in the set, so that a system's captions for them are kept."""
    free = next_id(tx, "eval_items")
    values = [(free + step, number, key, None, None, None) for step, key in enumerate(names)]
    _upsert(tx, values)


def drop_unused(tx: Tx, number: int) -> None:
    """Take away the rows of items that are not in the set and have no candidates."""
    used = "SELECT c.item_id FROM candidates c JOIN systems s ON s.id = c.system_id WHERE s.set_id = ?"
    run(
        tx,
        f"DELETE FROM eval_items WHERE set_id = ? AND position IS NULL AND id NOT IN ({used})",  # noqa: S608
        number,
        number,
    )


def numbers(tx: Tx, number: int) -> dict[str, int]:
    """Return the row number of each item that the set has or had, by its spelled key."""
    return {key: row for row, key in rows(tx, "SELECT id, item_key FROM eval_items WHERE set_id = ?", number)}


def read(tx: Tx, number: int) -> tuple[ItemRow, ...]:
    """Return the items of the set in row ``number``, in order.

    Raises
    ------
    Damaged
        When the text of a reference is not stored.
    """
    references: dict[int, list[str]] = {}
    for item, text in _references(tx, number):
        if text is None:
            msg = f"a reference of an eval set has no text in the catalogue: {REPAIR}"
            raise Damaged(msg)
        references.setdefault(item, []).append(text)
    query = (
        "SELECT id, item_key, image_id, tags FROM eval_items "
        "WHERE set_id = ? AND position IS NOT NULL ORDER BY position"
    )
    return tuple(_item(row, references) for row in rows(tx, query, number))


def _references(tx: Tx, number: int) -> list[Any]:
    return rows(
        tx,
        "SELECT r.item_id, t.text FROM eval_items i JOIN item_references r ON r.item_id = i.id "
        "LEFT JOIN texts t ON t.id = r.text_id WHERE i.set_id = ? ORDER BY r.item_id, r.position",
        number,
    )


def _item(row: Any, references: dict[int, list[str]]) -> ItemRow:
    number, key, image_id, tags = row
    return ItemRow(unspelled(key), image_id, tuple(references.get(number, ())), json.loads(tags) if tags else {})
