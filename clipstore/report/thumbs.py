"""Pictures: the images of an eval set by content id, and their thumbnails."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, final

from clipstore import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        Content id -> a file that held it.
    sizes
        Content id -> width and height in pixels.
    """

    def __init__(self, paths: Mapping[int, str], sizes: Mapping[int, tuple[int, int]]) -> None:
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
        """Return an image's bytes and media type; None where its file is gone, changed, or no raster image."""
        if image_id not in self._paths:
            return None
        try:
            data = Path(self._paths[image_id]).read_bytes()
        except OSError:
            return None
        kind = _media_type(data)
        return None if kind is None or keys.image_id(data) != image_id else (data, kind)

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
        found = self.full(image_id)
        if found is None:
            return None
        import PIL.Image
        import PIL.ImageOps

        try:
            with PIL.Image.open(io.BytesIO(found[0])) as image:
                image.draft("RGB", (2 * SIDE, 2 * SIDE))
                upright = PIL.ImageOps.exif_transpose(image)
                small = upright.convert("RGBA" if "A" in upright.getbands() else "RGB")
                small.thumbnail((SIDE, SIDE), reducing_gap=2.0)
                out = io.BytesIO()
                small.save(out, "WEBP", quality=_QUALITY, method=4)
        except (OSError, ValueError, PIL.Image.DecompressionBombError):
            return None
        return Thumb(out.getvalue(), *small.size)


def _media_type(data: bytes) -> str | None:
    """Return the media type of raster images that browsers show; never SVG, which may hold scripts."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    for start, kind in (
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF8", "image/gif"),
        (b"BM", "image/bmp"),
    ):
        if data.startswith(start):
            return kind
    return None
