"""Several eval sets or slices side by side: systems down, a group of columns for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clipstore.compare.fields import leaders
from clipstore.compare.style import ABSENT, p_value
from clipstore.tables import Column, Table, text
from clipstore.tables.table import width as wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.compare.board import Board
    from clipstore.compare.parts import Part
    from clipstore.compare.style import Style

STAR: Final = "*"
"""Marks, in plain text, what other forms set bold: the best and those not to be told apart from it."""


def names(boards: Sequence[Board]) -> list[str]:
    """Return every system once: in the order of the first part, then those that only later parts have."""
    return list(dict.fromkeys(board.part.measured.names[row] for board in boards for row in board.order))


def table(boards: Sequence[Board], *, starred: bool = False, notes: tuple[str, ...] = ()) -> Table:
    """Return one table of all parts; the best of each column, and what is not separable from it, bold.

    Parameters
    ----------
    boards
        One a part, the first gives the order of the rows.
    starred
        Whether bold cells also get a star, for forms that have no bold.
    notes
        Lines below.
    """
    systems = names(boards)
    columns = [Column("#"), Column("system", "left")]
    cells: list[list[str]] = [[str(place), name] for place, name in enumerate(systems, 1)]
    bold: set[tuple[int, int]] = set()
    for board in boards:
        part, counts = board.part, {system.n for system in board.part.measured.systems}
        title = f"{part.title} (n={max(counts):,})" if counts else part.title
        for metric in part.measured.measures:
            columns.append(Column(part.measured.measures[metric].shown, "right", title))
            best = leaders(part, metric)
            for place, name in enumerate(systems):
                row = part.measured.names.index(name) if name in part.measured.names else None
                strong = row is not None and row in best
                if strong:
                    bold.add((place, len(columns) - 1))
                cells[place].append(_cell(board.style, part, metric, row) + (STAR if strong and starred else ""))
            if board.baseline is not None:
                several = len(part.measured.measures) > 1
                columns.append(Column(f"p {columns[-1].header}" if several else "p", "right", title))
                pairs = board.against_baseline(metric)
                for place, name in enumerate(systems):
                    row = part.measured.names.index(name) if name in part.measured.names else None
                    test = None if row is None else pairs.get(row)
                    cells[place].append("" if test is None else "identical" if test.identical else p_value(test.p_adj))
    return Table(tuple(columns), tuple(map(tuple, cells)), notes, frozenset(bold))


def beside(leaderboard: Table, boards: Sequence[Board]) -> Table:
    """Return the leaderboard of the first part, with the columns of the other parts at its right."""
    both = table(boards)
    own = len(table(boards[:1]).columns)
    columns = (*leaderboard.columns, *both.columns[own:])
    rows = tuple((*left, *right[own:]) for left, right in zip(leaderboard.rows, both.rows, strict=True))
    shift = len(leaderboard.columns) - own
    bold = leaderboard.bold | {(row, column + shift) for row, column in both.bold if column >= own}
    return Table(columns, rows, leaderboard.notes, bold)


def _cell(style: Style, part: Part, metric: str, row: int | None) -> str:
    if row is None:
        return ABSENT
    return style.value(part.statistics[metric].systems[row].value, part.measured.measures[metric])


def blocks(shown: Table, width: int | None) -> list[Table]:
    """Return the table cut into blocks of columns that fit a width; the first two columns stand in each."""
    if width is None or _fits(shown, width):
        return [shown]
    out, rest = [], list(range(2, len(shown.columns)))
    while rest:
        take = len(rest)
        while take > 1 and not _fits(_only(shown, rest[:take]), width):
            take -= 1
        out.append(_only(shown, rest[:take]))
        rest = rest[take:]
    return out


def _only(shown: Table, columns: list[int]) -> Table:
    kept = [0, 1, *columns]
    rows = tuple(tuple(row[column] for column in kept) for row in shown.rows)
    bold = frozenset((row, kept.index(column)) for row, column in shown.bold if column in kept)
    return Table(tuple(shown.columns[column] for column in kept), rows, (), bold)


def _fits(shown: Table, width: int) -> bool:
    return all(wide(line) <= width for line in text(shown).splitlines())
