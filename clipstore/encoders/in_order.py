"""Vectors in input order: all of a list at once, as an encoder's ``encode_images`` and ``encode_texts`` give them."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import PIL.Image

from clipstore.encoders import canonical, pipeline
from clipstore.errors import BadImage, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clipstore.arrays import Vectors
    from clipstore.encoders.protocol import Encoder


def images(encoder: Encoder, pictures: Iterable[object]) -> Vectors:
    """Return unit vectors of images (paths, bytes or pictures) in input order, float32 of shape (pictures, dim).

    Raises
    ------
    BadImage
        When one can't be read, decoded or embedded; the message gives its position.
    InputError
        When one is none of these, or one image stands in place of a list.
    """
    given = _listed(pictures, "images")
    sources: list[tuple[int, Callable[[], bytes | PIL.Image.Image]]] = []
    for index, picture in enumerate(given):
        if not isinstance(picture, (bytes, str, os.PathLike, PIL.Image.Image)):
            what = type(picture).__name__
            message = f"image {index} of {len(given)}: a path, bytes or a PIL image is needed, not {what}"
            raise InputError(message)
        sources.append((index, partial(_content, picture)))
    vectors = np.empty((len(given), encoder.dim), dtype=np.float32)
    for batch in pipeline.images(encoder, sources):
        if batch.failures:
            index, reason = batch.failures[0]
            message = f"image {index} of {len(given)}: {reason}"
            raise BadImage(message)
        vectors[batch.keys] = batch.vectors
    return vectors


def texts(encoder: Encoder, raw: Iterable[object]) -> Vectors:
    """Return unit vectors of raw texts in input order, float32 of shape (texts, dim); repeats are embedded once.

    Raises
    ------
    InputError
        When something else than a text is among them, or one text stands in place of a list.
    """
    given = _listed(raw, "texts")
    clean = canonical.cleaner(encoder.fingerprint.cleaning)
    cleaned = []
    for index, text in enumerate(given):
        if not isinstance(text, str):
            message = f"text {index} of {len(given)}: a str is needed, not {type(text).__name__}"
            raise InputError(message)
        cleaned.append(clean(text))
    position = {text: index for index, text in enumerate(dict.fromkeys(cleaned))}
    vectors = np.empty((len(position), encoder.dim), dtype=np.float32)
    for batch in pipeline.texts(encoder, list(position)):
        vectors[batch.indices] = batch.vectors
    return vectors[np.array([position[text] for text in cleaned], dtype=np.int64)]


def _listed(given: Iterable[object], what: str) -> list[object]:
    if isinstance(given, (str, bytes, os.PathLike, PIL.Image.Image)):
        message = f"a list of {what} is needed, not one: write [it]"
        raise InputError(message)
    return list(given)


def _content(picture: bytes | str | os.PathLike[str] | PIL.Image.Image) -> bytes | PIL.Image.Image:
    if not isinstance(picture, (str, os.PathLike)):
        return picture
    try:
        return Path(picture).read_bytes()
    except OSError as error:
        message = f"{picture}: can't be read ({(error.strerror or str(error)).lower()})"
        raise BadImage(message) from error
