"""Format 6: Karpathy's ``dataset_*.json``, ``images[].sentences[].raw`` with splits.

Ids are ``cocoid``, or file names where there is none (flickr8k, flickr30k); ``imgid`` is kept
beside them. ``restval`` is a split of its own: it is training data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clipstore.errors import BadFormat, InputError
from clipstore.formats.format import Format
from clipstore.formats.source import kind_of
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.items import ItemKey

Entry = dict[str, Any]


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether the first of ``images`` has ``sentences``."""
    images = content.object.get("images")
    return isinstance(images, list) and any(isinstance(image, dict) and "sentences" in image for image in images[:1])


def read(content: Content, hints: Hints) -> Table:
    """Read one split.

    Raises
    ------
    InputError
        When there are several splits and none, or another one, was asked for.
    BadFormat
        Naming the first image that lacks something.
    """
    images = content.object.get("images")
    if not isinstance(images, list) or not all(isinstance(image, dict) for image in images):
        msg = f"{content.name}: 'images' is not a list of objects"
        raise BadFormat(msg)
    images, numbers = _of_split(images, hints, content.name)
    ids = _ids(images, numbers, content.name)
    owners, texts, lines = [], [], []
    for key, image, number in zip(ids, images, numbers, strict=True):
        for raw in _raws(image, number, content.name):
            owners.append(key)
            texts.append(raw)
            lines.append(number)
    return Table(
        owners,
        texts,
        where=Where("image", lines),
        nested=True,
        images=ids,
        file_names={key: _path(image) for key, image in zip(ids, images, strict=True) if "filename" in image} or None,
        alternates=_alternates(images),
        id_kind="cocoid" if images and "cocoid" in images[0] else "name",
    )


def _of_split(images: list[Entry], hints: Hints, source: str) -> tuple[list[Entry], list[int]]:
    splits = dict.fromkeys(str(image["split"]) for image in images if "split" in image)
    if hints.split is None and len(splits) > 1:
        named = ", ".join(splits)
        msg = f"{source}: a Karpathy file with splits {named}: choose with --split (results are reported on test)"
        raise InputError(msg)
    wanted = None if hints.split is None else hints.split.split(",")
    kept = [(image, number) for number, image in enumerate(images, 1) if wanted is None or image.get("split") in wanted]
    if not kept:
        msg = f"{source}: no image is of split {hints.split!r} (splits: {', '.join(splits) or 'none'})"
        raise InputError(msg)
    return [image for image, _ in kept], [number for _, number in kept]


def _ids(images: list[Entry], numbers: list[int], source: str) -> list[ItemKey]:
    field = next((name for name in ("cocoid", "filename", "imgid") if all(name in image for image in images)), None)
    if field is None:
        msg = f"{source}: images have neither 'cocoid' nor 'filename' nor 'imgid'"
        raise BadFormat(msg)
    ids = [image[field] for image in images]
    seen: set[ItemKey] = set()
    for key, number in zip(ids, numbers, strict=True):
        if type(key) not in {str, int}:
            msg = f"{source}: image {number}: its {field} is {kind_of(key)}, not a string or a whole number"
            raise BadFormat(msg)
        if key in seen:
            msg = f"{source}: image {number}: {field} {key!r} is there twice"
            raise BadFormat(msg)
        seen.add(key)
    return cast("list[ItemKey]", ids)


def _raws(image: Entry, number: int, source: str) -> list[str]:
    sentences = image.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(one, dict) and "raw" in one for one in sentences):
        msg = f"{source}: image {number}: 'sentences' is not a list of objects with 'raw'"
        raise BadFormat(msg)
    return [one["raw"] for one in sentences]


def _path(image: Entry) -> str:
    folder = image.get("filepath")
    return f"{folder}/{image['filename']}" if isinstance(folder, str) and folder else str(image["filename"])


def _alternates(images: list[Entry]) -> dict[str, list[ItemKey]]:
    names = [name for name in ("cocoid", "imgid") if all(type(image.get(name)) in {str, int} for image in images)]
    return {name: [image[name] for image in images] for name in names}


FORMAT = Format("karpathy", "Karpathy split", ("object",), recognise, read)
