"""How long and how varied captions are: words, distinct n-grams. They look at no image and no reference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}-]\w+)*")


def words(caption: str) -> list[str]:
    """Return the words of a caption: lower case, without punctuation."""
    return _WORD.findall(caption.lower())


def word_count(caption: str) -> int:
    """Return how many words a caption has, split at white space as the other tables count them."""
    return len(caption.split())


def distinct(captions: Iterable[str], n: int) -> float | None:
    """Return distinct-n: different n-grams over all n-grams of all captions (Li et al. 2016, arXiv 1510.03055, 5.3).

    Parameters
    ----------
    captions
        Of one system. The number falls as captions get more: compare systems on the same images.
    n
        Words in an n-gram, 1 or more.

    Returns
    -------
    float | None
        Between 0 and 1; None where no caption has ``n`` words.
    """
    seen: set[tuple[str, ...]] = set()
    total = 0
    for caption in captions:
        own = words(caption)
        grams = [tuple(own[at : at + n]) for at in range(len(own) - n + 1)]
        seen.update(grams)
        total += len(grams)
    return len(seen) / total if total else None
