"""A table: columns, rows of strings, notes below; and its plain-text forms."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True)
class Column:
    """One column: its header, on which side its cells stand, and the group that it belongs to.

    Parameters
    ----------
    header
        What stands above it.
    align
        The side of its cells.
    group
        A header above this one, such as the eval set; neighbours with the same group share it.
    """

    header: str
    align: Literal["left", "right"] = "right"
    group: str = ""

    @property
    def full(self) -> str:
        """The group and the header, where a form has one line of headers."""
        return f"{self.group} {self.header}" if self.group else self.header


@final
@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells that are already text.

    Parameters
    ----------
    columns
        Headers, in order.
    rows
        One tuple of cells a row, as many as there are columns.
    notes
        Lines that belong below the table, such as signatures.
    bold
        Cells (row, column) that Markdown and LaTeX set bold; text, TSV and CSV show them plain.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()

    def groups(self) -> list[tuple[str, int]]:
        """Return each run of columns of one group, in order: the group ("" for none) and how many columns."""
        return [(group, len(list(run))) for group, run in groupby(column.group for column in self.columns)]


_CONTROLS = [*range(32), *range(127, 160)]  # also what would drive a terminal, such as escape
_ESCAPES = str.maketrans(
    {chr(code): f"\\x{code:02x}" for code in _CONTROLS} | {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
)
_ODD = re.compile(f"[{''.join(chr(code) for code in _CONTROLS)}]")


def one_line(cell: str) -> str:
    """Return a cell with control characters as escapes: a row stays a line, no caption drives a terminal."""
    return cell.translate(_ESCAPES) if _ODD.search(cell) else cell


def tsv(table: Table) -> str:
    """Return the table with tabs between cells: header, rows, then the notes; nothing is cut or padded."""
    lines = ["\t".join(one_line(column.full) for column in table.columns)]
    lines += ["\t".join(one_line(cell) for cell in row) for row in table.rows]
    return "\n".join([*lines, *table.notes]) + "\n"


def width(text_: str) -> int:
    """Return how many terminal cells a text takes: wide letters two, combining marks none."""
    cells = 0
    for letter in text_:
        if unicodedata.combining(letter) or unicodedata.category(letter) in {"Cf", "Mn", "Me"}:
            continue
        cells += 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1
    return cells


def text(table: Table) -> str:
    """Return the table with aligned columns, two spaces between them, and the notes below.

    Groups of columns stand on a line of their own above the headers, ruled to their width.
    """
    rows = [tuple(one_line(column.header) for column in table.columns)]
    rows += [tuple(one_line(cell) for cell in row) for row in table.rows]
    widths = [max(width(row[i]) for row in rows) for i in range(len(table.columns))]
    lines = _group_line(table, widths)
    for row in rows:
        cells = []
        for cell, column, wide in zip(row, table.columns, widths, strict=True):
            pad = " " * (wide - width(cell))
            cells.append(cell + pad if column.align == "left" else pad + cell)
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, *table.notes]) + "\n"


def _group_line(table: Table, widths: list[int]) -> list[str]:
    """Return the line of groups, none where there are none; widens the last column of a group that is too narrow."""
    if not any(column.group for column in table.columns):
        return []
    parts, start = [], 0
    for group, columns in table.groups():
        stop = start + columns
        name = one_line(group)
        room = sum(widths[start:stop]) + 2 * (columns - 1)
        extra = max(0, width(name) - room)
        widths[stop - 1] += extra
        spare = room + extra - width(name)
        left = spare // 2
        rule = "-" if group else " "
        parts.append(_padded(name, left, spare - left, rule))
        start = stop
    return ["  ".join(parts).rstrip()]


def _padded(name: str, left: int, right: int, rule: str) -> str:
    before = rule * (left - 1) + " " if left > 1 else " " * left
    after = " " + rule * (right - 1) if right > 1 else " " * right
    return before + name + after
