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

from clipstore import keys
from clipstore.encoders import depth
from clipstore.encoders.protocol import MAX_PIXELS, Prepared
from clipstore.errors import BadImage

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_FRAME = "first frame of several"
NO_EXIF = "EXIF orientation unreadable, ignored"
ROTATED = "rotated by EXIF"

_ORIENTATION = 0x0112
_DECODE_ERRORS = (
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
    """

    size: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    resize_mode: Literal["shortest", "longest", "squash"] = "shortest"
    interpolation: Literal["bicubic", "bilinear"] = "bicubic"
    fill_color: int = 0
    exif: str = "ignore"

    def fields(self) -> Mapping[str, object]:
        """Return what a fingerprint holds of it, the EXIF policy apart."""
        return {
            "name": "exact",
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
    picture, flags = decode(image, max_pixels)
    mode, size = picture.mode, picture.size
    try:
        if how.exif == "apply":
            picture, flags = _upright(picture, flags)
        picture, flags = depth.eight_bit(picture, flags)
        picture = _fit(picture, how, max_pixels)
        if isinstance(picture.info.get("transparency"), bytes):  # Pillow would warn; the pixels are the same
            del picture.info["transparency"]
        return Prepared(np.asarray(picture.convert("RGB")), mode, size, flags)
    except _DECODE_ERRORS as error:
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
    try:
        picture = PIL.Image.open(BytesIO(image))
    except PIL.UnidentifiedImageError as error:
        message = "not an image that Pillow can read"
        raise BadImage(message) from error
    except _DECODE_ERRORS as error:
        message = f"can't be opened ({_words(error)})"
        raise BadImage(message) from error
    if picture.format == "EPS":
        message = "PostScript is not read, because reading it runs a program; save it as PNG"
        raise BadImage(message)
    _refuse_large(picture.size, max_pixels)
    try:
        flags = (FIRST_FRAME,) if getattr(picture, "is_animated", False) else ()
    except _DECODE_ERRORS as error:
        message = f"can't be decoded ({_words(error)})"
        raise BadImage(message) from error
    return _loaded(picture), flags


def content(picture: PIL.Image.Image) -> bytes:
    """Return the bytes that identify a picture in memory: mode, size, palette, transparency, pixels."""
    palette = picture.getpalette(None) if picture.mode in {"P", "PA"} else None
    transparency = picture.info.get("transparency")
    clear = transparency if isinstance(transparency, bytes | None) else repr(transparency).encode()
    held = None if palette is None else bytes(palette)
    return keys.picture_bytes(picture.mode, picture.size, held, clear, picture.tobytes())


def _loaded(picture: PIL.Image.Image) -> PIL.Image.Image:
    try:
        picture.load()
    except _DECODE_ERRORS as error:
        message = f"can't be decoded ({_words(error)})"
        raise BadImage(message) from error
    if 0 in picture.size:
        message = f"has no pixels ({picture.width} x {picture.height})"
        raise BadImage(message)
    return picture


def _refuse_large(size: tuple[int, int], max_pixels: int) -> None:
    if size[0] * size[1] > max_pixels:
        message = (
            f"has {size[0]} x {size[1]} pixels, more than the {max_pixels} allowed (a decompression bomb?); "
            "if it's yours, make it smaller or raise max_pixels"
        )
        raise BadImage(message)


def _upright(picture: PIL.Image.Image, flags: tuple[str, ...]) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    try:
        orientation = picture.getexif().get(_ORIENTATION, 1)
        turned = PIL.ImageOps.exif_transpose(picture)
    except _DECODE_ERRORS:
        return picture, (*flags, NO_EXIF)
    return (turned, (*flags, ROTATED)) if orientation in range(2, 9) else (picture, flags)


def _fit(picture: PIL.Image.Image, how: Preprocess, max_pixels: int) -> PIL.Image.Image:
    """Resize and crop as open_clip's evaluation transform, in the picture's own mode."""
    height, width = how.size
    filter_ = PIL.Image.Resampling.BILINEAR if how.interpolation == "bilinear" else PIL.Image.Resampling.BICUBIC
    if how.resize_mode == "squash":
        target = width, height
    elif how.resize_mode == "shortest" and height == width:
        target = _shortest_edge(picture.size, height)
    else:
        ratios = picture.height / height, picture.width / width
        ratio = max(ratios) if how.resize_mode == "longest" else min(ratios)
        target = round(picture.width / ratio), round(picture.height / ratio)
        if how.resize_mode == "shortest":
            filter_ = PIL.Image.Resampling.BICUBIC  # open_clip passes none on here
    if 0 in target or target[0] * target[1] > max_pixels:
        message = f"is too long and thin ({picture.width} x {picture.height}) to be resized"
        raise BadImage(message)
    resized = picture if target == picture.size else picture.resize(target, filter_)
    return _centre(resized, height, width, how.fill_color)


def _shortest_edge(size: tuple[int, int], edge: int) -> tuple[int, int]:
    """Return width and height whose shorter one is ``edge``; the longer one is cut to an integer, as torchvision."""
    width, height = size
    if width <= height:
        return edge, int(edge * height / width)
    return int(edge * width / height), edge


def _centre(picture: PIL.Image.Image, height: int, width: int, fill: int) -> PIL.Image.Image:
    """Pad to at least (height, width), then crop the centre; always a new picture."""
    x, y = max(0, width - picture.width), max(0, height - picture.height)
    if x or y:
        picture = _pad(picture, (x // 2, y // 2, (x + 1) // 2, (y + 1) // 2), fill)
    top, left = round((picture.height - height) / 2), round((picture.width - width) / 2)
    return picture.crop((left, top, left + width, top + height))


def _pad(picture: PIL.Image.Image, border: tuple[int, int, int, int], fill: int) -> PIL.Image.Image:
    bands = len(picture.getbands())
    padded = PIL.ImageOps.expand(picture, border=border, fill=(fill,) * bands if bands > 1 else fill)
    if picture.mode == "P":
        padded.putpalette(picture.getpalette() or [])
    return padded


def _words(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__
