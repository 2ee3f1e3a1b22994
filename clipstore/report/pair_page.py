"""The page of two systems: wins, ties and losses, the distribution of differences, one against the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.compare.board import turned
from clipstore.compare.style import p_value
from clipstore.report import svg
from clipstore.report.order import largest
from clipstore.report.svg import Drawing, Scale
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from clipstore.report.report import Numbers, Report
    from clipstore.significance import PairTest

TOP: Final = 20
LINKED: Final = 300
"""Dots of a scatter that lead to their image: where the two differ most."""

_DOTS: Final = 2000  # of more images the most different and an even sample are drawn

_BINS: Final = 30


def test_of(report: Report, a: int, b: int) -> PairTest | None:
    """Return the test of the leading metric seen from ``a``; None where this pair was not tested."""
    for one in report.part.statistics[report.board.lead].pairs:
        if (one.a, one.b) == (a, b):
            return one
        if (one.a, one.b) == (b, a):
            return turned(one)
    return None


def view(
    report: Report, a: int, b: int, href: Callable[[int], str | None] | None = None, linked: int = LINKED
) -> dict[str, Any]:
    """Return the values of a pair's page.

    Parameters
    ----------
    report
        The report.
    a, b
        Rows of the two systems; differences are ``a`` less ``b``.
    href
        Where the page of an image stands, for the dots of the scatter.
    linked
        How many dots lead to their image, and how many rows the table beside them has.
    """
    test = test_of(report, a, b)
    difference = report.scores[a] - report.scores[b]
    better = report.better[a] - report.better[b]
    held = ~np.isnan(difference)
    eps = report.measure.epsilon
    wins, losses = int((better[held] > eps).sum()), int((better[held] < -eps).sum())
    ahead, behind = largest(report, a, b, TOP)
    lead = report.board.part.measured.measures[report.board.lead]
    alpha = report.part.statistics[report.board.lead].settings.alpha
    return {
        "a": a,
        "b": b,
        "first": report.names[a],
        "second": report.names[b],
        "metric": report.shown,
        "wins": wins,
        "ties": int(held.sum()) - wins - losses,
        "losses": losses,
        "n": int(held.sum()),
        "delta": None if test is None else report.comparison.style.difference(test.delta, lead),
        "ci": None if test is None else report.comparison.style.interval(test.ci, lead),
        "p": None if test is None else p_value(test.p_adj),
        "verdict": None if test is None else test.verdict(alpha),
        "bar": bar(report, a, b, wins, int(held.sum()) - wins - losses, losses),
        "histogram": histogram(report, a, b, difference[held]),
        "scatter": scatter(report, a, b, href, linked),
        "ahead": [_row(report, a, b, row) for row in ahead],
        "behind": [_row(report, a, b, row) for row in behind],
    }


def _row(report: Report, a: int, b: int, row: int) -> dict[str, Any]:
    return {
        "row": row,
        "slug": report.slugs[row],
        "alt": svg.short(report.alt(row), 60),
        "difference": report.difference(report.scores[a, row] - report.scores[b, row]),
        "first": report.caption(a, row) or "",
        "second": report.caption(b, row) or "",
        "scores": (report.value(report.scores[a, row]), report.value(report.scores[b, row])),
    }


def bar(report: Report, a: int, b: int, wins: int, ties: int, losses: int) -> Drawing:
    """Return wins, ties and losses as one bar."""
    total = wins + ties + losses or 1
    inner = svg.WIDTH - 40
    first, second = inner * wins / total, inner * ties / total
    parts = [
        svg.box(20, 26, first, 24),
        svg.box(20 + first, 26, second, 24, kind="plain"),
        svg.box(20 + first + second, 26, inner - first - second, 24, kind="second"),
        svg.text(20, 18, f"{svg.short(report.names[a])} better: {wins:,}"),
        svg.text(svg.WIDTH / 2, 68, f"ties: {ties:,}", anchor="middle", colour=svg.GREY),
        svg.text(svg.WIDTH - 20, 18, f"{svg.short(report.names[b])} better: {losses:,}", anchor="end"),
    ]
    rows = (("wins", f"{wins}"), ("ties", f"{ties}"), ("losses", f"{losses}"))
    table = Table((Column(f"{report.names[a]} against {report.names[b]}", "left"), Column("images")), rows)
    title = f"Wins, ties and losses: {report.names[a]} against {report.names[b]}"
    said = f"{wins} wins, {ties} ties, {losses} losses."
    return Drawing(f"wins-{a + 1}-{b + 1}", title, said, 78, "".join(parts), table)


def histogram(report: Report, a: int, b: int, difference: Numbers) -> Drawing:
    """Return how differences are distributed, with a line at 0 and one at their mean."""
    reach = float(np.abs(difference).max(initial=0.0)) or 1.0
    apart = difference[np.abs(difference) > report.measure.epsilon]  # ties at 0 would dwarf the rest
    counts, edges = np.histogram(apart, _BINS, (-reach, reach))
    across = Scale(-reach, reach, 60, svg.WIDTH - 20)
    up = Scale(0, max(1, int(counts.max(initial=0))), 190, 24)
    parts = [
        svg.axis_left(up, 60, "images", svg.WIDTH - 20),
        svg.axis_below(across, 190, f"difference in {report.shown}", 24),
    ]
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        kind = "mark" if low + high > 0 else "second"
        top = up(count)
        parts.append(svg.box(across(low) + 0.5, top, across(high) - across(low) - 1, 190 - top, kind=kind))
    mean = float(difference.mean()) if len(difference) else 0.0
    parts += [
        svg.line(across(0), 24, across(0), 190),
        svg.line(across(mean), 24, across(mean), 190, kind="axis", dash="4 3"),
    ]
    rows = tuple(
        (f"{low:+.3f}", f"{high:+.3f}", str(count))
        for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        if count
    )
    ties = f" {len(difference) - len(apart):,} ties are left out." if len(apart) < len(difference) else ""
    said = f"Right of 0, {report.names[a]} has the higher score; dashed: the mean, {mean:+.4f}.{ties}"
    title = f"Differences, {report.names[a]} less {report.names[b]}"
    columns = (Column("from"), Column("to"), Column("images"))
    return Drawing(f"differences-{a + 1}-{b + 1}", title, said, 236, "".join(parts), Table(columns, rows))


def _drawn(report: Report, a: int, b: int) -> list[int]:
    """Return the images of the scatter, the most different first: all, or half of them an even sample."""
    gap = np.abs(report.scores[a] - report.scores[b])
    held = np.flatnonzero(~np.isnan(gap))
    order: list[int] = held[np.argsort(-gap[held], kind="stable")].tolist()
    if len(order) <= _DOTS:
        return order
    rest = order[_DOTS // 2 :]
    return order[: _DOTS // 2] + rest[:: -(-len(rest) // (_DOTS // 2))]


def scatter(report: Report, a: int, b: int, href: Callable[[int], str | None] | None, linked: int = LINKED) -> Drawing:
    """Return one system against the other, a dot an image; where they differ most, dots are links."""
    rows = _drawn(report, a, b)
    x, y = report.scores[a], report.scores[b]
    both = [*x[rows].tolist(), *y[rows].tolist()]
    across, up = Scale.over(both, 70, 470), Scale.over(both, 430, 30)
    first, second = svg.short(report.names[a]), svg.short(report.names[b])
    parts = [svg.axis_left(up, 70, f"{report.shown} of {second}", 470)]
    parts += [svg.axis_below(across, 430, f"{report.shown} of {first}", 30)]
    parts.append(svg.line(across(up.low), up(up.low), across(up.high), up(up.high), dash="4 3"))
    places = {row: (across(float(x[row])), up(float(y[row]))) for row in rows}
    parts.append(svg.dots(places.values()))
    where = {row: found for row in rows[:linked] if href and (found := href(row))}
    parts += ['<g class="p" aria-hidden="true">', *(svg.linked_dot(where[row], *places[row]) for row in where), "</g>"]
    columns = (Column("image", "left"), Column(report.names[a]), Column(report.names[b]))
    shown = rows[: linked // 2]
    body = tuple((report.slugs[row], report.value(x[row]), report.value(y[row])) for row in shown)
    notes = (f"the {len(shown):,} of {len(report):,} images that differ most",) if len(shown) < len(rows) else ()
    some = "" if len(rows) == len(report) else f" {len(rows):,} of {len(report):,} images are drawn."
    said = f"A dot an image; below the dashed line {report.names[a]} has the higher score.{some}"
    title = f"{report.names[a]} against {report.names[b]}"
    table = Table(columns, body, notes)
    return Drawing(f"scatter-{a + 1}-{b + 1}", title, said, 474, "".join(parts), table, linked=bool(where))


def pair_dict(report: Report, a: int, b: int) -> dict[str, Any]:
    """Return a pair as JSON values: its tests as in the comparison's JSON, and the top images each way."""
    names = {report.names[a], report.names[b]}
    ahead, behind = largest(report, a, b, TOP)
    return {
        "schema": 1,
        "a": report.names[a],
        "b": report.names[b],
        "tests": [one for one in report.comparison.pairs if {one["a"], one["b"]} == names],
        "metric": report.measure.metric.replace("-", "_"),
        "ahead": [_row_dict(report, a, b, row) for row in ahead],
        "behind": [_row_dict(report, a, b, row) for row in behind],
        "signatures": report.comparison.signed,
    }


def _row_dict(report: Report, a: int, b: int, row: int) -> dict[str, Any]:
    values = (float(report.scores[a, row]), float(report.scores[b, row]))
    captions = (report.caption(a, row), report.caption(b, row))
    return {
        "image": report.measured.items.keys[row],
        "difference": values[0] - values[1],
        "scores": list(values),
        "captions": list(captions),
    }
