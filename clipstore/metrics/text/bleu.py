"""BLEU: clipped n-gram matches against all references of an image, over a whole corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

Values = npt.NDArray[np.float64]

ORDERS = 4
STATISTICS = 2 + 2 * ORDERS
"""Columns: caption length, closest reference length, n-grams of order 1..4, matches of order 1..4."""

# What bleu_scorer.py of pycocoevalcap adds against division by zero ("small", "tiny").
_SMALL, _TINY = 1e-9, 1e-15


class References:
    """The references of one image, counted once for all systems."""

    def __init__(self, references: Sequence[str]) -> None:
        from pycocoevalcap.bleu.bleu_scorer import cook_refs

        self._counted = cook_refs(list(references), n=ORDERS)

    def statistics(self, caption: str) -> Values:
        """Return the statistics of one caption, float64, shape (10,)."""
        from pycocoevalcap.bleu.bleu_scorer import cook_test

        found = cook_test(caption, self._counted, eff="closest", n=ORDERS)
        return np.array([found["testlen"], found["reflen"], *found["guess"], *found["correct"]], np.float64)


def bleu_value(sums: Values, order: int) -> Values:
    """Return BLEU of summed statistics: Papineni et al. 2002, section 2.3, as pycocoevalcap computes it.

    Parameters
    ----------
    sums
        float64, shape (..., 10): statistics of one image, or their sums over images.
    order
        Longest n-gram, 1 to 4.

    Returns
    -------
    Values
        float64, shape (...).
    """
    guesses, matches = sums[..., 2 : 2 + order], sums[..., 2 + ORDERS : 2 + ORDERS + order]
    product = np.prod((matches + _TINY) / (guesses + _SMALL), axis=-1)
    ratio = (sums[..., 0] + _TINY) / (sums[..., 1] + _SMALL)
    penalty = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    return np.asarray(product ** (1 / order) * penalty)
