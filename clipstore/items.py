"""The frozen values that the library speaks of: images, candidates, items of an eval set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import PIL.Image

ItemKey = str | int
"""A user's own id of an image, exactly as it came: ``391895`` and ``"391895"`` stay apart on the way out."""

ScoreKind = Literal["mean", "sum", "unknown"]
"""What a candidate's log-probability is: per token, of the whole caption, or unknown."""


@final
@dataclass(frozen=True, slots=True)
class Image:
    """An image where it lies: a file, its encoded bytes, or a picture in memory.

    Parameters
    ----------
    source
        A path, the bytes of an image file, or a ``PIL.Image.Image``.
    name
        What messages call it; the path for a file.
    """

    source: Path | bytes | PIL.Image.Image
    name: str


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """One caption that a system offers for an image.

    Parameters
    ----------
    caption
        The text as it came.
    rank
        Its place in the file, 0 first; not an order by score.
    score
        The captioner's own log-probability, where it gave one.
    score_kind
        What that number is.
    """

    caption: str
    rank: int = 0
    score: float | None = None
    score_kind: ScoreKind | None = None


@final
@dataclass(frozen=True, slots=True)
class EvalItem:
    """One image that counts, with its references.

    Parameters
    ----------
    key
        The user's id, as it came.
    image
        Where its image lies, or None in a set without images or whose images stand in a store.
    image_id
        The content id of its image, once known.
    references
        Zero or more reference captions, as they came.
    tags
        Named facts to slice by, such as ``domain``.
    """

    key: ItemKey
    image: Image | None = None
    image_id: int | None = None
    references: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
