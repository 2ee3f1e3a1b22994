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
        Tokens of each image's references, one or more an image, in one order.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        from pycocoevalcap.cider.cider_scorer import cook_refs

        counted = [cook_refs(list(some), n=ORDERS) for some in references]
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
        from pycocoevalcap.cider.cider_scorer import cook_test

        out = np.full(len(captions), np.nan)
        for row, (caption, references) in enumerate(zip(captions, self._references, strict=True)):
            if caption is not None:
                vector = self._vector(cook_test(caption, n=ORDERS))
                total = sum(_similarity(vector, reference) for reference in references)
                out[row] = _FACTOR * total / len(references)
        return out

    def _vector(self, counts: Mapping[_Ngram, int]) -> _Vector:
        """Return the tf-idf weights of each order, their norms, and the number of bigrams (the length)."""
        weights: list[_Weights] = [{} for _ in range(ORDERS)]
        length = 0
        for ngram, count in counts.items():
            weights[len(ngram) - 1][ngram] = count * self._idf.get(ngram, self._unseen)
            length += count if len(ngram) == 2 else 0
        return weights, [math.sqrt(sum(value * value for value in some.values())) for some in weights], length


def _similarity(caption: _Vector, reference: _Vector) -> float:
    """Return the clipped cosine, averaged over the orders, less what the difference in length costs."""
    total = 0.0
    for ours, theirs, norm, other in zip(caption[0], reference[0], caption[1], reference[1], strict=True):
        if norm and other:
            products = (min(value, theirs[ngram]) * theirs[ngram] for ngram, value in ours.items() if ngram in theirs)
            total += sum(products) / (norm * other)
    gap = caption[2] - reference[2]
    return total / ORDERS * math.exp(-(gap**2) / (2 * _SIGMA**2))
