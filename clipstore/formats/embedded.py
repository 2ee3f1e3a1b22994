"""Images that lie inside Parquet rows or tar shards: id and bytes, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.formats import parquet, tars
from clipstore.formats.reading import open_source
from clipstore.formats.values import NO_HINTS, Hints

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clipstore.items import ItemKey


def embedded_images(given: str | Path | bytes, hints: Hints = NO_HINTS) -> Iterator[tuple[ItemKey, bytes]]:
    """Yield (id, bytes of the image file) of every image inside Parquet files or tars.

    Ids are those that :func:`clipstore.formats.read_captions` gives for the same input; other
    formats hold no image and yield nothing. A row an image or a row a caption: an image that
    repeats is yielded again.

    Raises
    ------
    InputError, BadFormat
        As :func:`clipstore.formats.read_captions`.
    """
    _, contents = open_source(given, hints)
    for content in contents:
        if content.kind == "parquet":
            yield from parquet.images(content, hints)
        elif content.kind == "tar":
            yield from tars.images(content, hints)
