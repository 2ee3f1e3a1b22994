"""What a statistical analysis gives back: estimates, paired tests, and how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

if TYPE_CHECKING:
    from clipstore.significance.settings import Correction, Settings

IntervalKind = Literal["bootstrap", "student", "binomial"]
"""How an interval was made: percentile bootstrap, Student t below 100 items, or order statistics for a median."""

TestKind = Literal["signflip", "ttest", "bootstrap", "swap"]
"""The test that gave a p: ``swap`` is the sign flip of a corpus metric."""


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    Parameters
    ----------
    low, high
        Its ends, in the unit of the scores.
    level
        Its coverage, 0.95 unless asked otherwise.
    kind
        Percentile bootstrap, Student t, or order statistics.
    """

    low: float
    high: float
    level: float
    kind: IntervalKind


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """One system: its value, how sure it is, and which ranks it may hold.

    Parameters
    ----------
    n
        Items that have a number.
    value
        The mean over them, or the corpus value; None where there is none.
    ci
        None below two items.
    ranks
        Best and worst rank (1 is best) inside the interval; None below two items.
    """

    n: int
    value: float | None
    ci: Interval | None
    ranks: tuple[int, int] | None


@final
@dataclass(frozen=True, slots=True)
class PairTest:
    """System ``a`` against system ``b`` on the items where both have a number.

    Parameters
    ----------
    a, b
        Rows of the two systems.
    n
        Items where both have a number.
    delta
        Value of ``a`` less value of ``b`` on those items; None where there are none.
    ci
        Interval of ``delta``; None below two items.
    p
        Two-sided p of this pair alone; None where no test is possible.
    p_adj
        ``p`` after the correction over the family.
    test
        Which test gave ``p``.
    resamples
        Draws behind ``p``; None for an exact enumeration, for ``ttest`` and where nothing differs.
    exact
        Whether ``p`` counts every sign pattern rather than a sample of them.
    identical
        Whether no item differs at all: then ``p`` is 1.
    dz
        Effect size: mean difference over its standard deviation; None where that is 0 or for a corpus metric.
    win_rate
        (wins + ties / 2) / n; None without items or for a corpus metric.
    wins, ties, losses
        Items where ``a`` is better, within ``epsilon``, worse; None for a corpus metric.
    epsilon
        Differences up to this size are ties.
    """

    a: int
    b: int
    n: int
    delta: float | None
    ci: Interval | None
    p: float | None
    p_adj: float | None
    test: TestKind
    resamples: int | None
    exact: bool
    identical: bool
    dz: float | None
    win_rate: float | None
    wins: int | None
    ties: int | None
    losses: int | None
    epsilon: float

    def significant(self, alpha: float) -> bool:
        """Return whether the corrected p is at most ``alpha``."""
        return self.p_adj is not None and self.p_adj <= alpha

    def verdict(self, alpha: float) -> str:
        """Return the outcome in words: never "equal", only "no difference detected"."""
        if self.identical:
            return f"identical (n = {self.n:,})"
        if self.p_adj is None:
            return f"not tested (n = {self.n:,})"
        found = "difference detected" if self.significant(alpha) else "no difference detected"
        return f"{found} at \N{GREEK SMALL LETTER ALPHA} = {alpha:g} (n = {self.n:,})"


@final
@dataclass(frozen=True, slots=True)
class Statistics:
    """Every estimate and every paired test of one column of scores.

    Parameters
    ----------
    systems
        One estimate a system, in the order of the scores.
    pairs
        One test a pair, in the order asked.
    settings
        What was asked.
    resamples
        Draws of the test in force, after raising and capping.
    family
        How many tests the correction counts.
    notes
        Sentences that belong below the table.
    """

    systems: tuple[Estimate, ...]
    pairs: tuple[PairTest, ...]
    settings: Settings
    resamples: int
    family: int
    notes: tuple[str, ...] = ()

    def fields(self) -> tuple[tuple[str, str], ...]:
        """Return name and value of each choice, for a signature: ``boot``, ``ci``, ``test``, correction, ``seed``."""
        intervals = [*(one.ci for one in self.systems), *(one.ci for one in self.pairs)]
        kinds = {ci.kind for ci in intervals if ci is not None}
        out: list[tuple[str, str]] = []
        if kinds == {"binomial"}:
            return (("ci", "binomial"), *self._level())
        if "bootstrap" in kinds or not kinds:
            out.append(("boot", str(bootstrap_draws(self))))
        if "student" in kinds:
            out.append(("ci", "student"))
        if self.pairs:
            name = self.pairs[0].test
            out.append(("test", name if name == "ttest" else f"{name}{self.resamples}"))
            out.append((correction_name(self.settings.correction), str(self.family)))
        return (*out, *self._level(), ("seed", str(self.settings.seed)))

    def _level(self) -> tuple[tuple[str, str], ...]:
        unusual = self.settings.level != _USUAL_LEVEL
        return (("level", f"{self.settings.level:g}"),) if unusual else ()


_USUAL_LEVEL = 0.95


def bootstrap_draws(statistics: Statistics) -> int:
    """Return how many resamples stand behind the intervals."""
    asked = statistics.settings.resamples
    return statistics.resamples if statistics.settings.test == "bootstrap" and statistics.pairs else asked


def correction_name(correction: Correction) -> str:
    """Return what a signature calls a correction; ``none`` is said, not left out."""
    return "uncorrected" if correction == "none" else correction
