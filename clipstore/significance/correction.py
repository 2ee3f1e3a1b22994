"""Correction of the p values of one family of tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.significance.results import PairTest
    from clipstore.significance.settings import Correction
    from clipstore.significance.streams import Matrix


def _holm(ordered: Matrix) -> Matrix:
    """p~_(k) = max over j <= k of min(1, (m - j + 1) p_(j)): Holm 1979, Scand. J. Stat. 6, 65-70."""
    m = len(ordered)
    return np.maximum.accumulate(np.minimum(1.0, np.arange(m, 0, -1) * ordered))


def _bh(ordered: Matrix) -> Matrix:
    """p~_(k) = min over j >= k of min(1, m p_(j) / j): Benjamini and Hochberg 1995, JRSS B 57, 289-300."""
    m = len(ordered)
    scaled = np.minimum(1.0, m * ordered / np.arange(1, m + 1))
    return np.minimum.accumulate(scaled[::-1])[::-1]


def adjust(p_values: Sequence[float | None], correction: Correction = "holm") -> list[float | None]:
    """Return the p values corrected over the whole vector, in the order given.

    Parameters
    ----------
    p_values
        Raw p of each test of the family; None stays None and is not counted.
    correction
        ``holm`` (family-wise error), ``bh`` (false discovery rate) or ``none``.
    """
    tested = [row for row, p in enumerate(p_values) if p is not None]
    out: list[float | None] = list(p_values)
    if correction == "none" or not tested:
        return out
    raw = np.array([p_values[row] for row in tested], np.float64)
    order = np.argsort(raw, kind="stable")
    steps = _holm(raw[order]) if correction == "holm" else _bh(raw[order])
    for place, p in zip(order.tolist(), steps.tolist(), strict=True):
        out[tested[place]] = p
    return out


def corrected(tests: Sequence[PairTest], correction: Correction = "holm") -> tuple[PairTest, ...]:
    """Return the tests with ``p_adj`` taken over all of them: one family, such as every slice of a table."""
    p_values = adjust([test.p for test in tests], correction)
    return tuple(replace(test, p_adj=p) for test, p in zip(tests, p_values, strict=True))
