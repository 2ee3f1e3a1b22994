"""An encoder without a model: vectors drawn from the content's hash, equal on any machine.

For tests and documentation, yours too: it needs no torch, decodes images with Pillow (so a
corrupt file is refused as everywhere) and counts words as tokens. Its vectors lean one way,
so that cosines spread around 0.3 as CLIP's do, and mean nothing.
"""

from __future__ import annotations

import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore import keys
from clipstore.encoders import canonical, images, in_memory, in_order
from clipstore.encoders.protocol import FORMAT, Fingerprint, Prepared, Tokens

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import PIL.Image

    from clipstore.arrays import Vectors

CONTEXT = 77
_START, _END = 0, 1
_LEAN = 13_107  # 0.4 of an int16's range: cosines around 0.3


@final
class FakeEncoder:
    """Implements :class:`clipstore.encoders.protocol.Encoder` from content hashes.

    Parameters
    ----------
    dim
        Length of a vector; part of the fingerprint.
    """

    def __init__(self, dim: int = 64) -> None:
        self._dim = dim
        fields = {"kind": "fake", "dim": dim, "cleaning": canonical.OPENAI_BPE, "context_length": CONTEXT}
        self._fingerprint = Fingerprint(MappingProxyType({**fields, "format": FORMAT}))

    @property
    def fingerprint(self) -> Fingerprint:
        """Kind and dimension."""
        return self._fingerprint

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    @property
    def image_batch(self) -> int:
        """Images in a batch."""
        return 64

    @property
    def token_budget(self) -> int:
        """Tokens in a batch."""
        return 4096

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing but the name: no library changes a fake vector."""
        return {"device": "fake"}

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Decode one image, and keep its hash in place of pixels.

        Raises
        ------
        BadImage
            When it can't be decoded.
        """
        picture, flags = images.decode(image)
        content = image if isinstance(image, bytes) else in_memory.content(image)
        digest = np.frombuffer(keys.sha256(content), dtype=np.uint8)
        return Prepared(digest.reshape(1, -1), picture.mode, picture.size, flags)

    def embed_images(self, images: Sequence[Prepared]) -> Vectors:
        """Return unit vectors, float32 of shape (len(images), dim)."""
        return self._draw([b"image" + image.pixels.tobytes() for image in images])

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Return one token a word, between a start and an end."""
        return [self._tokens(text) for text in texts]

    def embed_texts(self, texts: Sequence[Tokens]) -> Vectors:
        """Return unit vectors, float32 of shape (len(texts), dim)."""
        return self._draw([b"text" + repr(text.ids).encode() for text in texts])

    def encode_images(self, images: Sequence[bytes | str | os.PathLike[str] | PIL.Image.Image]) -> Vectors:
        """Return unit vectors of images, in input order."""
        return in_order.images(self, images)

    def encode_texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of raw texts, in input order."""
        return in_order.texts(self, texts)

    @staticmethod
    def _tokens(text: str) -> Tokens:
        words = [2 + (keys.text_id(word) & 0xFFFFFFFF) for word in text.lower().split()]
        room = CONTEXT - 2
        return Tokens((_START, *words[:room], _END), max(0, len(words) - room))

    def _draw(self, contents: Sequence[bytes]) -> Vectors:
        """Draw one vector a content; integers until the last step, so that no machine rounds otherwise."""
        drawn = b"".join(hashlib.shake_256(content).digest(2 * self._dim) for content in contents)
        rows = np.frombuffer(drawn, dtype="<i2").reshape(len(contents), self._dim).astype(np.int64) + _LEAN
        norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True).astype(np.float64))
        unit: Vectors = (rows / norms).astype(np.float32)
        return unit
