"""Pictures: the images of an eval set by content id, and their thumbnails."""

from __future__ import annotations

import io
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, final

import numpy as np

from clipstore.errors import BadImage
from clipstore.store import known_images

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import PIL.Image

SIDE: Final = 224
"""Longest side of a thumbnail, in pixels."""

_QUALITY: Final = 72
_KEPT: Final = 2000  # thumbnails kept in memory: about 12 MB


@final
@dataclass(frozen=True, slots=True)
class Thumb:
    """A thumbnail: WebP bytes, and its size in pixels."""

    data: bytes
    width: int
    height: int


@final
class Pictures:
    """Images by content id; nothing else can be asked for.

    Parameters
    ----------
    paths
        Content id -> files that held it, the likeliest first.
    sizes
        Content id -> width and height in pixels.
    """

    def __init__(self, paths: Mapping[int, Sequence[str]], sizes: Mapping[int, tuple[int, int]]) -> None:
        self._paths = dict(paths)
        self._sizes = dict(sizes)
        self._thumbs: dict[int, Thumb | None] = {}
        self._lock = Lock()

    def __contains__(self, image_id: object) -> bool:
        return image_id in self._paths

    def size(self, image_id: int) -> tuple[int, int]:
        """Return the size of a thumbnail without reading the image; square where it is not known."""
        width, height = self._sizes.get(image_id, (SIDE, SIDE))
        scale = min(1.0, SIDE / max(width, height, 1))
        return max(1, round(width * scale)), max(1, round(height * scale))

    def full(self, image_id: int) -> tuple[bytes, str] | None:
        """Return an image's bytes and media type; None where its file is gone, changed, or no raster image.

        What browsers don't show, such as TIFF, is sent as PNG.
        """
        data = self._bytes(image_id)
        if data is None:
            return None
        kind = _media_type(data)
        if kind is not None:
            return data, kind
        picture = _decoded(data)
        return None if picture is None else (_saved(picture, "PNG"), "image/png")

    def _bytes(self, image_id: int) -> bytes | None:
        """Return the file of an image, None where all are gone or hold others by now."""
        found = known_images.read(image_id, self._paths.get(image_id, ()))
        return None if found is None else found[1]

    def thumb(self, image_id: int) -> Thumb | None:
        """Return an image's thumbnail; None where its file is gone, changed or can't be read."""
        with self._lock:
            if image_id in self._thumbs:
                return self._thumbs[image_id]
        made = self._made(image_id)
        with self._lock:
            while len(self._thumbs) >= _KEPT:
                self._thumbs.pop(next(iter(self._thumbs)))
            self._thumbs[image_id] = made
        return made

    def _made(self, image_id: int) -> Thumb | None:
        data = self._bytes(image_id)
        if data is None:
            return None
        import PIL.Image
        import PIL.ImageOps

        try:
            if _media_type(data) is None:
                small = _decoded(data)
            else:
                with PIL.Image.open(io.BytesIO(data)) as image:
                    image.draft("RGB", (2 * SIDE, 2 * SIDE))
                    upright = PIL.ImageOps.exif_transpose(image)
                    small = _coloured(upright)
            if small is None:
                return None
            small.thumbnail((SIDE, SIDE), reducing_gap=2.0)
            return Thumb(_saved(small, "WEBP"), *small.size)
        except (OSError, ValueError, PIL.Image.DecompressionBombError):
            return None


def _decoded(data: bytes) -> PIL.Image.Image | None:
    """Decode an image as an encoder does; None where that refuses it."""
    from clipstore.encoders import images

    try:
        picture, _ = images.decode(data)
    except BadImage:
        return None
    return _coloured(picture)


def _coloured(picture: PIL.Image.Image) -> PIL.Image.Image:
    """Return a picture in colours of 8 bits, with its transparency; grey of 16 bits is scaled, as browsers do."""
    if picture.mode.startswith("I"):
        import PIL.Image

        grey = np.asarray(picture).astype(np.float64)
        top = 65535 if grey.max(initial=0) > 255 else 255
        picture = PIL.Image.fromarray((grey * (255 / top)).clip(0, 255).astype(np.uint8))
    return picture.convert("RGBA" if "A" in picture.getbands() else "RGB")


def _saved(picture: PIL.Image.Image, form: str) -> bytes:
    out = io.BytesIO()
    picture.save(out, form, **({"quality": _QUALITY, "method": 4} if form == "WEBP" else {}))
    return out.getvalue()


def _media_type(data: bytes) -> str | None:
    """Return the media type of raster images that browsers show; never SVG, which may hold scripts."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:12] == b"ftypavif":
        return "image/avif"
    for start, kind in (
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF8", "image/gif"),
        (b"BM", "image/bmp"),
    ):
        if data.startswith(start):
            return kind
    return None
