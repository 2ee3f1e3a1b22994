"""The leaderboard: one row a system, its columns chosen, and fitted to a width."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from clipstore.compare.fields import field
from clipstore.tables import Column, Table, text
from clipstore.tables.table import width as wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.compare.board import Board
    from clipstore.compare.fields import Field

_FEW: Final = 2  # metrics up to which each has its interval in the table


def fields(board: Board) -> list[Field]:
    """Return the columns of a leaderboard: those of the style, else those that the comparison calls for."""
    return [field(board, name) for name in board.style.columns or default_names(board)]


def default_names(board: Board) -> list[str]:
    """Return the names of the columns that a comparison calls for.

    With a baseline: difference, corrected p, wins, ties and losses. Without: the ranks
    that a system may hold, and the groups that can't be told apart.
    """
    measured = board.part.measured
    names = ["rank", "system", "n"]
    if any(system.runs for system in measured.systems):
        names.append("runs")
    for metric in sorted(measured.measures, key=lambda one: one != board.lead):
        names.append(metric)
        if measured.measures[metric].has_interval and (metric == board.lead or len(measured.measures) <= _FEW):
            names.append(f"{metric}.ci")
        if metric == board.lead:
            names += [f"{metric}.{what}" for what in _of_lead(board)]
    if any(system.words is not None for system in measured.systems):
        names.append("words")
    if any(system.cut is not None for system in measured.systems):
        names.append("cut")
    if any(system.duplicates is not None for system in measured.systems):
        names.append("dup")
    return names


def _of_lead(board: Board) -> list[str]:
    measure = board.part.measured.measures[board.lead]
    names = ["spread"] if any(measure.runs) else []
    if not measure.tested or len(board.order) == 1:
        return names
    return [*names, "delta", "p", "wtl"] if board.baseline is not None else [*names, "ranks", "group"]


def table(chosen: Sequence[Field], notes: tuple[str, ...] = ()) -> Table:
    """Return columns as a table."""
    columns = tuple(Column(one.header, one.align) for one in chosen)
    bold = frozenset((place, column) for column, one in enumerate(chosen) for place in one.strong)
    return Table(columns, tuple(zip(*(one.cells for one in chosen), strict=True)), notes, bold)


def distinct(shown: Table, chosen: Sequence[Field], board: Board) -> Table:
    """Return the table with each header once, for forms that programs read: ``RefCLIP-S 95% CI`` beside ``95% CI``."""
    measures = board.part.measured.measures
    headers = [one.header for one in chosen]
    columns = []
    for column, one in zip(shown.columns, chosen, strict=True):
        metric = one.name.partition(".")[0]
        again = headers.count(one.header) > 1 and metric in measures and metric != board.lead
        columns.append(replace(column, header=f"{measures[metric].shown} {column.header}") if again else column)
    return replace(shown, columns=tuple(columns))


def fitted(chosen: Sequence[Field], width: int | None) -> tuple[list[Field], list[str]]:
    """Return the columns that fit a width, and the names of those left out: the least needed go first."""
    kept = list(range(len(chosen)))
    left: list[int] = []

    def fits(places: list[int]) -> bool:
        return width is None or _width([chosen[place] for place in places]) <= width

    while not fits(kept) and any(chosen[place].keep for place in kept):
        highest = max(chosen[place].keep for place in kept)
        left.append(max(place for place in kept if chosen[place].keep == highest))
        kept.remove(left[-1])
    for place in reversed(left[:-1]):  # what went early may be narrow enough for the room that is left
        again = sorted([*kept, place])
        if fits(again):
            kept = again
    return [chosen[place] for place in kept], [chosen[place].name for place in left if place not in kept]


def _width(chosen: Sequence[Field]) -> int:
    return max(wide(line) for line in text(table(chosen)).splitlines())
