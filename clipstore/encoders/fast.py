"""Fast pixels: JPEG through simplejpeg, resizing in torch's uint8 kernel; within one grey level of the official ones.

A choice of its own (``preprocess="fast"``), with its own fingerprint. Only RGB pictures that
are made much smaller take the quick way: near their own size one pixel in 100,000 rounds
differently by two levels, and there is less to gain. Every other mode, and a file that
simplejpeg refuses, gets the official pixels.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import PIL.Image
import torch

from clipstore.encoders import images
from clipstore.encoders.protocol import MAX_PIXELS, Prepared
from clipstore.errors import EncoderError

if TYPE_CHECKING:
    from clipstore.encoders.images import Preprocess

_JPEG = b"\xff\xd8\xff"
_SHRINK = 1.5  # the least factor for the quick way


def require() -> None:
    """Make sure that simplejpeg is here.

    Raises
    ------
    EncoderError
        When it is not; with the way to install it.
    """
    try:
        _simplejpeg()
    except ImportError as error:
        message = "preprocess='fast' decodes with simplejpeg, which is not installed: pip install 'clipstore[fast]'"
        raise EncoderError(message) from error


def prepare(image: bytes | PIL.Image.Image, how: Preprocess, max_pixels: int = MAX_PIXELS) -> Prepared:
    """Decode one image and resize it; arguments, result and errors as :func:`clipstore.encoders.images.official`."""
    pixels = _decoded(image, how, max_pixels) if isinstance(image, bytes) and image.startswith(_JPEG) else None
    if pixels is not None:
        return _resized(pixels, (), how, max_pixels)
    picture, flags = images.decode(image, max_pixels)
    if picture.mode != "RGB" or how.exif == "apply":
        return images.fitted(picture, flags, how, max_pixels)
    return _resized(np.array(picture), flags, how, max_pixels)


def _decoded(image: bytes, how: Preprocess, max_pixels: int) -> np.ndarray | None:
    """Return the pixels of a plain RGB JPEG, uint8 of shape (height, width, 3); None for anything else."""
    try:
        with PIL.Image.open(BytesIO(image)) as head:  # reads the header only
            plain = head.format == "JPEG" and head.mode == "RGB" and how.exif != "apply"
            if not plain or head.width * head.height > max_pixels:
                return None
        pixels: np.ndarray = _simplejpeg().decode_jpeg(image, "RGB")
    except (*images.DECODE_ERRORS, PIL.UnidentifiedImageError):  # Pillow's reader says what is wrong, or mends it
        return None
    return pixels


def _resized(pixels: np.ndarray, flags: tuple[str, ...], how: Preprocess, max_pixels: int) -> Prepared:
    """Resize (height, width, 3) pixels and crop them."""
    height, width = pixels.shape[:2]
    (to_width, to_height), interpolation = images.resizing((width, height), how, max_pixels)
    if width < _SHRINK * to_width or height < _SHRINK * to_height:
        return images.fitted(PIL.Image.fromarray(pixels), flags, how, max_pixels)
    batch = torch.from_numpy(pixels).permute(2, 0, 1)[None]
    with torch.inference_mode():
        small = torch.nn.functional.interpolate(
            batch, size=(to_height, to_width), mode=interpolation, align_corners=False, antialias=True
        )
    resized = PIL.Image.fromarray(small[0].permute(1, 2, 0).contiguous().numpy())
    return Prepared(np.asarray(images.centred(resized, how)), "RGB", (width, height), flags)


def _simplejpeg() -> Any:
    import simplejpeg  # the extra clipstore[fast]

    return simplejpeg
