"""Format 13: Hugging Face ImageFolder, ``metadata.jsonl`` with ``file_name`` and a text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clipstore.formats import columns, roles
from clipstore.formats.format import Format

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints, Table

_FIELDS = frozenset({"text", "caption", "captions", "prompt"})


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether the first row has ``file_name`` and a text."""
    row = content.first_row()
    return "file_name" in row and not _FIELDS.isdisjoint(row) and roles.has_columns(row, hints)


def read(content: Content, hints: Hints) -> Table:
    """Read the rows; the id is ``file_name`` unless the user names another column."""
    return replace(columns.from_rows(content, hints), id_kind=None if hints.image_col else "path")


FORMAT = Format("imagefolder", "ImageFolder metadata", ("rows",), recognise, read, columns=True)
