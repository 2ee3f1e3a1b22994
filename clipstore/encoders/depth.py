"""Odd modes of images, brought to 8 bit by a stated rule: the official code makes many of them white."""

from __future__ import annotations

import numpy as np
import PIL.Image

from clipstore.errors import BadImage

OFFICIAL_MODES = frozenset({"RGB", "L", "LA", "RGBA", "CMYK", "P", "1"})
"""Modes in which the picture is resized as it is."""

FROM_16_BIT = "scaled from 16 bit"
FROM_32_BIT = "scaled from 32 bit"
FROM_FLOAT = "scaled from float"
_BYTE, _SHORT = 0xFF, 0xFFFF


def eight_bit(picture: PIL.Image.Image, flags: tuple[str, ...]) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    """Bring a mode that the official transform is not meant for to 8 bit, and flag it.

    Integers (``I``, ``I;16``): as they are when all lie in 0..255; the high byte when all lie
    in 0..65535, as Pillow reads 16-bit RGB; else least..most to 0..255. Floats: 0..1 times
    255, 0..255 as they are, else least..most to 0..255. ``RGBa``, ``La`` and ``PA`` keep
    their alpha; anything else (``LAB``, ``HSV``, ``YCbCr``, ...) by Pillow's own conversion.

    Raises
    ------
    BadImage
        When a float is not finite.
    """
    mode = picture.mode
    if mode in OFFICIAL_MODES:
        return picture, flags
    if mode == "I" or mode.startswith("I;16"):
        grey, flag = _from_integers(np.asarray(picture.convert("I")).astype(np.int64))
        return PIL.Image.fromarray(grey), (*flags, flag or f"converted from {mode}")
    if mode == "F":
        return PIL.Image.fromarray(_from_floats(np.asarray(picture).astype(np.float64))), (*flags, FROM_FLOAT)
    target = {"RGBa": "RGBA", "La": "LA", "PA": "RGBA"}.get(mode, "RGB")
    return picture.convert(target), (*flags, f"converted from {mode}")


def _from_integers(values: np.ndarray) -> tuple[np.ndarray, str]:
    least, most = int(values.min()), int(values.max())
    if least < 0 or most > _SHORT:
        return _stretch(values.astype(np.float64)), FROM_32_BIT
    if most > _BYTE:
        return (values >> 8).astype(np.uint8), FROM_16_BIT
    return values.astype(np.uint8), ""


def _from_floats(values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        message = "holds values that are not finite"
        raise BadImage(message)
    least, most = float(values.min()), float(values.max())
    if least < 0 or most > _BYTE:
        return _stretch(values)
    grey: np.ndarray = np.rint(values * _BYTE if most <= 1 else values).astype(np.uint8)
    return grey


def _stretch(values: np.ndarray) -> np.ndarray:
    least, span = values.min(), np.ptp(values)
    grey: np.ndarray = np.rint((values - least) * (_BYTE / span if span else 0.0)).astype(np.uint8)
    return grey
