"""Plots of all systems: distributions on one axis, score against length, captions that were cut."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.report import board_page, svg
from clipstore.report.svg import Drawing, Scale
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from clipstore.report.report import Numbers, Report

_BINS: Final = 40
_ROW: Final = 44
_LABELS: Final = 190
_FEW: Final = 5  # captions below which a length has no mean of its own
_Z: Final = 1.96
_LISTED: Final = 200


@lru_cache(maxsize=2)
def view(report: Report) -> dict[str, Any]:
    """Return the values of the page of plots."""
    return {
        "metric": report.shown,
        "drawings": drawings(report),
        "cut": cut_systems(report),
        "captions": cut_captions(report),
        "context": report.context,
        "rho": spearman(report),
    }


def drawings(report: Report) -> list[Drawing]:
    """Return every plot of all systems, the forest plot left out."""
    found = [distributions(report)]
    length = score_by_length(report)
    return [*found, length] if length is not None else found


def distributions(report: Report) -> Drawing:
    """Return a histogram a system, all on one axis that fits the data; a line at each median."""
    order = report.board.order
    held = [report.scores[row][~np.isnan(report.scores[row])] for row in order]
    every = np.concatenate(held) if held else np.zeros(0)
    across = Scale.over(every.tolist(), _LABELS + 10, svg.WIDTH - 20)
    bottom = 10 + _ROW * len(order)
    parts = [svg.axis_below(across, bottom, report.shown, 6)]
    rows = []
    for place, (row, values) in enumerate(zip(order, held, strict=True)):
        base = 10 + _ROW * (place + 1) - 4
        counts, edges = np.histogram(values, _BINS, (across.low, across.high))
        up = Scale(0, float(counts.max(initial=1)) ** 0.5, base, base - _ROW + 10)  # roots: one spike hides nothing
        parts.append(svg.text(_LABELS, base - 8, svg.short(report.names[row]), anchor="end"))
        for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if count:
                parts.append(
                    svg.box(across(low), up(count**0.5), across(high) - across(low) - 0.5, base - up(count**0.5))
                )
        quarter = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist() if len(values) else [float("nan")] * 5
        if len(values):
            parts.append(svg.line(across(quarter[2]), base - _ROW + 8, across(quarter[2]), base, kind="second", wide=2))
        rows.append((report.names[row], *map(report.value, quarter)))
    columns = (Column("system", "left"), *map(Column, ("lowest", "25%", "median", "75%", "highest")))
    said = "One histogram a system; a bar's height is the square root of its count. The line is the median."
    title = f"Distribution of {report.shown}"
    return Drawing("distributions", title, said, bottom + 44, "".join(parts), Table(columns, tuple(rows)))


def score_by_length(report: Report) -> Drawing | None:
    """Return the mean score and its interval by length, over all systems; None without captions.

    Lengths are in tokens, with the context limit marked, where the tokenizer is known, else in words.
    Rare lengths share a bin.
    """
    lengths, unit = (report.lengths, "words") if report.tokens is None else (report.tokens, "tokens")
    both = ~np.isnan(lengths) & ~np.isnan(report.scores)
    if not both.any():
        return None
    bins = _length_bins(lengths[both], report.scores[both])
    limit, exact = report.context, unit == "tokens"
    far = max(high for _, high, *_ in bins)
    near = limit if limit is not None and exact and far > limit / 2 else None
    across = Scale(0, max(far, near or 0) * 1.04 + 1, 70, svg.WIDTH - 20)
    ends = [one for _, _, mean, half, _ in bins for one in (mean - half, mean + half)]
    up = Scale.over(ends, 250, 30)
    below = f"{unit} of a caption" + (", prompt, start and end included" if exact else "")
    parts = [svg.axis_left(up, 70, report.shown, svg.WIDTH - 20), svg.axis_below(across, 250, below, 30)]
    middles = [((low + high) / 2, mean, half) for low, high, mean, half, _ in bins]
    parts.append(svg.path([(across(x), up(mean)) for x, mean, _ in middles]))
    for x, mean, half in middles:
        parts += [
            svg.line(across(x), up(mean - half), across(x), up(mean + half), kind="mark"),
            svg.dot(across(x), up(mean), 3),
        ]
    if near is not None:
        parts += [svg.line(across(near), 30, across(near), 250, kind="second", dash="4 3")]
        parts.append(svg.text(across(near) - 4, 42, "context limit", anchor="end"))
    elif limit is not None:
        beyond = f"context limit: {limit} tokens" + (" \N{RIGHTWARDS ARROW}" if exact else "")
        parts.append(svg.text(svg.WIDTH - 20, 22, beyond, anchor="end", colour=svg.GREY))
    rows = tuple(
        (f"{low:g}" if low == high else f"{low:g}-{high:g}", report.value(mean), f"{half:.4f}", f"{count}")
        for low, high, mean, half, count in bins
    )
    note = (
        "" if report.context is None else f" The model reads {report.context} tokens, prompt, start and end included."
    )
    columns = (Column(unit), Column(report.shown), Column("± 95%"), Column("captions"))
    said = f"Mean {report.shown} of all systems' captions by their length in {unit}, with 95% intervals.{note}"
    return Drawing("length", f"{report.shown} by caption length", said, 294, "".join(parts), Table(columns, rows))


def _length_bins(sizes: Numbers, scores: Numbers) -> list[tuple[float, float, float, float, int]]:
    """Return (from, to, mean, half interval, count) of each length; neighbours are joined until a bin has enough."""
    out: list[tuple[float, float, float, float, int]] = []
    low: float | None = None
    held: list[float] = []
    lengths = np.unique(sizes)
    left = len(sizes)
    for length in lengths.tolist():
        low = length if low is None else low
        held += scores[sizes == length].tolist()
        rest = left - len(held)
        if rest == 0 or (len(held) >= _FEW and rest >= _FEW):
            left = rest
            half = _Z * float(np.std(held, ddof=1)) / len(held) ** 0.5 if len(held) > 1 else 0.0
            out.append((low, length, float(np.mean(held)), half, len(held)))
            low, held = None, []
    return out


def _ranked(values: Numbers) -> Numbers:
    """Return ranks, equal values sharing their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])


