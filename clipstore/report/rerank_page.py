"""The page of a system that reranking made: the curve over candidates, how much changed, gains and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from clipstore.report import svg
from clipstore.report.svg import Drawing, Scale
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clipstore.report.report import Report, Rerank

_LINES: Final = (("picked", "mark", ""), ("oracle", "second", ""), ("random", "axis", "4 3"))
_WORDS: Final = {"picked": "the pick", "oracle": "the best there is", "random": "any candidate"}


def view(report: Report, rerank: Rerank) -> dict[str, Any]:
    """Return the values of the page; images that the report does not hold have no row."""
    gain = rerank.gain
    by_key = {key: row for row, key in enumerate(report.measured.items.keys)}

    def change(one: Mapping[str, Any]) -> dict[str, Any]:
        row = by_key.get(one["image"])
        return {
            "row": row,
            "slug": str(one["image"]),
            "first": one["first"],
            "picked": one["picked"],
            "difference": f"{one['picked_value'] - one['first_value']:+.4f}",
        }

    origin = {name: value for name, value in rerank.origin.items() if value is not None}
    shown = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in origin.items()
    }
    if "source" in shown:
        shown["source"] = shown["source"].rsplit("/", 1)[-1]
    return {
        "system": rerank.system,
        "origin": shown,
        "signature": rerank.signature,
        "judge": gain["judge"] if gain else "",
        "note": ". ".join(line for line in (gain["note"], gain.get("curve_note", "")) if line) if gain else "",
        "changed": f"{100 * gain['changed']:.1f}%" if gain else "",
        "values": [(name.replace("_", " "), *_value(gain[name])) for name in _SHOWN if gain and name in gain],
        "curve": curve(rerank) if gain and gain["curve"] else None,
        "gains": [change(one) for one in gain["gains"]] if gain else [],
        "losses": [change(one) for one in gain["losses"]] if gain else [],
    }


_SHOWN: Final = ("first", "random", "picked", "oracle", "over_first", "over_random", "regret")


def _value(one: Mapping[str, Any]) -> tuple[str, str]:
    mean, ci = one["mean"], one["ci"]
    interval = "-" if not ci else f"{ci[0]:.4f}{'-' if ci[0] >= 0 else '..'}{ci[1]:.4f}"
    return "-" if mean is None else f"{mean:.4f}", interval


def curve(rerank: Rerank) -> Drawing:
    """Return the judge's mean by number of candidates: the pick, the best there is, any candidate."""
    points = (rerank.gain or {})["curve"]
    held = [point for point in points if point["picked"]["mean"] is not None]
    across = Scale(0.5, max(point["n"] for point in points) + 0.5, 70, svg.WIDTH - 130)
    means = [point[name]["mean"] for point in held for name, *_ in _LINES]
    up = Scale.over(means, 250, 20)
    parts = [svg.axis_left(up, 70, "", svg.WIDTH - 130), svg.axis_below(across, 250, "candidates an image", 20)]
    ends: list[float] = []
    for name, kind, dash in _LINES:
        shape = [(across(point["n"]), up(point[name]["mean"])) for point in held]
        parts.append(svg.path(shape, kind=kind, dash=dash))
        if shape:
            y = shape[-1][1]
            while any(abs(y - other) < 14 for other in ends):
                y += 14
            ends.append(y)
            parts.append(svg.text(shape[-1][0] + 6, y + 4, _WORDS[name], size=11))
    rows = tuple(
        (str(point["n"]), *("-" if (mean := point[name]["mean"]) is None else f"{mean:.4f}" for name, *_ in _LINES))
        for point in points
    )
    columns = (Column("N"), *(Column(_WORDS[name]) for name, *_ in _LINES))
    said = "Mean by the judge when the first N candidates of each image are there."
    return Drawing("rerank", f"What choosing gained: {rerank.system}", said, 294, "".join(parts), Table(columns, rows))
