"""A caption on a page: what differs from the best one, and the tail that did not fit the model."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.report.report import Report

Length = Callable[[str], int]
"""A word -> how many tokens it is."""

Kind = Literal["same", "only-best", "only-here", "cut"]
_MANY: Final = 400  # words of a caption above which no difference is looked for


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One system's caption of an image.

    Parameters
    ----------
    system, row
        Its name, and its row.
    caption
        As it came; None where there is none.
    scores
        One a metric, written.
    rank
        By the leading metric, 1 first; None without a number.
    pieces
        The caption against the best one: (kind, words).
    reference, similarity
        Number of the closest reference, and the cosine to it.
    cut
        Tokens that did not fit.
    own_rank
        Where the caption finds its own image among the set's.
    """

    system: str
    row: int
    caption: str | None
    scores: tuple[str, ...]
    rank: int | None
    pieces: tuple[tuple[Kind, str], ...]
    reference: int | None
    similarity: float | None
    cut: int
    own_rank: int | None


def metrics(report: Report) -> list[str]:
    """Return the metrics that have a number an image, the leading one first."""
    measures = report.measured.measures
    found = [name for name, one in measures.items() if one.aggregate != "value"]
    return sorted(found, key=lambda name: name != report.measure.metric)


def lines(report: Report, row: int) -> list[Line]:
    """Return every system's caption of an image, the best first; those without a number last."""
    better = report.better[:, row]
    count = len(report.names)
    known = [value for value in better.tolist() if not np.isnan(value)]
    ranks = [None if np.isnan(value) else 1 + sum(other > value for other in known) for value in better.tolist()]
    order = sorted(range(count), key=lambda one: (ranks[one] is None, ranks[one] or 0))
    best = report.caption(order[0], row) or ""
    closest = report.closest(row)
    return [
        _line(report, row, system, ranks[system], "" if place == 0 else best, closest.get(report.names[system]))
        for place, system in enumerate(order)
    ]


def _line(
    report: Report, row: int, system: int, rank: int | None, best: str, closest: tuple[int, float] | None
) -> Line:
    caption = report.caption(system, row)
    style, measures = report.comparison.style, report.measured.measures
    numbers = [(measures[name], float(measures[name].per_item[system, row])) for name in metrics(report)]
    written = tuple(style.value(None if np.isnan(value) else value, measure) for measure, value in numbers)
    own = None if report.own_ranks is None else report.own_ranks[system, row]
    cut = int(report.cuts[system, row])
    return Line(
        report.names[system],
        system,
        caption,
        written,
        rank,
        tuple(pieces(best, caption, cut, report.length or _one)) if caption is not None else (),
        closest[0] if closest else None,
        closest[1] if closest else None,
        cut,
        None if own is None or np.isnan(own) else int(own),
    )


def _one(_word: str) -> int:
    return 1


def _kept(words: Sequence[str], cut: int, length: Length) -> int:
    """Return how many words were read whole, one at least: from the end, words are taken until ``cut`` tokens are."""
    keep, gone = len(words), 0
    while gone < cut and keep > 1:
        keep -= 1
        gone += length(words[keep])
    return keep


def pieces(best: str, caption: str, cut: int = 0, length: Length = _one) -> list[tuple[Kind, str]]:
    """Return a caption in pieces: words of both, of the best alone, of this one alone, and what was cut.

    Parameters
    ----------
    best
        The caption to compare with; empty: none.
    caption
        The caption.
    cut
        Tokens that did not fit: the words that they belong to stand greyed at its end.
    length
        How many tokens a word is; one each, where that is not known.
    """
    words = caption.split()
    keep = _kept(words, cut, length)
    tail: list[tuple[Kind, str]] = [("cut", " ".join(words[keep:]))] if cut and words[keep:] else []
    if not best or best == caption or len(words) > _MANY:
        return [("same", " ".join(words[:keep])), *tail]
    left, right = best.split()[:_MANY], words[:keep]
    out: list[tuple[Kind, str]] = []
    for what, i, j, m, n in difflib.SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if what == "equal":
            out.append(("same", " ".join(left[i:j])))
            continue
        if j > i:
            out.append(("only-best", " ".join(left[i:j])))
        if n > m:
            out.append(("only-here", " ".join(right[m:n])))
    return [*out, *tail]
