"""Content -> id: the first 63 bits of a sha256, as a non-negative int64.

Good to about 1e9 items of a kind (a 5 % chance of one clash); an id that meets other
content is :class:`clipstore.errors.IdCollision`, never a wrong vector. Outside the
process an id is written as 16 lower-case hex digits.

Pure functions on the standard library; nothing here reads a file.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SHIFT = 1
"""Bits of the first 64 of a digest that are no part of an id: the sign bit."""

HEX_DIGITS = 16


def _id(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big") >> SHIFT


def sha256(data: bytes) -> bytes:
    """Return the 32-byte sha256 of ``data``."""
    return hashlib.sha256(data).digest()


def from_sha256(digest: bytes) -> int:
    """Return the id of the content whose sha256 is ``digest``."""
    return _id(digest)


def image_id(data: bytes) -> int:
    """Return the id of an image file: a hash of its bytes, not of its path or pixels."""
    return _id(hashlib.sha256(data).digest())


def picture_bytes(
    mode: str,
    size: tuple[int, int],
    palette: bytes | None,
    transparency: bytes | None,
    pixels: bytes,
    orientation: int = 1,
) -> bytes:
    """Return the canonical bytes of a picture in memory, for :func:`image_id`.

    No conversion comes before: two modes are two pictures, and so are two EXIF orientations,
    of which 1 is that of a picture without any. Parts are length-prefixed, so no two
    different pictures give the same bytes.
    """
    parts = [
        b"pil",
        mode.encode(),
        f"{size[0]}x{size[1]}".encode(),
        b"" if palette is None else b"p" + palette,
        b"" if transparency is None else b"t" + transparency,
        pixels,
        *([] if orientation == 1 else [f"turned {orientation}".encode()]),
    ]
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def text_id(text: str) -> int:
    """Return the id of a text: a hash of its raw UTF-8, exactly as it came."""
    return _id(hashlib.sha256(text.encode()).digest())


def text_ids(texts: Iterable[str]) -> list[int]:
    """Return :func:`text_id` of each text, in order."""
    sha, from_bytes = hashlib.sha256, int.from_bytes
    return [from_bytes(sha(text.encode()).digest()[:8], "big") >> SHIFT for text in texts]


def text_digests(texts: Iterable[str]) -> bytes:
    """Return the sha256 of each text's raw UTF-8, 32 bytes each, one after the other."""
    sha = hashlib.sha256
    return b"".join([sha(text.encode()).digest() for text in texts])


def digest_json(value: Mapping[str, object] | Sequence[object]) -> str:
    """Return the sha256, 64 hex digits, of a value's canonical JSON (sorted keys, no spaces)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def combine(ids: Iterable[int]) -> int:
    """Return the id of an ordered list of ids, for contexts such as the references of an item."""
    return _id(hashlib.sha256(b"".join(value.to_bytes(8, "big") for value in ids)).digest())


def to_hex(value: int) -> str:
    """Write an id as 16 lower-case hex digits."""
    return f"{value:016x}"


def from_hex(text: str) -> int:
    """Read an id that :func:`to_hex` wrote.

    Raises
    ------
    ValueError
        When ``text`` is not 16 lower-case hex digits of a 63-bit number.
    """
    value = int(text, 16) if len(text) == HEX_DIGITS else -1
    if value < 0 or value >= 1 << 63 or to_hex(value) != text:
        msg = f"not an id: {text!r} (16 lower-case hex digits)"
        raise ValueError(msg)
    return value
