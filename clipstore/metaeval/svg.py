"""A line plot as SVG, written by hand: one line a metric, points marked, axes labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 24, 48
# Okabe and Ito's colours, told apart by colour-blind readers too; dashes repeat the difference.
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: Final = ("none", "6 3", "2 2", "8 2 2 2")
_TICKS: Final = 5
_FONT: Final = 'font-family="sans-serif" font-size="12"'


def lines(series: Mapping[str, Sequence[float]], marks: Sequence[str], title: str, x_label: str, y_label: str) -> str:
    """Return a plot of one line a series.

    Parameters
    ----------
    series
        Name -> a value at each mark.
    marks
        What stands below the x axis.
    title, x_label, y_label
        In words.
    """
    values = [value for own in series.values() for value in own if value == value]  # noqa: PLR0124 - NaN
    low, high = min(values, default=0.0), max(values, default=1.0)
    pad = (high - low) * 0.08 or 0.05
    low, high = low - pad, high + pad

    def x(at: int) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (at / max(1, len(marks) - 1))

    def y(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    half = HEIGHT // 2
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT}>',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(y_label)} by {escape(x_label)}: {escape(', '.join(series))}</desc>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2:.0f}" y="16" text-anchor="middle" font-weight="bold">{escape(title)}</text>',
        f'<text x="{(WIDTH - _RIGHT + _LEFT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text x="14" y="{half}" text-anchor="middle" transform="rotate(-90 14 {half})">{escape(y_label)}</text>',
    ]
    ticks = [low + (high - low) * step / _TICKS for step in range(_TICKS + 1)]
    digits = next((some for some in range(2, 8) if len({f"{one:.{some}f}" for one in ticks}) == len(ticks)), 8)
    for value in ticks:
        at = y(value)
        parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:.{digits}f}</text>')
    for at, mark in enumerate(marks):
        parts.append(f'<text x="{x(at):.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{escape(mark)}</text>')
    for number, (name, own) in enumerate(series.items()):
        colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number // len(_COLOURS) % len(_DASHES)]
        points = [(x(at), y(value)) for at, value in enumerate(own) if value == value]  # noqa: PLR0124 - NaN
        drawn = " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
        stroke = f'stroke="{colour}" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{drawn}" fill="none" stroke-width="2" {stroke}/>')
        parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"/>' for left, top in points]
        key = _TOP + 14 + 18 * number
        parts.append(f'<line x1="{WIDTH - 140}" x2="{WIDTH - 116}" y1="{key}" y2="{key}" stroke-width="2" {stroke}/>')
        parts.append(f'<text x="{WIDTH - 110}" y="{key + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
