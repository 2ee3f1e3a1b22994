"""Images: decode, bring odd modes to 8 bit, and give the pixels that the official transform gives.

The official transform resizes in the picture's own mode and converts to RGB afterwards. For
the modes it is meant for (``RGB``, ``L``, ``LA``, ``RGBA``, ``CMYK``, ``P``, ``1``) the pixels
here are equal to open_clip's, one by one. Other modes are brought to 8 bit first:
:mod:`clipstore.encoders.depth`.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import PIL.Image
import PIL.ImageOps

from clipstore.encoders import bombs, depth
from clipstore.encoders.protocol import MAX_PIXELS, NO_EXIF, ROTATED, Prepared
from clipstore.errors import BadImage

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_FRAME = "first frame of several"

_ORIENTATION = 0x0112
_LARGE = "; if it's yours, make it smaller or raise --max-pixels"
_BOMB = f"has more pixels than allowed (a decompression bomb?){_LARGE}"
DECODE_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    ZeroDivisionError,
    NotImplementedError,
    MemoryError,
    RuntimeError,
    struct.error,
    zlib.error,
    PIL.Image.DecompressionBombError,
    PIL.Image.DecompressionBombWarning,
)
"""What Pillow's readers raise on broken or hostile files."""


@final
@dataclass(frozen=True, slots=True)
class Preprocess:
    """How a model wants its pixels.

    Parameters
    ----------
    size
        Height and width.
    mean, std
        Per channel, on a scale of 0 to 1.
    resize_mode
        ``shortest`` (fill, then crop), ``longest`` (fit, then pad) or ``squash``.
    interpolation
        ``bicubic`` or ``bilinear``.
    fill_color
        Grey level of the padding.
    exif
        ``ignore`` (official) or ``apply``.
    name
        ``exact`` (the official pixels), ``fast`` (:mod:`clipstore.encoders.fast`) or
        ``longest-tensor`` (:mod:`clipstore.encoders.tensor_pixels`).
    """

    size: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    resize_mode: Literal["shortest", "longest", "squash"] = "shortest"
    interpolation: Literal["bicubic", "bilinear"] = "bicubic"
    fill_color: int = 0
    exif: str = "ignore"
    name: Literal["exact", "fast", "longest-tensor"] = "exact"

    def fields(self) -> Mapping[str, object]:
        """Return what a fingerprint holds of it, the EXIF policy apart."""
        return {
            "name": self.name,
            "size": list(self.size),
            "mean": list(self.mean),
            "std": list(self.std),
            "resize_mode": self.resize_mode,
            "interpolation": self.interpolation,
            "fill_color": self.fill_color,
        }


def official(image: bytes | PIL.Image.Image, how: Preprocess, max_pixels: int = MAX_PIXELS) -> Prepared:
    """Decode one image and return the pixels of the official transform, before normalisation.

    Parameters
    ----------
    image
        The bytes of an image file, or a picture in memory.
    how
        Size, resize mode, interpolation, EXIF policy.
    max_pixels
        A larger image is refused.

    Returns
    -------
    Prepared
        uint8 pixels of shape (height, width, 3), with mode and size as decoded.

    Raises
    ------
    BadImage
        When the image can't be decoded, or is too large; with a plain reason.
    """
    return fitted(*decode(image, max_pixels), how, max_pixels)


def fitted(picture: PIL.Image.Image, flags: tuple[str, ...], how: Preprocess, max_pixels: int = MAX_PIXELS) -> Prepared:
    """Return the pixels of the official transform of a decoded picture: the second half of :func:`official`.

    Raises
    ------
    BadImage
        When it can't be converted or resized.
    """
    mode, size = picture.mode, picture.size
    try:
        if how.exif == "apply":
            picture, flags = upright(picture, flags)
        picture, flags = depth.eight_bit(picture, flags)
        picture = _fit(picture, how, max_pixels)
        if isinstance(picture.info.get("transparency"), bytes):  # Pillow would warn; the pixels are the same
            del picture.info["transparency"]
        return Prepared(np.asarray(picture.convert("RGB")), mode, size, flags)
    except DECODE_ERRORS as error:
        message = f"can't be converted from mode {mode} to RGB ({_words(error)}); save it again as RGB"
        raise BadImage(message) from error


def decode(image: bytes | PIL.Image.Image, max_pixels: int = MAX_PIXELS) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    """Decode one image and return it with its flags; of several frames, the first.

    Raises
    ------
    BadImage
        When the image can't be decoded or has more than ``max_pixels`` pixels.
    """
    if isinstance(image, PIL.Image.Image):
        _refuse_large(image.size, max_pixels)
        return _loaded(image), ()
    if not image:
        message = "the file is empty"
        raise BadImage(message)
    with bombs.allowing(max_pixels):
        return _opened(image, max_pixels)


