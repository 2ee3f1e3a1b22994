"""Formats 1, 2 and 5: one object of image id -> caption or captions, as clipscore and coco-caption use.

``{"image1": "a cat"}``, ``{"image1": ["a cat", "two cats"]}``, ``{391895: [{"caption": "a man"}]}``.
Whether they are candidates or references, the user's flag says: the file can't.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import columns
from clipstore.formats.format import Format
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from clipstore.formats.source import Content


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether this is an object of captions: any value is a string or a list."""
    return any(isinstance(value, (str, list, tuple)) for value in content.object.values())


def read(content: Content, hints: Hints) -> Table:  # noqa: ARG001
    """Read an object; ids are its keys, and ``{}`` gives an empty table."""
    ids = list(content.object)
    where = Where("entry", content.where.numbers)
    flat = columns.spread(ids, list(content.object.values()), None, content.name, where)
    scores = columns.numbers(flat.scores, content.name, flat.where)
    return Table(
        ids=flat.ids,
        texts=flat.texts,
        scores=scores,
        score_kind=None if scores is None else "unknown",
        where=flat.where,
        nested=flat.nested,
        images=ids,
    )


FORMAT = Format("official", "clipscore candidates", ("object",), recognise, read, as_references="clipscore references")
