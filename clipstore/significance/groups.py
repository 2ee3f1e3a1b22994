"""Which systems can't be told apart: from the tests of a family, not from overlapping intervals."""

from __future__ import annotations

from collections import Counter
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
    """Return groups such that two systems share one exactly where their test detects no difference.

    A compact letter display (Piepho 2004, J. Comput. Graph. Stat. 13, 456-466). Not to be
    told apart is not transitive, and need not follow the ranks: a system may stand in
    several groups, and a group may leave out one that ranks between its members. A pair
    that was not tested counts as different.

    Parameters
    ----------
    statistics
        With every pair tested.
    alpha
        The level; that of the settings unless given.

    Returns
    -------
    tuple
        Each group best first, the groups by the ranks of their members; a system that differs
        from all others is a group of its own.
    """
    level = statistics.settings.alpha if alpha is None else alpha
    alike = _alike(statistics, level)
    order = ranking([one.value for one in statistics.systems], higher_is_better=statistics.settings.higher_is_better)
    places = range(len(order))
    joined = {(i, j) for i in places for j in places if (order[i], order[j]) in alike}
    found: list[tuple[int, ...]] = []
    covered: set[tuple[int, int]] = set()
    for i in places:
        partners = [j for j in places if (i, j) in joined]
        if not partners:
            found.append((i,))
        for j in partners:
            if i < j and (i, j) not in covered:
                found.append(_grown((i, j), joined, len(order)))
                covered |= _inside(found[-1])
    return tuple(tuple(order[place] for place in group) for group in sorted(_needed(found)))


def _grown(pair: tuple[int, int], joined: set[tuple[int, int]], count: int) -> tuple[int, ...]:
    """Return a pair with every place that goes with all taken so far, best first: nothing can be added to it."""
    group = list(pair)
    for place in range(count):
        if place not in group and all((place, other) in joined for other in group):
            group.append(place)
    return tuple(sorted(group))


def _inside(group: tuple[int, ...]) -> set[tuple[int, int]]:
    return {(i, j) for i in group for j in group if i < j}


def _needed(found: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the groups without those whose every pair stands in another one."""
    held = Counter(pair for group in found for pair in _inside(group))
    kept = []
    for group in found:
        pairs = _inside(group)
        if pairs and all(held[pair] > 1 for pair in pairs):
            held.subtract(pairs)
        else:
            kept.append(group)
    return kept


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
