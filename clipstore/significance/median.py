"""The interval of a median, from the order of the values alone: no draws, no shape assumed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clipstore.significance.results import Interval

if TYPE_CHECKING:
    from clipstore.significance.streams import Matrix


def median_interval(values: Matrix, level: float) -> Interval | None:
    """Return the shortest interval between the j-th smallest and j-th largest value that covers at least ``level``.

    The number of values below the median is binomial (n, 1/2): Conover 1999, section 3.2.

    Parameters
    ----------
    values
        float64, shape (n,), without NaN.
    level
        Coverage.

    Returns
    -------
    Interval | None
        None where so few values reach the level nowhere: below 6 at 95 %.
    """
    n = len(values)
    cut, below = -1, 0.0
    while cut + 1 <= n:
        more = math.exp(math.lgamma(n + 1) - math.lgamma(cut + 2) - math.lgamma(n - cut) - n * math.log(2))
        if below + more > (1 - level) / 2:
            break
        cut, below = cut + 1, below + more
    if cut < 0:
        return None
    ordered = np.sort(values)
    return Interval(float(ordered[cut]), float(ordered[n - 1 - cut]), level, "binomial")
