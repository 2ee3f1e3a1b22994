"""Format 4: COCO annotations, ``images`` with file names and ``annotations`` with captions.

Any number of captions an image, none included; id 0 is an id.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from clipstore.errors import BadFormat
from clipstore.formats import columns
from clipstore.formats.format import Format
from clipstore.formats.source import kind_of
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from collections.abc import Callable

    from clipstore.formats.source import Content
    from clipstore.items import ItemKey

Annotation = dict[str, Any]
_SHOWN = 5


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether there are ``images`` with an ``id``, and annotations where there are any."""
    images = content.object.get("images")
    return isinstance(images, list) and _has(images, "id") and _is_annotated(content)


def read(content: Content, hints: Hints) -> Table:  # noqa: ARG001
    """Read images and captions."""
    return read_annotations(content)


def _is_annotated(content: Content) -> bool:
    annotations = content.object.get("annotations", [])
    return isinstance(annotations, list) and _has(annotations, "image_id")


def _has(rows: list[Any], name: str) -> bool:
    """Return whether the first row, where there is one, has a field."""
    return all(isinstance(row, dict) and name in row for row in rows[:1])


def read_annotations(content: Content, drop: Callable[[Annotation], bool] | None = None, note: str = "") -> Table:
    """Read images and captions, less those that ``drop`` names.

    Parameters
    ----------
    content
        The file.
    drop
        Which annotations are left out.
    note
        Words for their number, with ``{count}``.

    Raises
    ------
    BadFormat
        When an image has no id or has it twice, or a caption names no image of the file.
    """
    images = _objects(content, "images")
    annotations = _objects(content, "annotations") if "annotations" in content.object else []
    ids = _image_ids(images, content.name)
    kept = [row for row in annotations if drop is None or not drop(row)]
    where = Where("annotation", [index for index, row in enumerate(annotations, 1) if drop is None or not drop(row)])
    owners = columns.field_of(kept, "image_id", content.name, where)
    texts = columns.field_of(kept, "caption", content.name, where)
    _check_owners(owners, ids, content.name, where)
    dropped = len(annotations) - len(kept)
    table = Table(owners, texts, where=where, images=ids, file_names=_file_names(ids, images), tags=_tags(ids, images))
    return replace(table, notes=(note.format(count=f"{dropped:,}"),)) if dropped else table


def _objects(content: Content, name: str) -> list[Annotation]:
    rows = content.object.get(name)
    if not isinstance(rows, list):
        msg = f"{content.name}: {name!r} is {kind_of(rows)}, not a list"
        raise BadFormat(msg)
    odd = next((index for index, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        msg = f"{content.name}: entry {odd + 1} of {name!r} is {kind_of(rows[odd])}, not an object"
        raise BadFormat(msg)
    return cast("list[Annotation]", rows)


def _image_ids(images: list[Annotation], source: str) -> list[ItemKey]:
    ids = columns.field_of(images, "id", source, Where("image"))
    odd = next((index for index, key in enumerate(ids) if type(key) not in {int, str}), None)
    if odd is not None:
        msg = f"{source}: image {odd + 1}: its id is {kind_of(ids[odd])}, not a number or a string"
        raise BadFormat(msg)
    if len(set(ids)) != len(ids):
        twice = [key for key in dict.fromkeys(ids) if ids.count(key) > 1][:_SHOWN]
        msg = f"{source}: 'images' names an id twice: {', '.join(map(repr, twice))}"
        raise BadFormat(msg)
    return cast("list[ItemKey]", ids)


def _check_owners(owners: list[Any], ids: list[ItemKey], source: str, where: Where) -> None:
    known: set[object] = set(ids)
    for row, key in enumerate(owners):
        if type(key) not in {int, str}:
            msg = f"{source}: {where(row)}: the image id is {kind_of(key)}, not a string or a whole number"
            raise BadFormat(msg)
        if key not in known:
            msg = f"{source}: {where(row)} is of image {key!r}, which 'images' does not name"
            raise BadFormat(msg)


def _file_names(ids: list[ItemKey], images: list[Annotation]) -> dict[ItemKey, str] | None:
    named = zip(ids, (row.get("file_name") for row in images), strict=True)
    return {key: name for key, name in named if isinstance(name, str)} or None


def _tags(ids: list[ItemKey], images: list[Annotation]) -> dict[ItemKey, dict[str, str]] | None:
    named = zip(ids, (row.get("domain") for row in images), strict=True)
    return {key: {"domain": domain} for key, domain in named if isinstance(domain, str)} or None


FORMAT = Format("coco-annotations", "COCO annotations", ("object",), recognise, read)
