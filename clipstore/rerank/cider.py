"""CIDEr-D of single candidates: the number that captioners are trained and tuned on.

Vedantam et al. 2015 (arXiv 1411.5726), section 4, in the form of the official COCO code
(n = 1..4, clipped, Gaussian length penalty with sigma 6, times 10).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.rerank.ragged import Numbers

ORDERS: Final = 4
SIGMA: Final = 6.0
SCALE: Final = 10.0

# Words of the PTB tokenizer on plain captions, its punctuation left out as the official code does.
_WORD = re.compile(r"'(?:s|re|ve|ll|d|m)(?!\w)|n't(?!\w)|[^\W_]+(?:[-.,'][^\W_]+)*|[$%&@]")
_CLITIC = re.compile(r"(?<=\w)('s|'re|'ve|'ll|'d|'m|n't)(?!\w)")

Grams = Counter[tuple[str, ...]]


def words(text: str) -> list[str]:
    """Return the words that n-grams are made of: lower case, clitics apart, punctuation left out."""
    return [part for word in _WORD.findall(_CLITIC.sub(r" \1", text.lower())) for part in word.split()]


def grams(text: str) -> Grams:
    """Return how often each n-gram of one to four words stands in a text."""
    tokens = words(text)
    return Counter(
        tuple(tokens[start : start + n]) for n in range(1, ORDERS + 1) for start in range(len(tokens) - n + 1)
    )


@final
@dataclass(frozen=True, slots=True)
class _Weighed:
    """One text as tf-idf weights by order, with norms and its length as the official code takes it (bigrams)."""

    weights: tuple[dict[tuple[str, ...], float], ...]
    norms: tuple[float, ...]
    length: int


def cider(candidates: Sequence[str], references: Sequence[Sequence[str]], corpus: Sequence[Sequence[str]]) -> Numbers:
    """Return the CIDEr-D of each candidate against its references; NaN where it has none.

    Parameters
    ----------
    candidates
        Captions as they came.
    references
        The references of each candidate's image.
    corpus
        The references of every image of the set: document frequencies come from these.

    Returns
    -------
    Numbers
        float64, shape (len(candidates),), about 0 to 10.
    """
    frequencies: Counter[tuple[str, ...]] = Counter()
    images = 0
    for texts in corpus:
        if texts:
            images += 1
            frequencies.update({gram for text in texts for gram in grams(text)})
    log_images = math.log(max(images, 1))
    known: dict[str, _Weighed] = {}

    def weighed(text: str) -> _Weighed:
        found = known.get(text)
        if found is None:
            found = known[text] = _weigh(grams(text), frequencies, log_images)
        return found

    out = np.full(len(candidates), np.nan)
    for row, (text, own) in enumerate(zip(candidates, references, strict=True)):
        if own:
            mine = weighed(text)
            out[row] = SCALE * sum(_similarity(mine, weighed(other)) for other in own) / len(own)
    return out


def _weigh(counts: Grams, frequencies: Counter[tuple[str, ...]], log_images: float) -> _Weighed:
    weights: tuple[dict[tuple[str, ...], float], ...] = tuple({} for _ in range(ORDERS))
    squares = [0.0] * ORDERS
    length = 0
    for gram, count in counts.items():
        order = len(gram) - 1
        weight = count * (log_images - math.log(max(1.0, frequencies[gram])))
        weights[order][gram] = weight
        squares[order] += weight * weight
        length += count if order == 1 else 0
    return _Weighed(weights, tuple(math.sqrt(value) for value in squares), length)


def _similarity(one: _Weighed, other: _Weighed) -> float:
    penalty = math.exp(-((one.length - other.length) ** 2) / (2 * SIGMA**2))
    total = 0.0
    for order in range(ORDERS):
        theirs, norm = other.weights[order], one.norms[order] * other.norms[order]
        if norm:
            shared = [gram for gram in one.weights[order] if gram in theirs]
            dot = sum(min(one.weights[order][gram], theirs[gram]) * theirs[gram] for gram in shared)
            total += dot / norm * penalty
    return total / ORDERS
