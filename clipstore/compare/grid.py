"""The significance grid: rows against columns, numbers instead of letters, in blocks that fit a width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clipstore.compare.board import turned
from clipstore.compare.style import p_value
from clipstore.tables import Column, Table, text
from clipstore.tables.table import width as wide

if TYPE_CHECKING:
    from clipstore.compare.board import Board
    from clipstore.significance import PairTest

BETTER, WORSE, ALIKE = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}", "\N{ALMOST EQUAL TO}"

_OWN: Final = "."
_FULL, _SHORT, _GLYPH = range(3)


def glyph(test: PairTest, alpha: float, *, higher_is_better: bool = True) -> str:
    """Return the mark of a test seen from its first system; ``?`` where nothing could be tested."""
    if test.p_adj is None or test.delta is None:
        return "?"
    if not test.significant(alpha):
        return ALIKE
    return BETTER if (test.delta > 0) == higher_is_better else WORSE


def tables(board: Board, width: int | None) -> list[Table]:
    """Return the grid of the leading metric, in the leaderboard's order.

    A cell says the row's difference to the column with its mark and corrected p; where a
    terminal is too narrow, mark and p, then the mark alone, then blocks of columns.

    Parameters
    ----------
    board
        The systems in order.
    width
        What a line may take; None: as much as it needs, in one table.
    """
    tests: dict[tuple[int, int], PairTest] = {}
    for test in board.part.statistics[board.lead].pairs:
        tests[test.a, test.b] = test
        tests[test.b, test.a] = turned(test)
    places = list(range(len(board.order)))
    for detail in (_FULL, _SHORT):
        whole = _block(board, tests, places, detail)
        if width is None or _fits(whole, width):
            return [whole]
    out = []
    while places:
        take = len(places)
        while take > 1 and not _fits(_block(board, tests, places[:take], _GLYPH), width or 0):
            take -= 1
        out.append(_block(board, tests, places[:take], _GLYPH))
        places = places[take:]
    return out


def _fits(shown: Table, width: int) -> bool:
    return all(wide(line) <= width for line in text(shown).splitlines())


def _block(board: Board, tests: dict[tuple[int, int], PairTest], places: list[int], detail: int) -> Table:
    measure = board.part.measured.measures[board.lead]
    alpha = board.part.statistics[board.lead].settings.alpha

    def cell(row: int, column: int) -> str:
        if row == column:
            return _OWN
        test = tests.get((row, column))
        if test is None:
            return ""
        mark = glyph(test, alpha, higher_is_better=measure.higher_is_better)
        if detail == _GLYPH:
            return mark
        if test.identical:
            return "identical"
        p = p_value(test.p_adj)
        return f"{mark}{p}" if detail == _SHORT else f"{mark}{board.style.difference(test.delta, measure)} {p}"

    names = board.part.measured.names
    columns = (Column("#"), Column("system", "left"), *(Column(str(place + 1)) for place in places))
    rows = [
        (str(number), names[row], *(cell(row, board.order[place]) for place in places))
        for number, row in enumerate(board.order, 1)
    ]
    return Table(columns, tuple(rows))
