"""The first page: leaderboard, forest plot, significance grid, warnings, signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from clipstore.compare import grid, leaderboard
from clipstore.compare.board import PLAIN, turned
from clipstore.compare.style import p_value
from clipstore.errors import InputError
from clipstore.report import svg
from clipstore.report.svg import Drawing, Scale
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from clipstore.compare.board import Board
    from clipstore.report.report import Report

_PART: Final = r"(?:[^\s/:'\"]+|[^\s/:'\".,;]+(?: [^\s/:'\".,;]+){1,3})/"  # of a path; up to four words
_ABSOLUTE: Final = re.compile(rf"(?:file://[^\s/]*|(?<![\w./-]))/(?:{_PART})+")
_WIDE_GRID: Final = 12  # systems above which the tests stand in a list, too
_ROW: Final = 24
_LABELS: Final = 190


def view(report: Report, sort: str | None = None, *, ascending: bool = False) -> dict[str, Any]:
    """Return the values of the first page.

    Parameters
    ----------
    report
        The report.
    sort
        A metric or another column; None: as the comparison is sorted.
    ascending
        Whether the rows stand the other way round.

    Raises
    ------
    InputError
        When there is nothing of that name to sort by.
    """
    comparison = report.comparison
    board = comparison.boards[0] if sort is None else comparison.styled(comparison.style, sort).boards[0]
    fields = leaderboard.fields(board)
    measures = board.part.measured.measures
    places = list(range(len(board.order)))
    sortable = {*measures, *PLAIN} - {"rank"}
    rows = [
        {
            "row": board.order[place],
            "system": report.names[board.order[place]],
            "baseline": board.order[place] == board.baseline,
            "cells": [(one.name, one.cells[place], place in one.strong) for one in fields],
        }
        for place in (reversed(places) if ascending else places)
    ]
    down = board.sort != "system" and _falls(board)
    direction = "descending" if down != ascending else "ascending"
    return {
        "columns": [
            {
                "name": one.name,
                "header": one.header,
                "align": one.align,
                "sortable": one.name in sortable,
                "sorted": direction if one.name == board.sort else None,
            }
            for one in fields
        ],
        "rows": rows,
        "sort": measures[board.sort].shown if board.sort in measures else board.sort,
        "ascending": ascending,
        "notes": comparison.main(mark="bold")[1],
        "warnings": warnings(report),
        "signatures": comparison.signed,
        "forest": forest(report),
        "grid": significance(report),
        "tests": tests(report) if len(board.order) > _WIDE_GRID else None,
        "slices": comparison.slices(),
        "lead": measures[board.lead].shown,
    }


def _falls(board: Board) -> bool:
    measures = board.part.measured.measures
    return board.sort not in measures or measures[board.sort].higher_is_better


def warnings(report: Report) -> list[str]:
    """Return what a reader should know first: captions cut, images missing, files unreadable, odd input."""
    measured = report.measured
    cut = [(one.name, one.cut) for one in measured.systems if one.cut]
    lines = [
        f"{name}: {count:,} of {len(report):,} captions did not fit the model; see the page on plots"
        for name, count in cut
    ]
    if measured.missing:
        why = "a system has no caption for them, or there is no file"
        lines.append(f"{len(measured.missing):,} of {measured.of:,} images are left out: {why}")
    if measured.failures:
        lines.append(f"{len(measured.failures):,} images could not be read")
    return [*lines, *map(bare, report.comparison.warnings)]


def bare(line: str) -> str:
    """Return a sentence in which an absolute path is its last part alone: a report names no folder of its maker."""
    return _ABSOLUTE.sub("", line)


def significance(report: Report) -> dict[str, Any] | None:
    """Return the grid of the leading metric: rows against columns; None without tests."""
    board = report.board
    measure = board.part.measured.measures[board.lead]
    found = board.part.statistics[board.lead]
    if not found.pairs:
        return None
    by_pair = {(one.a, one.b): one for one in found.pairs}
    by_pair |= {(one.b, one.a): turned(one) for one in found.pairs}
    alpha = found.settings.alpha

    def cell(a: int, b: int) -> dict[str, Any] | None:
        test = by_pair.get((a, b))
        if test is None or a == b:
            return None
        mark = grid.glyph(test, alpha, higher_is_better=measure.higher_is_better)
        return {
            "a": a,
            "b": b,
            "mark": mark,
            "word": {grid.BETTER: "better", grid.WORSE: "worse", grid.ALIKE: "no difference detected"}.get(mark, "?"),
            "delta": board.style.difference(test.delta, measure),
            "p": "identical" if test.identical else p_value(test.p_adj),
        }

    return {
        "metric": measure.shown,
        "alpha": f"{alpha:g}",
        "columns": [(place, report.names[row]) for place, row in enumerate(board.order, 1)],
        "rows": [
            {"place": place, "system": report.names[a], "cells": [cell(a, b) for b in board.order]}
            for place, a in enumerate(board.order, 1)
        ],
    }


def tests(report: Report) -> list[dict[str, Any]]:
    """Return every test of the leading metric as a list, the smallest p first."""
    board = report.board
    measure, found = board.part.measured.measures[board.lead], board.part.statistics[board.lead]
    ordered = sorted(found.pairs, key=lambda one: (1.0 if one.p_adj is None else one.p_adj, -abs(one.delta or 0)))
    return [
        {
            "a": one.a,
            "b": one.b,
            "first": report.names[one.a],
            "second": report.names[one.b],
            "mark": grid.glyph(one, found.settings.alpha, higher_is_better=measure.higher_is_better),
            "delta": board.style.difference(one.delta, measure),
            "p": p_value(one.p_adj),
            "wtl": "-" if one.wins is None else f"{one.wins}/{one.ties}/{one.losses}",
        }
        for one in ordered
    ]


def forest(report: Report) -> Drawing:
    """Return the leading metric of each system with its interval, in the order of the leaderboard."""
    board = report.board
    measure, found = board.part.measured.measures[board.lead], board.part.statistics[board.lead]
    factor = 100.0 if board.style.scaled(measure) else 1.0
    level = f"{100 * found.settings.level:g}% interval"
    values: list[tuple[str, float | None, float | None, float | None]] = []
    for row in board.order:
        one = found.systems[row]
        ends = (None, None) if one.ci is None else (factor * one.ci.low, factor * one.ci.high)
        values.append((report.names[row], None if one.value is None else factor * one.value, *ends))
    numbers = [number for _, *own in values for number in own if number is not None]
    scale = Scale.over(numbers, _LABELS + 10, svg.WIDTH - 20)
    bottom = 12 + _ROW * len(values)
    parts = [svg.axis_below(scale, bottom, measure.shown, 6)]
    if board.baseline is not None and (mean := found.systems[board.baseline].value) is not None:
        parts.append(svg.line(scale(factor * mean), 6, scale(factor * mean), bottom, kind="second", dash="4 3"))
    for place, (name, value, low, high) in enumerate(values):
        y = 12 + _ROW * place + _ROW / 2
        parts.append(svg.text(_LABELS, y + 4, svg.short(name), anchor="end"))
        if low is not None and high is not None:
            parts += [svg.line(scale(low), y, scale(high), y, kind="mark", wide=2)]
            parts += [svg.line(scale(end), y - 4, scale(end), y + 4, kind="mark", wide=2) for end in (low, high)]
        if value is not None:
            parts.append(svg.dot(scale(value), y))
    rows = tuple((name, *("-" if one is None else f"{one:.4f}" for one in own)) for name, *own in values)
    columns = (Column("system", "left"), Column(measure.shown), Column("low"), Column("high"))
    what = f"Dot: {measure.shown} of a system; bar: {level}."
    what += " Dashed: the baseline." if board.baseline is not None else ""
    return Drawing("forest", f"{measure.shown} with {level}s", what, bottom + 44, "".join(parts), Table(columns, rows))


def sort_name(given: str, report: Report) -> str | None:
    """Return a column to sort by, None where nothing was asked.

    Raises
    ------
    InputError
        When there is no such column.
    """
    if not given:
        return None
    if given not in {*report.measured.measures, *PLAIN}:
        msg = f"can't sort by {given[:80]!r}"
        raise InputError(msg)
    return given
