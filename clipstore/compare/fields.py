"""The columns of a leaderboard, each by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np

from clipstore.compare.board import PLAIN
from clipstore.compare.style import ABSENT, p_value, ranks
from clipstore.errors import InputError
from clipstore.significance import best, groups

if TYPE_CHECKING:
    from collections.abc import Callable

    from clipstore.compare.board import Board
    from clipstore.compare.parts import Part
    from clipstore.compare.style import Style
    from clipstore.evaluate.measures import Measure
    from clipstore.significance import PairTest, Statistics

    Write = Callable[[int], str]
    WritePair = Callable[[PairTest], str]

OF_METRIC: Final = ("value", "ci", "spread", "ranks", "group", "delta", "dci", "p", "wtl", "dz", "win")
"""Columns of a metric: ``clip-s`` (its value), ``clip-s.ci`` and so on; alone, of the metric in front."""

_PAIRED: Final = frozenset({"delta", "dci", "p", "wtl", "dz", "win"})

# The higher, the sooner a column is left out where a terminal is too narrow; 0 stays.
_PLAIN_KEEP: Final = {"rank": 0, "system": 0, "n": 5, "runs": 6, "words": 6, "cut": 7, "dup": 9}
_LEAD_KEEP: Final = {"value": 0, "delta": 1, "p": 1, "ci": 2, "ranks": 3, "group": 3, "spread": 3, "wtl": 5}
_OTHER_KEEP: Final = {"value": 4}

_TWO: Final = 2  # runs that a spread needs


@final
@dataclass(frozen=True, slots=True)
class Field:
    """One column of the leaderboard.

    Parameters
    ----------
    name
        As ``--columns`` takes it.
    header, align
        As a table shows it.
    cells
        One a system, in the order of the rows.
    keep
        What goes first where a terminal is too narrow: the highest number; 0 always stays.
    strong
        Places whose cell is set bold: the best, and those not to be told apart from it.
    """

    name: str
    header: str
    align: Literal["left", "right"]
    cells: tuple[str, ...]
    keep: int = 0
    strong: frozenset[int] = frozenset()


def field(board: Board, name: str) -> Field:
    """Return one column by name.

    Raises
    ------
    InputError
        When there is no such column.
    """
    if name in PLAIN:
        return _plain(board, name)
    metric, _, what = name.partition(".")
    if name in OF_METRIC:
        metric, what = board.lead, name
    what = what or "value"
    if metric not in board.part.measured.measures or what not in OF_METRIC:
        metrics = ", ".join(board.part.measured.measures)
        msg = (
            f"no column is called {name!r}; there is: {', '.join(PLAIN)}; the metrics {metrics}; "
            f"and {', '.join(OF_METRIC[1:])}, alone or as in {board.lead}.ci"
        )
        raise InputError(msg)
    write = _paired(board, metric, what) if what in _PAIRED else _single(board, metric, what)
    keep = _LEAD_KEEP.get(what, 6) if metric == board.lead else _OTHER_KEEP.get(what, 8)
    strong = frozenset[int]()
    if what == "value":
        members = leaders(board.part, metric)
        strong = frozenset(place for place, row in enumerate(board.order) if row in members)
    return Field(name, _header(board, metric, what), "right", tuple(map(write, board.order)), keep, strong)


def leaders(part: Part, metric: str) -> frozenset[int]:
    """Return the best system and those that no test tells apart from it; none where nothing was tested or is better."""
    if not part.measured.measures[metric].quality:
        return frozenset()
    found = part.statistics[metric]
    wanted = len(found.systems) * (len(found.systems) - 1) // 2
    return frozenset(best(found)) if found.pairs and len(found.pairs) == wanted else frozenset()


def _plain(board: Board, name: str) -> Field:
    systems, of = board.part.measured.systems, board.part.measured.of
    places = {row: place for place, row in enumerate(board.order, 1)}
    partial = board.part.slice is None and any(system.n != of for system in systems)
    write: dict[str, Write] = {
        "rank": lambda row: str(places[row]),
        "system": lambda row: systems[row].name,
        "n": lambda row: f"{systems[row].n}/{of}" if partial else str(systems[row].n),
        "runs": lambda row: str(max(1, len(systems[row].runs))),
        "words": lambda row: ABSENT if (words := systems[row].words) is None else f"{words:.1f}",
        "cut": lambda row: _known(systems[row].cut),
        "dup": lambda row: _known(systems[row].duplicates),
    }
    align: Literal["left", "right"] = "left" if name == "system" else "right"
    header = "#" if name == "rank" else name
    return Field(name, header, align, tuple(map(write[name], board.order)), _PLAIN_KEEP[name])


def _known(count: int | None) -> str:
    return ABSENT if count is None else str(count)


def _single(board: Board, metric: str, what: str) -> Write:
    measure, found, style = board.part.measured.measures[metric], board.part.statistics[metric], board.style
    if what == "group":
        member = memberships(found)
        return lambda row: member.get(row, ABSENT)
    runs = measure.runs
    write: dict[str, Write] = {
        "value": lambda row: style.value(found.systems[row].value, measure),
        "ci": lambda row: style.interval(found.systems[row].ci, measure),
        "ranks": lambda row: ranks(found.systems[row].ranks),
        "spread": lambda row: _spread(measure, runs[row] if runs else (), style),
    }
    return write[what]


def memberships(found: Statistics) -> dict[int, str]:
    """Return which groups each system stands in: ``1``, ``1-3``, ``1,4``; groups count from the best."""
    members: dict[int, list[int]] = {}
    for number, group in enumerate(groups(found), 1):
        for row in group:
            members.setdefault(row, []).append(number)
    return {row: _numbers(own) for row, own in members.items()}


def _numbers(ascending: list[int]) -> str:
    """Write numbers with their runs joined: ``1-3,5``."""
    runs: list[list[int]] = []
    for number in ascending:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _spread(measure: Measure, runs: tuple[float, ...], style: Style) -> str:
    return ABSENT if len(runs) < _TWO else style.value(float(np.std(runs, ddof=1)), measure)


def _paired(board: Board, metric: str, what: str) -> Write:
    measure, style = board.part.measured.measures[metric], board.style
    pairs = board.against_baseline(metric)
    write: dict[str, WritePair] = {
        "delta": lambda test: style.difference(test.delta, measure),
        "dci": lambda test: style.interval(test.ci, measure),
        "p": lambda test: "identical" if test.identical else p_value(test.p_adj),
        "wtl": lambda test: ABSENT if test.wins is None else f"{test.wins}/{test.ties}/{test.losses}",
        "dz": lambda test: ABSENT if test.dz is None else f"{test.dz:+.2f}",
        "win": lambda test: ABSENT if test.win_rate is None else f"{test.win_rate:.3f}",
    }
    of_baseline = "baseline" if what == "delta" else ""

    def cell(row: int) -> str:
        if row == board.baseline:
            return of_baseline
        return write[what](pairs[row]) if row in pairs else ABSENT

    return cell


def _header(board: Board, metric: str, what: str) -> str:
    settings = board.part.statistics[metric].settings
    headers = {
        "value": board.part.measured.measures[metric].shown,
        "ci": f"{100 * settings.level:g}% CI",
        "spread": "runs sd",
        "delta": "\N{GREEK CAPITAL LETTER DELTA}",
        "dci": "\N{GREEK CAPITAL LETTER DELTA} CI",
        "p": {"holm": "p(Holm)", "bh": "p(BH)", "none": "p"}[settings.correction],
        "wtl": "W/T/L",
        "dz": "d_z",
    }
    return headers.get(what, what)
