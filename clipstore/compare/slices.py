"""Slices of an eval set: by a tag of its images, or by what captions, references and file names say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.compare.parts import Slice
from clipstore.errors import InputError

if TYPE_CHECKING:
    from clipstore.evaluate.measured import Measured

BUILT_IN: Final = ("caption-length", "references", "source")
"""Fields that every set has: mean words of the systems' captions, number of references, where images came from."""

NONE: Final = "(none)"
"""The value of images that lack the tag."""

MOST: Final = 20
"""More values than this are no slices."""

# Words of a caption, up to and including each number: COCO captions have 8 to 13 words.
_LENGTHS: Final = (7, 10, 13)


def by(measured: Measured, field: str) -> list[tuple[Measured, Slice]]:
    """Return the slices of one field, by value; together they hold every item once.

    Raises
    ------
    InputError
        When no item has the field, it has one value only, or more than 20.
    """
    values = _values(measured, field)
    distinct = sorted(set(values), key=_natural)
    if len(distinct) > MOST:
        msg = f"--slice-by {field}: {len(distinct):,} values are too many for a table ({MOST} at most)"
        raise InputError(msg)
    if len(distinct) < 2:
        msg = f"--slice-by {field}: every image has the value {distinct[0]!r}, so there are no slices"
        raise InputError(msg)
    held = np.array(values)
    return [(measured.picked(np.flatnonzero(held == value)), Slice(field, value)) for value in distinct]


def _natural(value: str) -> tuple[list[tuple[int, int | str]], str]:
    parts = [part for part in re.split(r"(\d+)", value) if part]
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts], value


def _values(measured: Measured, field: str) -> list[str]:
    if field == "caption-length":
        return _lengths(measured)
    items = measured.items
    if field == "references" and items.references:
        return [str(len(texts)) for texts in items.references]
    if field == "source" and items.sources:
        return [source(path) for path in items.sources]
    known = dict.fromkeys(name for tags in items.tags for name in tags)
    if field not in known:
        there = ", ".join([*known, *BUILT_IN])
        msg = f"--slice-by {field}: no image has such a tag; there is: {there} (--tags FILE.csv adds some)"
        raise InputError(msg)
    return [tags.get(field, NONE) for tags in items.tags]


def _lengths(measured: Measured) -> list[str]:
    """Return the class of each item's mean caption length: one class for all systems, so that tests stay paired."""
    captions = [one.texts for system in measured.systems for one in system.members or (system,)]
    if not all(captions):
        msg = "--slice-by caption-length: the captions are not at hand; pass systems to measure, not scores"
        raise InputError(msg)
    out = []
    for texts in zip(*captions, strict=True):
        words = [len(text.split()) for text in texts if text is not None]
        out.append(_length_class(round(sum(words) / len(words)) if words else 0))
    return out


def _length_class(words: int) -> str:
    low = 0
    for high in _LENGTHS:
        if words <= high:
            return f"{low}-{high} words"
        low = high + 1
    return f"{low}+ words"


def source(path: str) -> str:
    """Return where an image came from: its folder, else its file name up to the number."""
    folder, _, name = path.rpartition("/")
    if folder:
        return folder
    return re.sub(r"[_-]?\d+\.\w+$", "", name) or NONE
