"""The order of the systems, and what the columns of a leaderboard are made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

from clipstore.errors import InputError
from clipstore.significance import ranking

if TYPE_CHECKING:
    from clipstore.compare.parts import Part
    from clipstore.compare.style import Style
    from clipstore.evaluate.measured import MeasuredSystem
    from clipstore.significance import PairTest

PLAIN: Final = ("rank", "system", "n", "runs", "words", "cut", "dup")
"""Columns that belong to no metric."""


@final
@dataclass(frozen=True, eq=False)
class Board:
    """What the columns of a leaderboard are made from.

    Parameters
    ----------
    part
        Systems, metrics and statistics.
    order
        The systems' rows, best first.
    sort
        The column sorted by, a metric or one of :data:`PLAIN`.
    lead
        The metric that columns without a metric's name belong to.
    baseline
        The row that others are compared with, or None.
    style
        How numbers are written.
    """

    part: Part
    order: tuple[int, ...]
    sort: str
    lead: str
    baseline: int | None
    style: Style

    def against_baseline(self, metric: str) -> dict[int, PairTest]:
        """Return the test of each other system with the baseline, seen from the system."""
        found: dict[int, PairTest] = {}
        for test in self.part.statistics[metric].pairs:
            if test.b == self.baseline:
                found[test.a] = test
            elif test.a == self.baseline:
                found[test.b] = turned(test)
        return found


def turned(test: PairTest) -> PairTest:
    """Return the same test with the two systems in the other order."""
    ci = test.ci
    return replace(
        test,
        a=test.b,
        b=test.a,
        delta=None if test.delta is None else -test.delta,
        ci=None if ci is None else replace(ci, low=-ci.high, high=-ci.low),
        dz=None if test.dz is None else -test.dz,
        win_rate=None if test.win_rate is None else 1 - test.win_rate,
        wins=test.losses,
        losses=test.wins,
    )


def arranged(part: Part, sort: str | None, baseline: str | None, style: Style) -> Board:
    """Return the board of a part, its systems in order.

    Parameters
    ----------
    part
        Systems and statistics.
    sort
        A metric, or one of :data:`PLAIN`; None: the first metric.
    baseline
        A system's name, or None.
    style
        How numbers are written.

    Raises
    ------
    InputError
        When there is nothing of that name to sort by.
    """
    measures = part.measured.measures
    by = sort or next(iter(measures))
    if by not in measures and by not in PLAIN:
        msg = f"can't sort by {by!r}; there is: {', '.join([*measures, *PLAIN])}"
        raise InputError(msg)
    lead = by if by in measures else next(iter(measures))
    row = part.measured.names.index(baseline) if baseline in part.measured.names else None
    return Board(part, _order(part, by), by, lead, row, style)


def _order(part: Part, by: str) -> tuple[int, ...]:
    systems = part.measured.systems
    if by in part.measured.measures:
        measure = part.measured.measures[by]
        values = [one.value for one in part.statistics[by].systems]
        return ranking(values, higher_is_better=measure.higher_is_better)
    if by == "system":
        return tuple(sorted(range(len(systems)), key=lambda row: systems[row].name))
    return ranking([_count(system, by) for system in systems])


def _count(system: MeasuredSystem, by: str) -> float | None:
    counts = {"n": system.n, "words": system.words, "cut": system.cut, "dup": system.duplicates}
    return counts.get(by, float(len(system.runs)) if by == "runs" else 0.0)
