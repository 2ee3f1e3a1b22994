"""A picture in memory: the bytes that it is known by, as a file is by its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore import keys
from clipstore.encoders import images
from clipstore.errors import BadImage

if TYPE_CHECKING:
    import PIL.Image


def content(picture: PIL.Image.Image) -> bytes:
    """Return the bytes that identify a picture in memory: mode, size, palette, transparency, pixels, orientation.

    Raises
    ------
    BadImage
        When it can't be read, as a picture that is opened from a damaged file.
    """
    try:
        picture.load()
        palette = None if picture.palette is None else picture.palette.tobytes()
        transparency = picture.info.get("transparency")
        clear = None if transparency is None else repr(transparency).encode()
        pixels = picture.tobytes()
    except images.DECODE_ERRORS as error:
        message = f"can't be decoded ({str(error).strip() or type(error).__name__})"
        raise BadImage(message) from error
    turned = images.orientation_of(picture) or 1
    return keys.picture_bytes(picture.mode, picture.size, palette, clear, pixels, turned)
