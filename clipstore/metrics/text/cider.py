"""CIDEr: tf-idf n-gram similarity to the references, with document frequencies of the whole set."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.metrics.text.bleu import Values

    _Ngram = tuple[str, ...]
    _Weights = dict[_Ngram, float]
    _Vector = tuple[list[_Weights], list[float], int]

ORDERS = 4

# Width of the Gaussian over length differences, and the factor of the final value: CIDEr-D, section 5.1.
_SIGMA, _FACTOR = 6.0, 10.0


class Frequencies:
    """The references of a whole set, weighed once: every system, every slice is scored with these frequencies.

    CIDEr as pycocoevalcap's ``Cider`` computes it and every table of the field prints it:
    the CIDEr-D variant of Vedantam et al. 2015 (arXiv 1411.5726, section 5.1), n = 1 to 4,
    sigma = 6. Written anew so that the references' vectors are kept from one system to the next.

    Parameters
    ----------
    references
        Tokens of each image's references, one or more an image, in one order: words with spaces between.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        counted = [[_ngrams(text) for text in some] for some in references]
        documents: Counter[_Ngram] = Counter()
        for some in counted:
            documents.update({ngram for counts in some for ngram in counts})
        images = math.log(len(counted)) if counted else 0.0
        self._unseen = images
        self._idf = {ngram: images - math.log(held) for ngram, held in documents.items()}
        self._references = [[self._vector(counts) for counts in some] for some in counted]

    def score(self, captions: Sequence[str | None]) -> Values:
        """Return CIDEr (with its own factor of 10, not x100) of each image's caption.

        Parameters
        ----------
        captions
            Tokens, in the order of the references; None where there is no caption.

        Returns
        -------
        Values
            float64, shape (images,); NaN where there is no caption.
        """
        if len(captions) != len(self._references):
            msg = f"{len(captions):,} captions for {len(self._references):,} images"
            raise ValueError(msg)
        held = [row for row, caption in enumerate(captions) if caption is not None]
        out = np.full(len(captions), np.nan)
        out[held] = self.of_rows(held, [caption for caption in captions if caption is not None])
        return out

    def of_rows(self, rows: Sequence[int], captions: Sequence[str]) -> Values:
        """Return CIDEr of captions, each against the references of one row; several may share a row.

        Parameters
        ----------
        rows
            Places in the references.
        captions
            Tokens, one a row.

        Returns
        -------
        Values
            float64, shape (len(rows),).
        """
        known: dict[str, _Vector] = {}
        out = np.empty(len(rows))
        for place, (row, caption) in enumerate(zip(rows, captions, strict=True)):
            if caption not in known:
                known[caption] = self._vector(_ngrams(caption))
            references = self._references[row]
            total = sum(_similarity(known[caption], reference) for reference in references)
            out[place] = _FACTOR * total / len(references)
        return out

    def _vector(self, counts: Mapping[_Ngram, int]) -> _Vector:
        """Return the tf-idf weights of each order, their norms, and the number of bigrams (the length)."""
        weights: list[_Weights] = [{} for _ in range(ORDERS)]
        length = 0
        for ngram, count in counts.items():
            weights[len(ngram) - 1][ngram] = count * self._idf.get(ngram, self._unseen)
            length += count if len(ngram) == 2 else 0
        return weights, [math.sqrt(sum(value * value for value in some.values())) for some in weights], length


def _ngrams(text: str) -> Counter[_Ngram]:
    """Count the n-grams of one to four words, the shorter ones first, as the official code does."""
    words = text.split()
    sizes = range(1, ORDERS + 1)
    return Counter(tuple(words[start : start + n]) for n in sizes for start in range(len(words) - n + 1))


def _similarity(caption: _Vector, reference: _Vector) -> float:
    """Return the clipped cosine, averaged over the orders, less what the difference in length costs."""
    total = 0.0
    for ours, theirs, norm, other in zip(caption[0], reference[0], caption[1], reference[1], strict=True):
        if norm and other:
            products = (min(value, theirs[ngram]) * theirs[ngram] for ngram, value in ours.items() if ngram in theirs)
            total += sum(products) / (norm * other)
    gap = caption[2] - reference[2]
    return total / ORDERS * math.exp(-(gap**2) / (2 * _SIGMA**2))
