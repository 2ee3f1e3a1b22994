"""Format 17: plain captions, one a line, whose ids stand in another file (``--order``).

Never aligned with a folder's listing; refused when the counts differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clipstore.errors import BadFormat, InputError
from clipstore.formats import columns, jsontext, roles, source
from clipstore.formats.beams import spread_ids
from clipstore.formats.format import Format
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.formats.source import Content
    from clipstore.items import ItemKey


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether the user gave the ids in another file; the lines themselves say nothing."""
    return content.kind == "strings" or hints.order is not None


def read(content: Content, hints: Hints) -> Table:
    """Read one caption a line, ``num_candidates`` lines an image.

    Raises
    ------
    InputError
        When no order was given.
    BadFormat
        With both counts, when they differ.
    """
    if hints.order is None:
        msg = f"{content.name}: captions without ids: give the ids, one a line, with --order FILE"
        raise InputError(msg)
    texts: list[Any] = content.value if content.kind == "strings" else split_lines(content.text)
    count = hints.num_candidates or 1
    ids = spread_ids(read_order(hints.order), len(texts), count, content.name)
    return Table(ids, texts, where=Where("line"), nested=count > 1)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, without those at its end that are empty."""
    return [line.removesuffix("\r") for line in text.rstrip("\r\n").split("\n")]


def read_order(path: Path) -> list[ItemKey]:
    """Read ids: one a line, or a JSON list of ids, or rows with an image column.

    Raises
    ------
    BadFormat
        When a line is empty, or the list holds no ids.
    """
    content = source.open_path(path, as_text=True)
    if content.text.lstrip()[:1] == "[":
        values = jsontext.parse(content.text, content.name)
        if all(type(value) in {str, int} for value in values):
            return list(values)
        content = source.open_path(path)
        names = [name for name in roles.IMAGES if name in content.first_row()]
        return columns.field_of(content.rows, names[0] if names else "image", content.name, content.where)
    ids = [line.strip() for line in split_lines(content.text)]
    if "" in ids:
        msg = f"{content.name}: line {ids.index('') + 1} is empty; one id a line"
        raise BadFormat(msg)
    return list(ids)


def by_row(table: Table, order: Path, name: str) -> list[ItemKey]:
    """Return the ids that row numbers (0 first) mean in an order (``--id-key row``).

    Raises
    ------
    InputError
        When an id is no row of the order.
    """
    ids = read_order(order)
    found = []
    for row, key in enumerate(table.ids):
        digits = str(key)
        place = int(digits) if digits.isascii() and digits.isdigit() else -1
        if not 0 <= place < len(ids):
            msg = f"{name}: {table.where(row)}: id {key!r} is no row of {order.name} (rows 0 to {len(ids) - 1})"
            raise InputError(msg)
        found.append(ids[place])
    return found


FORMAT = Format("lines", "plain lines", ("text", "strings"), recognise, read)
