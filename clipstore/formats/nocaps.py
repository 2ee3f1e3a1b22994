"""Format 7: nocaps, COCO annotations whose images have a ``domain``, or rows with ``annotations_captions``.

The domain is kept as a tag; id 0 is an id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import coco_annotations, columns, roles
from clipstore.formats.format import Format

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints, Table

_ROW_FIELD = "annotations_captions"


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether images have a ``domain``, or rows their captions in ``annotations_captions``."""
    if coco_annotations.recognise(content, hints):
        return any("domain" in image for image in content.object["images"][:1])
    row = content.first_row()
    return _ROW_FIELD in row and roles.has_columns(row, hints)


def read(content: Content, hints: Hints) -> Table:
    """Read images, captions and domains."""
    if "images" in content.object:
        return coco_annotations.read_annotations(content)
    return columns.from_rows(content, hints)


FORMAT = Format("nocaps", "nocaps annotations", ("object", "rows"), recognise, read, columns=True)
