"""Format 16: CSV, TSV and bar-separated tables, with a header, or with an image's name first in each line.

Commas in captions that were not quoted are put back where the caption is the last column.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from clipstore.errors import BadFormat
from clipstore.formats import columns, roles
from clipstore.formats.format import Format
from clipstore.formats.images import has_image_extension
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from clipstore.formats.source import Content

_DELIMITERS = ("\t", ",", "|", ";")
_NUMBERED = re.compile(r"\s*[0-9]+\s+(\S.*)")
_FIELD_LIMIT = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is written: its delimiter, its columns, and whether the first line names them."""

    delimiter: str
    names: tuple[str, ...]
    header: bool


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether the first line is a header with the columns, or starts with an image's name."""
    return _layout(content.text, hints) is not None


def read(content: Content, hints: Hints) -> Table:
    """Read the lines; ids are strings.

    Raises
    ------
    BadFormat
        Naming the first line that does not fit.
    """
    layout = _layout(content.text, hints)
    if layout is None:
        remedy = "name them with --image-col and --caption-col"
        msg = f"{content.name}: no header with an image and a caption column; {remedy}"
        raise BadFormat(msg)
    chosen = roles.choose(layout.names, hints, content.name)
    records, numbers = _records(content, layout)
    cells: dict[str, list[Any]] = {
        name: [record[index] for record in records] for index, name in enumerate(layout.names)
    }
    kept = {name: cells[name] for name in cells if name != "rank"}
    ranks = cells.get("rank")
    if ranks and all(rank.isascii() and rank.isdigit() for rank in ranks):
        kept["rank"] = [int(rank) for rank in ranks]
    return columns.build(kept, chosen, hints, content.name, Where("line", numbers))


def first_cells(text: str) -> list[str]:
    """Return the cells of the first line, taken apart by the delimiter that gives most of them."""
    first = _first_line(text)
    return max(([cell.strip() for cell in _split(first, delimiter)] for delimiter in _DELIMITERS), key=len)


def _first_line(text: str) -> str:
    return text.lstrip("\r\n").partition("\n")[0].rstrip("\r")


def _layout(text: str, hints: Hints) -> Layout | None:
    first = _first_line(text)
    for delimiter in _DELIMITERS:
        names = [name.strip() for name in _split(first, delimiter)]
        if len(names) > 1 and len(set(names)) == len(names) and roles.has_columns(names, hints):
            return Layout(delimiter, tuple(names), header=True)
    for delimiter in _DELIMITERS:
        cells = [cell.strip() for cell in _split(first, delimiter)]
        if len(cells) > 1 and has_image_extension(cells[0]):
            numbered = len(cells) > 2 and cells[1].isdigit()  # name, number, caption
            return Layout(delimiter, ("image", "number", "caption") if numbered else ("image", "caption"), header=False)
    return None


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _records(content: Content, layout: Layout) -> tuple[list[list[str]], list[int]]:
    """Return the cells of every line after the header, and the line each starts on."""
    try:
        return _parse(content, layout, quoting=csv.QUOTE_MINIMAL)
    except (csv.Error, BadFormat):  # quotes that are plain characters: captions may start with one
        pass
    try:
        return _parse(content, layout, quoting=csv.QUOTE_NONE)
    except csv.Error as error:
        msg = f"{content.name}: not a table that can be read: {error}"
        raise BadFormat(msg) from error


def _parse(content: Content, layout: Layout, quoting: int) -> tuple[list[list[str]], list[int]]:
    limit = csv.field_size_limit(_FIELD_LIMIT)
    try:
        text = io.StringIO(content.text, newline="")
        reader = csv.reader(text, delimiter=layout.delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
        records, numbers, start = [], [], 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append(cells)
                numbers.append(start)
            start = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)
    if layout.header:
        records, numbers = records[1:], numbers[1:]
    return [_fit(cells, layout, content.name, number) for cells, number in zip(records, numbers, strict=True)], numbers


def _fit(cells: list[str], layout: Layout, source: str, number: int) -> list[str]:
    width = len(layout.names)
    caption_last = layout.names[-1].casefold() in roles.CAPTIONS
    if len(cells) > width and caption_last:
        cells = [*cells[: width - 1], layout.delimiter.join(cells[width - 1 :])]
    if len(cells) == width - 1 and caption_last and (found := _NUMBERED.fullmatch(cells[-1])):
        cells = [*cells[:-1], cells[-1].split(maxsplit=1)[0], found[1]]  # the delimiter was forgotten after the number
    if len(cells) != width:
        msg = f"{source}: line {number} has {len(cells)} fields, not {width} ({', '.join(layout.names)})"
        raise BadFormat(msg)
    return [cell.strip(" ") for cell in cells] if layout.delimiter == "|" else [cells[0].strip(), *cells[1:]]


FORMAT = Format("table", "CSV/TSV table", ("text",), recognise, read, columns=True)