def spearman(report: Report) -> list[tuple[str, str]]:
    """Return Spearman's rank correlation of score and number of words, a system each."""
    words = report.lengths
    out = []
    for row in report.board.order:
        held = ~np.isnan(words[row]) & ~np.isnan(report.scores[row])
        left, right = _ranked(words[row][held]), _ranked(report.scores[row][held])
        constant = len(left) < 2 or left.std() == 0 or right.std() == 0
        out.append((report.names[row], "-" if constant else f"{float(np.corrcoef(left, right)[0, 1]):+.3f}"))
    return out


def cut_systems(report: Report) -> list[dict[str, str]]:
    """Return each system that has cut captions: how many, and its mean with and without them."""
    out = []
    for row in report.board.order:
        cut = report.cuts[row] > 0
        if not cut.any():
            continue
        values = report.scores[row]
        rest = values[~cut]
        out.append(
            {
                "system": report.names[row],
                "cut": f"{int(cut.sum()):,}",
                "share": f"{100 * cut.mean():.1f}%",
                "with": report.value(float(np.nanmean(values))),
                "without": report.value(float(np.nanmean(rest)) if len(rest) else float("nan")),
            }
        )
    return out


def cut_captions(report: Report) -> list[dict[str, Any]]:
    """Return the captions that did not fit, the longest cut first, at most 200."""
    places = np.argwhere(report.cuts > 0).tolist()
    places.sort(key=lambda place: -int(report.cuts[place[0], place[1]]))
    return [
        {
            "row": item,
            "slug": report.slugs[item],
            "system": report.names[system],
            "cut": int(report.cuts[system, item]),
            "caption": report.caption(system, item) or "",
        }
        for system, item in places[:_LISTED]
    ]


def figures(report: Report) -> list[Drawing]:
    """Return the plots of a paper: forest, distributions, length, and the pair at the top of the leaderboard."""
    from clipstore.report import pair_page

    found = [board_page.forest(report), *drawings(report)]
    order = report.board.order
    if len(order) > 1:
        a, b = order[0], order[1]
        difference = report.scores[a] - report.scores[b]
        found += [
            pair_page.histogram(report, a, b, difference[~np.isnan(difference)]),
            pair_page.scatter(report, a, b, None),
        ]
    return found
