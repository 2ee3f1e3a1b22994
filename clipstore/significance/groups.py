"""Which systems can't be told apart: from the tests of a family, not from overlapping intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.significance.results import Statistics


def ranking(values: Sequence[float | None], *, higher_is_better: bool = True) -> tuple[int, ...]:
    """Return the systems from best to worst, equal ones in their own order; those without a value come last."""
    sign = -1.0 if higher_is_better else 1.0

    def place(row: int) -> tuple[bool, float]:
        value = values[row]
        return (value is None, 0.0 if value is None else sign * value)

    return tuple(sorted(range(len(values)), key=place))


def groups(statistics: Statistics, alpha: float | None = None) -> tuple[tuple[int, ...], ...]:
    """Return the maximal runs of the ranking in which no tested pair differs.

    A system may stand in several groups: not to be told apart is not transitive. A
    pair that was not tested counts as different.

    Parameters
    ----------
    statistics
        With every pair tested.
    alpha
        The level; that of the settings unless given.
    """
    level = statistics.settings.alpha if alpha is None else alpha
    alike = _alike(statistics, level)
    order = ranking([one.value for one in statistics.systems], higher_is_better=statistics.settings.higher_is_better)
    runs: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and all((row, order[stop]) in alike for row in order[start:stop]):
            stop += 1
        if stop > reached:
            runs.append(order[start:stop])
            reached = stop
    return tuple(runs)


def best(statistics: Statistics, alpha: float | None = None) -> tuple[int, ...]:
    """Return the best system and every one that can't be told apart from it, best first: what a table sets bold.

    Parameters
    ----------
    statistics, alpha
        As in :func:`groups`.
    """
    level = statistics.settings.alpha if alpha is None else alpha
    alike = _alike(statistics, level)
    values = [one.value for one in statistics.systems]
    order = [
        row for row in ranking(values, higher_is_better=statistics.settings.higher_is_better) if values[row] is not None
    ]
    return tuple(row for row in order if row == order[0] or (order[0], row) in alike)


def _alike(statistics: Statistics, alpha: float) -> set[tuple[int, int]]:
    kept = [test for test in statistics.pairs if test.p_adj is not None and not test.significant(alpha)]
    return {pair for test in kept for pair in ((test.a, test.b), (test.b, test.a))}
