"""Student's t: two-sided p and quantile, without SciPy."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_EPSILON = 1e-16
_TERMS = 10_000
_LARGE = 50.0


def _log_beta_half(a: float) -> float:
    """Return log B(a, 1/2); for large ``a`` by Stirling's series of the ratio, where lgamma loses digits."""
    if a < _LARGE:
        return math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    # Gamma(a + 1/2) / Gamma(a) = sqrt(a) exp(-1/8a + 1/192a^3 - 1/640a^5 + ...): from DLMF 5.11.1, term by term.
    series = -1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5) + 17 / (14336 * a**7)
    return 0.5 * (math.log(math.pi) - math.log(a)) - series


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or _TINY)
    value = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or _TINY)
            c = (1 + term / c) or _TINY
            value *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return value


def two_sided(t: float, df: float) -> float:
    """Return P(abs(T) >= abs(t)) for Student's t with ``df`` degrees of freedom.

    ``I_x(df/2, 1/2)`` at ``x = df / (df + t^2)``: Abramowitz and Stegun 26.7.1 with 26.5.27.

    Parameters
    ----------
    t
        The statistic; infinity gives 0.
    df
        Degrees of freedom, above 0.
    """
    if math.isinf(t):
        return 0.0
    if t == 0:
        return 1.0
    a, square = df / 2, t * t
    x, rest = df / (df + square), square / (df + square)
    log_x = -math.log1p(square / df)
    front = math.exp(a * log_x + 0.5 * math.log(rest) - _log_beta_half(a))
    if x < (a + 1) / (a + 2.5):
        return front * _fraction(x, a, 0.5) / a
    return 1 - front * _fraction(rest, 0.5, a) / 0.5


def _density(t: float, df: float) -> float:
    return math.exp(-(df + 1) / 2 * math.log1p(t * t / df) - 0.5 * math.log(df) - _log_beta_half(df / 2))


@lru_cache(maxsize=4096)
def two_sided_quantile(level: float, df: float) -> float:
    """Return the t with P(abs(T) <= t) = ``level``: half the width of an interval, in standard errors.

    Newton's method inside a bracket, from the normal quantile, until it stands still.

    Parameters
    ----------
    level
        Coverage, between 0 and 1.
    df
        Degrees of freedom, above 0.
    """
    tail = 1 - level
    low, high = 0.0, max(NormalDist().inv_cdf(0.5 + level / 2), 1.0)
    while two_sided(high, df) > tail:
        low, high = high, 2 * high
    t = (low + high) / 2
    for _ in range(200):
        excess = two_sided(t, df) - tail
        low, high = (t, high) if excess > 0 else (low, t)
        step = t + excess / (2 * _density(t, df))
        nearer = step if low < step < high else (low + high) / 2
        if abs(nearer - t) <= 1e-15 * t:
            return nearer
        t = nearer
    return t
