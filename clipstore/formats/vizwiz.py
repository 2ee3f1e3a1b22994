"""Format 8: VizWiz-Captions, COCO annotations with ``is_rejected`` and ``is_precanned``.

Both kinds are dropped and counted, as the official API means to; an image may end without a caption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import coco_annotations
from clipstore.formats.format import Format

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints, Table

_FLAGS = ("is_rejected", "is_precanned")


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether these are COCO annotations whose first one has either flag."""
    if not coco_annotations.recognise(content, hints):
        return False
    return any(flag in row for row in content.object.get("annotations", [])[:1] for flag in _FLAGS)


def read(content: Content, hints: Hints) -> Table:  # noqa: ARG001  every format has these arguments
    """Read images and captions, less the rejected and the precanned."""
    note = "{count} rejected or precanned annotations dropped"
    return coco_annotations.read_annotations(content, lambda row: any(row.get(flag) for flag in _FLAGS), note)


FORMAT = Format("vizwiz", "VizWiz annotations", ("object",), recognise, read)
