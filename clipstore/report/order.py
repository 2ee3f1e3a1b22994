"""The order of images: sorts, filters, and which of them a file shows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clipstore.report.report import Numbers, Report

SORTS: Final = {
    "disagree": "where systems disagree most",
    "hard": "lowest best score",
    "worst": "lowest mean score",
    "spread": "references and image disagree",
    "longest": "longest caption",
    "id": "order of the set",
}
"""What images may be sorted by, and what it is called; not every report has all of them, see :func:`sorts`."""

CAP: Final = 300
"""How many images one file shows."""

_PAIR: Final = 2


def sorts(report: Report) -> dict[str, str]:
    """Return what the images of a report can be sorted by, and what it is called."""
    both = report.image_similarity is not None and report.reference_similarity is not None
    return {name: shown for name, shown in SORTS.items() if both or name != "spread"}


def ordered(report: Report, sort: str = "disagree", systems: Sequence[int] = ()) -> list[int]:
    """Return the rows of all images in order.

    Parameters
    ----------
    report
        The report.
    sort
        One of :func:`sorts`.
    systems
        Rows of the systems that count; none: all.

    Raises
    ------
    InputError
        When there is no such sort.
    """
    if sort not in (there := sorts(report)):
        why = ", which needs CLIP-S and RefCLIP-S" if sort in SORTS else ""
        msg = f"can't sort images by {sort!r}{why}; there is: {', '.join(there)}"
        raise InputError(msg)
    if sort == "id":
        return list(range(len(report)))
    chosen = list(systems) or list(range(len(report.names)))
    key = np.nan_to_num(_KEYS[sort](report, chosen), nan=-np.inf)
    rows: list[int] = np.argsort(-key, kind="stable").tolist()
    return rows


def _quiet(function: Callable[[Numbers], Numbers], values: Numbers) -> Numbers:
    """Apply a reduction over systems that skips NaN; NaN where no system has a number."""
    out = np.full(values.shape[1], np.nan)
    held = ~np.isnan(values).all(axis=0)
    if held.any():
        out[held] = function(values[:, held])
    return out


def disagreement(report: Report, systems: Sequence[int]) -> Numbers:
    """Return the standard deviation of an image's scores over systems; of two, their absolute difference."""
    values = report.scores[list(systems)]
    if len(systems) == _PAIR:
        return np.asarray(np.abs(values[0] - values[1]))
    return _quiet(lambda own: np.asarray(np.nanstd(own, axis=0)), values)


def _hard(report: Report, systems: Sequence[int]) -> Numbers:
    return -_quiet(lambda own: np.asarray(np.nanmax(own, axis=0)), report.better[list(systems)])


def _worst(report: Report, systems: Sequence[int]) -> Numbers:
    return -_quiet(lambda own: np.asarray(np.nanmean(own, axis=0)), report.better[list(systems)])


def _spread(report: Report, systems: Sequence[int]) -> Numbers:
    image, references = report.image_similarity, report.reference_similarity
    if image is None or references is None:
        msg = "sorts() does not offer this one"
        raise AssertionError(msg)
    gap = _standard(image) - _standard(references)
    return _quiet(lambda own: np.asarray(np.nanmax(np.abs(own), axis=0)), gap[list(systems)])


def _standard(values: Numbers) -> Numbers:
    held = values[~np.isnan(values)]
    spread = float(held.std()) if len(held) else 0.0
    return (values - (float(held.mean()) if len(held) else 0.0)) / (spread or 1.0)


def _longest(report: Report, systems: Sequence[int]) -> Numbers:
    return np.nan_to_num(_quiet(lambda own: np.asarray(np.nanmax(own, axis=0)), report.lengths[list(systems)]))


_KEYS: Final[dict[str, Callable[[Report, Sequence[int]], Numbers]]] = {
    "disagree": disagreement,
    "hard": _hard,
    "worst": _worst,
    "spread": _spread,
    "longest": _longest,
}


def matching(report: Report, rows: Sequence[int], query: str = "", tag: str = "") -> list[int]:
    """Return the rows whose id, references or captions hold every word of a query, and whose tags hold one.

    Parameters
    ----------
    report
        The report.
    rows
        In order.
    query
        Words, any case; empty: all.
    tag
        ``field=value`` or a value; empty: all.
    """
    words = query.casefold().split()
    tags = report.measured.items.tags

    def fits(row: int) -> bool:
        if tag and not (tags and any(tag in {value, f"{name}={value}"} for name, value in tags[row].items())):
            return False
        return all(word in report.words[row] for word in words)

    return [row for row in rows if fits(row)] if words or tag else list(rows)


def largest(report: Report, a: int, b: int, count: int) -> tuple[list[int], list[int]]:
    """Return the images where ``a`` leads ``b`` most, and where it trails most, the largest first."""
    difference = report.better[a] - report.better[b]
    order = np.argsort(-np.nan_to_num(difference, nan=0.0), kind="stable").tolist()
    ahead = [row for row in order[:count] if difference[row] > 0]
    behind = [row for row in order[::-1][:count] if difference[row] < 0]
    return ahead, behind


def selection(report: Report, cap: int = CAP) -> dict[int, str]:
    """Return the images of one file, and why each is there: disagreement, worst, or drawn at random by the seed.

    The image where two systems differ most is there for every pair, as far as the cap allows.
    """
    count = len(report)
    by_disagreement = ordered(report)
    if count <= cap:
        return dict.fromkeys(by_disagreement, "all")
    chosen: dict[int, str] = {}
    for row in [*_of_pairs(report, cap // 3), *by_disagreement]:
        if len(chosen) >= cap * 2 // 3:
            break
        chosen.setdefault(row, "disagreement")
    for row in ordered(report, "worst"):
        if len(chosen) >= cap * 5 // 6:
            break
        chosen.setdefault(row, "worst")
    left = [row for row in range(count) if row not in chosen]
    drawn = random.Random(report.seed).sample(left, min(cap - len(chosen), len(left)))  # noqa: S311  not a secret
    chosen.update(dict.fromkeys(sorted(drawn), "random"))
    place = {row: number for number, row in enumerate(by_disagreement)}
    return {row: chosen[row] for row in sorted(chosen, key=place.__getitem__)}


def _of_pairs(report: Report, most: int) -> list[int]:
    """Return the image of each pair where the two differ most, best systems' pairs first."""
    order = report.board.order
    found: dict[int, None] = {}
    for place, b in enumerate(order):
        for a in order[:place]:
            gap = np.nan_to_num(np.abs(report.scores[a] - report.scores[b]), nan=-1.0)
            found.setdefault(int(gap.argmax()))
            if len(found) >= most:
                return list(found)
    return list(found)
