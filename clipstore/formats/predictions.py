"""Format 9: predictions, ``{"img_id": "x.jpg", "prediction": ["a boy in a field"]}``.

A list of one is that caption; a longer list is n-best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import columns, roles
from clipstore.formats.format import Format

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints, Table

_FIELDS = ("prediction", "predictions", "pred")


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether the first row has a prediction and something like an image id."""
    row = content.first_row()
    return any(name in row for name in _FIELDS) and roles.has_columns(row, hints)


def read(content: Content, hints: Hints) -> Table:
    """Read the rows."""
    return columns.from_rows(content, hints)


FORMAT = Format("predictions", "predictions", ("rows",), recognise, read, columns=True)
