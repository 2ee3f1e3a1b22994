"""What an encoder and a pair scorer are: the two interfaces between models and the store.

An encoder works in two stages, so that the first can run in threads while the model
computes: *prepare* (decode, resize; or tokenise), which needs no device and may fail for
one item, and *embed*, a batch through the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, final, runtime_checkable

from clipstore import keys

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy as np
    import PIL.Image

    from clipstore.arrays import Scores, Vectors

FORMAT = 1
"""Version of the list of fields that a fingerprint holds."""

NO_EXIF = "EXIF orientation unreadable, ignored"
ROTATED = "rotated by EXIF"
TURNING = (ROTATED, NO_EXIF)
"""Flags of images that only ``exif=apply`` gives."""

MAX_PIXELS = 178_956_970
"""Images with more pixels are refused as decompression bombs: Pillow's own limit for an error."""


@final
@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Everything that changes a vector, by name: equal fingerprint, same vectors.

    Parameters
    ----------
    fields
        JSON values: kind, architecture, weights digest, preprocessing, tokenizer, cleaning,
        context length, precision, exif policy, output normalisation, format.
    """

    fields: Mapping[str, object]

    @property
    def digest(self) -> str:
        """The fingerprint as 16 lower-case hex digits."""
        return keys.digest_json(dict(self.fields))[: keys.HEX_DIGITS]

    @property
    def cleaning(self) -> str:
        """Name of the text cleaning, for :func:`clipstore.encoders.canonical.cleaner`."""
        return str(self.fields.get("cleaning", "identity"))

    def difference(self, other: Fingerprint) -> list[str]:
        """Return one line for each field that differs: ``name: mine -> theirs``."""
        names = sorted(set(self.fields) | set(other.fields))
        missing = "(absent)"
        return [
            f"{name}: {self.fields.get(name, missing)} -> {other.fields.get(name, missing)}"
            for name in names
            if self.fields.get(name, missing) != other.fields.get(name, missing)
        ]


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """An image that is ready for the network.

    Parameters
    ----------
    pixels
        What the network's embed stage takes; for open_clip uint8 of shape (height, width, 3).
    mode
        Pillow's mode of the image as it was decoded, such as ``RGB`` or ``CMYK``.
    size
        Width and height of the image as it was decoded, in pixels.
    flags
        What was done beyond the official preprocessing, such as ``scaled from 16 bit``.
    """

    pixels: np.ndarray
    mode: str
    size: tuple[int, int]
    flags: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Tokens:
    """A text that is ready for the network.

    Parameters
    ----------
    ids
        Token ids with start and end, without padding.
    cut
        How many tokens did not fit the context and were left out.
    """

    ids: tuple[int, ...]
    cut: int = 0


@runtime_checkable
class Encoder(Protocol):
    """Images and texts to unit vectors of one space.

    ``prepare_image`` and ``tokenize`` are called from several threads at once;
    the embed methods from one.
    """

    @property
    def fingerprint(self) -> Fingerprint:
        """Everything that changes a vector."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    @property
    def image_batch(self) -> int:
        """How many images one call of ``embed_images`` should get."""
        ...

    @property
    def token_budget(self) -> int:
        """How many tokens, padding included, one call of ``embed_texts`` should get."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Versions and device: recorded with each segment, no part of the fingerprint."""
        ...

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Decode and resize one image (the bytes of a file, or a picture in memory).

        Raises
        ------
        BadImage
            When it can't be decoded; the message gives the reason, the caller names the image.
        """
        ...

    def embed_images(self, images: Sequence[Prepared]) -> Vectors:
        """Return unit vectors, float32 of shape (len(images), dim), in order."""
        ...

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts that ``canonical`` has cleaned."""
        ...

    def embed_texts(self, texts: Sequence[Tokens]) -> Vectors:
        """Return unit vectors, float32 of shape (len(texts), dim), in order."""
        ...

    def encode_images(self, images: Sequence[bytes | str | os.PathLike[str] | PIL.Image.Image]) -> Vectors:
        """Prepare and embed images in batches: unit vectors in input order."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> Vectors:
        """Clean, tokenise and embed raw texts in batches: unit vectors in input order."""
        ...


@runtime_checkable
class PairScorer(Protocol):
    """An image and a text, looked at together, to a number: scorers that have no vectors.

    ``prepare_image`` is called from several threads at once, ``score`` from one.
    """

    @property
    def fingerprint(self) -> Fingerprint:
        """Everything that changes a number."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Versions and device: no part of the fingerprint."""
        ...

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Decode and resize one image.

        Raises
        ------
        BadImage
            When it can't be decoded.
        """
        ...

    def score(self, image: Prepared, texts: Sequence[str]) -> Scores:
        """Return the number of one image with each text: float32, shape (len(texts),)."""
        ...


@final
@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a model is to be loaded. Only precision, preprocess and exif change vectors.

    Parameters
    ----------
    device
        ``auto``, ``cpu``, ``cuda``, ``cuda:n``, or ``cuda:all``: a store's space then has one more process encode
        on each further device.
    precision
        ``fp32``, ``fp16`` or ``bf16``.
    preprocess
        ``exact`` (the official pixels) or ``fast``.
    exif
        ``ignore`` (official) or ``apply``: what to do with an EXIF orientation.
    batch_size
        Images in a batch; None lets the encoder choose, ``auto`` makes it try which is quickest here.
    trust_weights
        Allow TorchScript archives, which run code.
    max_pixels
        Images with more pixels are refused as decompression bombs.
    """

    device: str = "auto"
    precision: str = "fp32"
    preprocess: str = "exact"
    exif: str = "ignore"
    batch_size: int | Literal["auto"] | None = None
    trust_weights: bool = False
    max_pixels: int = MAX_PIXELS
