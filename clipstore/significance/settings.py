"""The choices behind a statistical analysis, in one frozen value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, final

from clipstore.errors import InputError

Test = Literal["signflip", "ttest", "bootstrap"]
"""Paired tests that a user may choose; there are no unpaired ones."""

Correction = Literal["holm", "bh", "none"]
"""How p values of one family are corrected."""

TESTS: Final[tuple[Test, ...]] = ("signflip", "ttest", "bootstrap")
CORRECTIONS: Final[tuple[Correction, ...]] = ("holm", "bh", "none")

RESAMPLES: Final = 10_000
SEED: Final = 12345
CAP: Final = 200_000

EPSILON_FP32: Final = 1e-4
"""Differences up to this size are ties: scores from fp32 vectors."""

EPSILON_FP16: Final = 1e-3
"""The same for fp16 vectors, as COMET's compare uses."""

# The smallest corrected p is m / (B + 1); ten times finer than alpha: STATISTICS 3.2.
_FINER = 10


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """How means are compared.

    Parameters
    ----------
    test
        ``signflip`` (the default), ``ttest`` or ``bootstrap`` (shift method).
    correction
        ``holm`` (the default), ``bh`` or ``none``.
    resamples
        Bootstrap resamples, and least number of sign flips.
    alpha
        The level that a table calls significant.
    level
        Coverage of the intervals.
    seed
        Any non-negative integer; 0 is a seed like any other.
    epsilon
        Differences up to this size count as ties in win, tie and loss.
    cap
        Largest number of draws that a large family may ask for.
    family
        Number of tests shown, where more are shown than one call is given (slices, columns).
    higher_is_better
        Which end is rank 1.

    Raises
    ------
    InputError
        When a value makes no sense.
    """

    test: Test = "signflip"
    correction: Correction = "holm"
    resamples: int = RESAMPLES
    alpha: float = 0.05
    level: float = 0.95
    seed: int = SEED
    epsilon: float = EPSILON_FP32
    cap: int = CAP
    family: int | None = None
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        for ok, fault in (
            (self.test in TESTS, f"no test is called {self.test!r}; there is: {', '.join(TESTS)}"),
            (
                self.correction in CORRECTIONS,
                f"no correction is called {self.correction!r}; there is: {', '.join(CORRECTIONS)}",
            ),
            (self.resamples >= 1 and self.cap >= 1, "the number of resamples must be at least 1"),
            (0 < self.alpha < 1 and 0 < self.level < 1, "alpha and level lie between 0 and 1"),
            (self.seed >= 0, f"the seed must not be negative, not {self.seed}"),
            (self.epsilon >= 0, f"epsilon must not be negative, not {self.epsilon:g}"),
        ):
            if not ok:
                raise InputError(fault)


def resamples_for(tests: int, settings: Settings) -> tuple[int, tuple[str, ...]]:
    """Return how many draws a family of tests needs, and notes where that is more or less than asked.

    At least ``10 m / alpha`` draws, since the smallest corrected p of m tests is
    ``m / (B + 1)``; the cap holds for what is added, never for what was asked.

    Parameters
    ----------
    tests
        Size of the family, 0 or more.
    settings
        The number asked, alpha, correction and cap.
    """
    if settings.test == "ttest" or tests == 0:
        return settings.resamples, ()
    m = 1 if settings.correction == "none" else tests
    needed = math.ceil(round(_FINER * m / settings.alpha, 6))
    if needed <= settings.resamples:
        return settings.resamples, ()
    draws = max(settings.resamples, min(needed, settings.cap))
    at = f"{m:,} tests at \N{GREEK SMALL LETTER ALPHA} = {settings.alpha:g}"
    if draws == needed:
        return draws, (f"resamples raised from {settings.resamples:,} to {draws:,}: {at}",)
    least = min(1.0, m / (draws + 1))
    note = f"resamples capped at {draws:,} where {at} call for {needed:,}: the smallest corrected p is {least:.2g}"
    return draws, (note,)
