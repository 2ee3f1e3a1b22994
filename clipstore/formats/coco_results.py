"""Format 3: COCO results, a list of objects with ``image_id`` and ``caption``, also flat beams (12).

An id that repeats means n-best or concatenated shards; assembling tells them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import columns
from clipstore.formats.format import Format

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints, Table


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether the first row has ``image_id`` and ``caption``, and no other columns were asked for."""
    row = content.first_row()
    return "image_id" in row and "caption" in row and not (hints.image_col or hints.caption_col)


def read(content: Content, hints: Hints) -> Table:
    """Read the rows; ``logprob``, ``score`` and the like are the captioner's scores."""
    return columns.from_rows(content, hints)


FORMAT = Format("coco-results", "COCO results", ("rows",), recognise, read, columns=True)
