"""clipstore's own rows, what export writes: ``image``, ``system``, ``rank``, ``caption``, ``logprob``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import columns
from clipstore.formats.format import Format

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints, Table


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether the first row has ``image``, ``caption`` and ``rank``."""
    row = content.first_row()
    return "image" in row and "caption" in row and "rank" in row and not (hints.image_col or hints.caption_col)


def read(content: Content, hints: Hints) -> Table:
    """Read the rows of one system; a file of several is refused."""
    return columns.from_rows(content, hints)


FORMAT = Format("canonical", "clipstore rows", ("rows",), recognise, read, columns=True)
