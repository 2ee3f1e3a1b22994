"""A table in Markdown, as GitHub reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clipstore.tables.table import Table

# What can change how text is read: backslash, code, emphasis, links, HTML, strike-through; "_" only at a word's edge.
_MARKS = re.compile(r"[\\`*\[\]<~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
_BLOCK = re.compile(r"^(?=[#>+-])|^(\d+)(?=[.)])")
_BREAK = re.compile(r"\r\n|\r|\n")


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _BREAK.sub(" ", _MARKS.sub(lambda mark: "\\" + mark.group(), text)).replace("\t", " ")


def _cell(text: str) -> str:
    """Return the text of a cell: escaped, its pipes too, line ends as ``<br>``."""
    return "<br>".join(escaped(line).replace("|", "\\|") for line in _BREAK.split(text)).strip()


def _note(text: str) -> str:
    """Return the text of a note: escaped, and not taken for a heading, a quotation or a list."""
    return _BLOCK.sub(r"\1\\", escaped(text), count=1)


def markdown(table: Table) -> str:
    """Return the table with pipes, bold cells starred, and the notes as a list below.

    Pipes and line ends in cells, and whatever Markdown would read as markup, are
    escaped. A group of columns stands before each of its headers: Markdown has one line of them.
    """
    lines = [
        _line([_cell(column.full) for column in table.columns]),
        _line(["---:" if column.align == "right" else ":---" for column in table.columns]),
    ]
    for at, row in enumerate(table.rows):
        cells = [_cell(cell) for cell in row]
        lines.append(_line([f"**{cell}**" if cell and (at, i) in table.bold else cell for i, cell in enumerate(cells)]))
    notes = ["", *(f"- {_note(note)}" for note in table.notes)] if table.notes else []
    return "\n".join([*lines, *notes]) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
