"""HPSv2's pixels: RGB first, then the longest side resized in floats, then padded to a square.

As its copy of open_clip's transform does with torchvision's antialiased bicubic resize of
tensors: values overshoot 0..1 and are not rounded, so pixels are float32 here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from clipstore.encoders import depth, images
from clipstore.encoders.protocol import MAX_PIXELS, Prepared
from clipstore.errors import BadImage

if TYPE_CHECKING:
    import PIL.Image

    from clipstore.encoders.images import Preprocess

_WHITE = 255


def prepare(image: bytes | PIL.Image.Image, how: Preprocess, max_pixels: int = MAX_PIXELS) -> Prepared:
    """Decode one image and return float32 pixels of shape (size, size, 3), on a scale of 0 to 255.

    Raises
    ------
    BadImage
        When the image can't be decoded, or is too large or too thin.
    """
    picture, flags = images.decode(image, max_pixels)
    mode, size = picture.mode, picture.size
    if how.exif == "apply":
        picture, flags = images.upright(picture, flags)
    picture, flags = depth.eight_bit(picture, flags)
    pixels = np.array(picture.convert("RGB"))
    values = torch.from_numpy(pixels).permute(2, 0, 1)[None].float().div_(_WHITE)
    fitted = _longest(values, how.size[0], how.fill_color)
    return Prepared(fitted[0].permute(1, 2, 0).mul_(_WHITE).numpy(), mode, size, flags)


def _longest(values: torch.Tensor, edge: int, fill: int) -> torch.Tensor:
    """Resize (1, 3, height, width) so that the longer side is ``edge``, and pad the shorter one."""
    height, width = values.shape[2:]
    scale = edge / max(height, width)
    if scale == 1:
        return values if height == width else _padded(values, edge, fill)
    to = round(height * scale), round(width * scale)
    if 0 in to:
        message = f"is too long and thin ({width} x {height}) to be resized"
        raise BadImage(message)
    with torch.inference_mode():
        resized = torch.nn.functional.interpolate(values, to, mode="bicubic", align_corners=False, antialias=True)
    return _padded(resized, edge, fill)


def _padded(values: torch.Tensor, edge: int, fill: int) -> torch.Tensor:
    down, across = edge - values.shape[2], edge - values.shape[3]
    border = (across // 2, across - across // 2, down // 2, down - down // 2)
    return torch.nn.functional.pad(values, border, value=float(fill)).clone()
