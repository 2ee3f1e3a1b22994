"""The sentences below a comparison: what was tested and how, what is biased, what can't be compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from clipstore.compare.fields import leaders
from clipstore.compare.grid import ALIKE, BETTER, WORSE
from clipstore.compare.style import some
from clipstore.significance import groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.compare.board import Board
    from clipstore.compare.parts import Part
    from clipstore.significance import Statistics

SAMPLING: Final = (
    "intervals and tests cover the sampling of images, not training seeds: "
    "another seed of one system may move its mean more"
)

_CORRECTIONS: Final = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "no correction"}
_TESTS: Final = {
    "signflip": "paired sign-flip test",
    "ttest": "paired t-test",
    "bootstrap": "paired shift bootstrap",
    "swap": "paired swap test",
}
_CHECKPOINTS: Final = 3
_ALPHA: Final = "\N{GREEK SMALL LETTER ALPHA}"


def of_board(board: Board, mark: str = "") -> list[str]:
    """Return the lines below a leaderboard, the signatures left out; ``mark`` is how the form shows the best."""
    measures = board.part.measured.measures
    shown = measures[board.sort].shown if board.sort in measures else board.sort
    lead, found = measures[board.lead], board.part.statistics[board.lead]
    up = board.sort not in measures or measures[board.sort].higher_is_better
    lines = [f"sorted by {shown}, {'descending' if up and board.sort != 'system' else 'ascending'}"]
    if found.pairs:
        lines += [_tested(found, lead.shown), *_identical(board)]
        lines += [] if board.baseline is not None else _groups(board)
        lines += _marked([board], mark)
        lines.append(SAMPLING)
    lines += [line for line in found.notes if line not in lines]
    return [*lines, *_checkpoints(board), *_runs(board), *of_part(board.part, board)]


def of_part(part: Part, board: Board | None = None) -> list[str]:
    """Return what belongs to the numbers of one part whatever table shows them."""
    lines = list(part.measured.notes)
    percent = [one.shown for one in part.measured.measures.values() if one.percent or (board and board.style.hundred)]
    if percent:
        lines.append(f"shown times 100: {', '.join(percent)}")
    lines += [f"{one.shown}: {one.note}" for one in part.measured.measures.values() if one.note]
    low = [measure.shown for name, measure in part.measured.measures.items() if _fewer(part.statistics[name])]
    if low:
        lines.append(f"{', '.join(low)}: the mean of the images that have it; see n in --json")
    return lines


def _fewer(found: Statistics) -> bool:
    return len({one.n for one in found.systems}) > 1


def _tested(found: Statistics, shown: str) -> str:
    n = min(one.n for one in found.pairs)
    return (
        f"{shown}: {_how(found)}; {BETTER} {WORSE} difference detected, "
        f"{ALIKE} no difference detected at {_ALPHA} = {found.settings.alpha:g} (n = {n:,})"
    )


def _how(found: Statistics) -> str:
    """Return which test was made, and the correction with its family."""
    how, correction = _TESTS[found.pairs[0].test], _CORRECTIONS[found.settings.correction]
    return f"{how}, {correction} over {found.family:,} test{'s' if found.family > 1 else ''}"


def _identical(board: Board) -> list[str]:
    names = board.part.measured.names
    pairs = [f"{names[one.a]} = {names[one.b]}" for one in board.part.statistics[board.lead].pairs if one.identical]
    return [f"identical on every image (p = 1): {some(pairs)}"] if pairs else []


def _groups(board: Board) -> list[str]:
    found = board.part.statistics[board.lead]
    names = board.part.measured.names
    made = groups(found)
    if max(map(len, made), default=0) < _TWO:
        return []
    rule = (
        f"groups that can't be told apart at {_ALPHA} = {found.settings.alpha:g}: two systems share one exactly where "
        "no difference was detected between them, and a system may stand in several"
    )
    lines = [
        f"group {number}: {some([names[row] for row in group], 12)}"
        for number, group in enumerate(made, 1)
        if len(group) > 1
    ]
    return ["; ".join([rule, *lines]) if len(lines) <= _MANY_GROUPS else rule]


_MANY_GROUPS: Final = 6
_TWO: Final = 2


def checkpoints(names: Sequence[str]) -> dict[str, list[str]]:
    """Return names that look like checkpoints of one run: three or more that differ in one number only."""
    stems: dict[str, list[str]] = {}
    for name in names:
        for found in re.finditer(r"\d+", name):
            stems.setdefault(f"{name[: found.start()]}*{name[found.end() :]}", []).append(name)
    return {stem: held for stem, held in stems.items() if len(held) >= _CHECKPOINTS}


def _checkpoints(board: Board) -> list[str]:
    return [
        (
            f"{stem}: {len(held)} that look like checkpoints of one run; the best of {len(held)} is biased upward: "
            "choose it on another set"
        )
        for stem, held in checkpoints(board.part.measured.names).items()
    ]


def _runs(board: Board) -> list[str]:
    several = [system for system in board.part.measured.systems if system.runs]
    if not several:
        return []
    shown = some([f"{system.name} ({len(system.runs)})" for system in several])
    line = (
        f"runs averaged image by image: {shown}; 'runs sd' is the spread of their means, "
        "the interval and the test are over images"
    )
    return [line]


def _marked(boards: Sequence[Board], mark: str) -> list[str]:
    """Say what a mark means, where the form has one and some cell carries it."""
    if not mark:
        return []
    if not any(leaders(board.part, metric) for board in boards for metric in board.part.statistics):
        partly = any(0 < len(one.pairs) < len(one.systems) * (len(one.systems) - 1) // 2 for one in _columns(boards))
        shown = "set bold" if mark != "*" else "marked *"
        none = f"no best is {shown}: only pairs with the baseline were tested (--all-pairs tests the others too)"
        return [none] if partly else []
    settings = boards[0].part.statistics[boards[0].lead].settings
    best = f"{mark}: the best of a column and those not to be told apart from it at {_ALPHA} = {settings.alpha:g}"
    return [f"{best}, {_CORRECTIONS[settings.correction]} over the tests of all columns of a metric"]


def _columns(boards: Sequence[Board]) -> list[Statistics]:
    return [found for board in boards for found in board.part.statistics.values()]


def of_groups(boards: Sequence[Board], mark: str = "") -> list[str]:
    """Return the lines below a table of several parts; ``mark`` as in :func:`of_board`."""
    first = boards[0]
    tested = [board for board in boards if board.part.statistics[board.lead].pairs]
    lines = [f"sorted by {first.part.title} {first.part.measured.measures[first.lead].shown}, descending"]
    lines += _marked(boards, mark)
    if tested:
        if sum(board.part.slice is None for board in boards) > 1:
            lines += _tests_of_columns(tested)
        lines.append(SAMPLING)
    lines += [line for board in boards for line in board.part.statistics[board.lead].notes]
    lines += [line for board in boards for line in of_part(board.part, board)]
    lines += _slices(boards)
    return list(dict.fromkeys([*lines, *_reference_counts(boards), *_checkpoints(first)]))


def _tests_of_columns(tested: Sequence[Board]) -> list[str]:
    """Say which tests stand behind the columns of several sets, metric by metric, and against whom."""
    first = tested[0]
    base = None if first.baseline is None else first.part.measured.names[first.baseline]
    against = "" if base is None else f" against the baseline {base}"
    measures = first.part.measured.measures.items()
    found = [(one.shown, first.part.statistics[name]) for name, one in measures if first.part.statistics[name].pairs]
    return [f"{shown}: {_how(own)} of all columns{against}" for shown, own in found]


def _slices(boards: Sequence[Board]) -> list[str]:
    sliced = [board for board in boards if board.part.slice is not None]
    cider = any("cider" in board.part.measured.measures for board in sliced)
    return ["CIDEr of a slice keeps the document frequencies of the full set"] if cider else []


def _reference_counts(boards: Sequence[Board]) -> list[str]:
    """Return the warning that RefCLIP-S depends on how many references a set has."""
    lines = []
    for metric in ("ref-clip-s",):
        held = [
            dict(board.part.measured.measures[metric].signature.fields).get("refs", "")
            for board in boards
            if metric in board.part.measured.measures
        ]
        if len(set(held)) > 1:
            lines.append(
                f"RefCLIP-S is not comparable between these columns: they have {', '.join(held)} references an image"
            )
    return lines
