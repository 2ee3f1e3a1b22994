"""Rows with other names for their columns, and rows whose columns the user names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import columns, roles
from clipstore.formats.format import Format

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints, Table


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether the first row has an image column and a caption column."""
    row = content.first_row()
    return len(row) > 1 and roles.has_columns(row, hints)


def read(content: Content, hints: Hints) -> Table:
    """Read the rows."""
    return columns.from_rows(content, hints)


FORMAT = Format("rows", "rows", ("rows",), recognise, read, columns=True)
