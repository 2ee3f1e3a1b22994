"""How large a picture Pillow may open: its own limit makes way for ours while an image is decoded.

Pillow refuses what has more than twice its limit, whatever ``max_pixels`` says, and warns of what
has more than its limit. A limit that somebody set other than Pillow's own is left alone.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import PIL.Image

if TYPE_CHECKING:
    from collections.abc import Iterator

PILLOWS: Final = 1024**3 // 4 // 3
"""The limit that Pillow comes with."""

_lock = threading.Lock()
_allowed: list[int] = []


@contextmanager
def allowing(pixels: int) -> Iterator[None]:
    """Let Pillow open pictures of that many pixels meanwhile; several threads at once get the largest limit."""
    with _lock:
        ours = bool(_allowed) or PIL.Image.MAX_IMAGE_PIXELS == PILLOWS
        if ours:
            _allowed.append(pixels)
            PIL.Image.MAX_IMAGE_PIXELS = max(PILLOWS, *_allowed)
    try:
        yield
    finally:
        with _lock:
            if ours:
                _allowed.remove(pixels)
                PIL.Image.MAX_IMAGE_PIXELS = max((PILLOWS, *_allowed))