def _opened(image: bytes, max_pixels: int) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    try:
        picture = PIL.Image.open(BytesIO(image))
    except PIL.UnidentifiedImageError as error:
        message = "not an image that Pillow can read"
        raise BadImage(message) from error
    except DECODE_ERRORS as error:
        message = _BOMB if _is_bomb(error) else f"can't be opened ({_words(error)})"
        raise BadImage(message) from error
    if picture.format == "EPS":
        message = "PostScript is not read, because reading it runs a program; save it as PNG"
        raise BadImage(message)
    _refuse_large(picture.size, max_pixels)
    try:
        flags = (FIRST_FRAME,) if getattr(picture, "is_animated", False) else ()
    except DECODE_ERRORS as error:
        message = f"can't be decoded ({_words(error)})"
        raise BadImage(message) from error
    return _loaded(picture), flags


def orientation_of(picture: PIL.Image.Image) -> int | None:
    """Return how EXIF says that a picture is turned: 2 to 8, or 1 for not at all; None where it can't be read."""
    try:
        said = picture.getexif().get(_ORIENTATION, 1)
    except DECODE_ERRORS:
        return None
    return int(said) if said in range(2, 9) else 1


def _loaded(picture: PIL.Image.Image) -> PIL.Image.Image:
    try:
        picture.load()
    except DECODE_ERRORS as error:
        message = _BOMB if _is_bomb(error) else f"can't be decoded ({_words(error)})"
        raise BadImage(message) from error
    if 0 in picture.size:
        message = f"has no pixels ({picture.width} x {picture.height})"
        raise BadImage(message)
    return picture


def _refuse_large(size: tuple[int, int], max_pixels: int) -> None:
    if size[0] * size[1] > max_pixels:
        message = (
            f"has {size[0]} x {size[1]} pixels, more than the {max_pixels} allowed (a decompression bomb?){_LARGE}"
        )
        raise BadImage(message)


def upright(picture: PIL.Image.Image, flags: tuple[str, ...]) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    """Turn a picture as its EXIF orientation says, and flag it."""
    orientation = orientation_of(picture)
    if orientation == 1:
        return picture, flags
    try:
        turned = None if orientation is None else PIL.ImageOps.exif_transpose(picture)
    except DECODE_ERRORS:
        turned = None
    return (picture, (*flags, NO_EXIF)) if turned is None else (turned, (*flags, ROTATED))


def _fit(picture: PIL.Image.Image, how: Preprocess, max_pixels: int) -> PIL.Image.Image:
    """Resize and crop as open_clip's evaluation transform, in the picture's own mode."""
    target, interpolation = resizing(picture.size, how, max_pixels)
    bilinear = interpolation == "bilinear"
    filter_ = PIL.Image.Resampling.BILINEAR if bilinear else PIL.Image.Resampling.BICUBIC
    return centred(picture if target == picture.size else picture.resize(target, filter_), how)


def resizing(size: tuple[int, int], how: Preprocess, max_pixels: int) -> tuple[tuple[int, int], str]:
    """Return the width and height that a picture is resized to before the crop, and the interpolation.

    Parameters
    ----------
    size
        Its own width and height.
    how, max_pixels
        As in :func:`official`.

    Raises
    ------
    BadImage
        When it is too long and thin.
    """
    height, width = how.size
    interpolation: str = how.interpolation
    if how.resize_mode == "squash":
        target = width, height
    elif how.resize_mode == "shortest" and height == width:
        target = _shortest_edge(size, height)
    else:
        ratios = size[1] / height, size[0] / width
        ratio = max(ratios) if how.resize_mode == "longest" else min(ratios)
        target = round(size[0] / ratio), round(size[1] / ratio)
        if how.resize_mode == "shortest":
            interpolation = "bicubic"  # open_clip passes none on here
    if 0 in target or target[0] * target[1] > max_pixels:
        message = f"is too long and thin ({size[0]} x {size[1]}) to be resized"
        raise BadImage(message)
    return target, interpolation


def _shortest_edge(size: tuple[int, int], edge: int) -> tuple[int, int]:
    """Return width and height whose shorter one is ``edge``; the longer one is cut to an integer, as torchvision."""
    width, height = size
    if width <= height:
        return edge, int(edge * height / width)
    return int(edge * width / height), edge


def centred(picture: PIL.Image.Image, how: Preprocess) -> PIL.Image.Image:
    """Pad to at least the wanted size, then crop the centre; always a new picture."""
    height, width = how.size
    x, y = max(0, width - picture.width), max(0, height - picture.height)
    if x or y:
        picture = _pad(picture, (x // 2, y // 2, (x + 1) // 2, (y + 1) // 2), how.fill_color)
    top, left = round((picture.height - height) / 2), round((picture.width - width) / 2)
    return picture.crop((left, top, left + width, top + height))


def _pad(picture: PIL.Image.Image, border: tuple[int, int, int, int], fill: int) -> PIL.Image.Image:
    bands = len(picture.getbands())
    padded = PIL.ImageOps.expand(picture, border=border, fill=(fill,) * bands if bands > 1 else fill)
    if picture.mode == "P":
        padded.putpalette(picture.getpalette() or [])
    return padded


def _is_bomb(error: BaseException) -> bool:
    return isinstance(error, (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning))


def _words(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__
