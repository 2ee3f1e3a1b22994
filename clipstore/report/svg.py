"""A drawing: a small static SVG with a title, a description and the same numbers as a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, final

from clipstore.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clipstore.tables import Table

WIDTH: Final = 640
"""Width of a drawing in its own units; a page may scale it."""

INK, GREY, ACCENT, SECOND = "#1b1f24", "#6b7280", "#1f5fa8", "#b4491f"
_STEPS: Final = (1, 2, 2.5, 5, 10)
_FONT: Final = "system-ui, sans-serif"


def _escaped(text: str) -> str:
    return escape(visible(text))


@final
@dataclass(frozen=True, slots=True)
class Drawing:
    """One drawing.

    Parameters
    ----------
    name
        What its file is called, without ending.
    title, description
        What it shows, in a few words and in a sentence.
    height
        In units of :data:`WIDTH`.
    body
        SVG elements; everything in them is escaped.
    table
        The same numbers as a table.
    linked
        Whether it holds links, so that it is no plain image to a screen reader.
    """

    name: str
    title: str
    description: str
    height: float
    body: str
    table: Table
    linked: bool = False

    @property
    def markup(self) -> str:
        """The drawing as an element of a page; colours may be set by the page's style."""
        role, title = "group" if self.linked else "img", _escaped(self.title)
        return (
            f'<svg class="plot" role="{role}" aria-label="{title}" viewBox="0 0 {WIDTH} {self.height:g}" '
            f'width="{WIDTH}" height="{self.height:g}"><title>{title}</title>'
            f"<desc>{_escaped(self.description)}</desc>{self.body}</svg>"
        )

    @property
    def standalone(self) -> str:
        """The drawing as a file of its own, on white."""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height:g}" width="{WIDTH}" '
            f'height="{self.height:g}"><title>{_escaped(self.title)}</title><desc>{_escaped(self.description)}</desc>'
            f'<rect width="100%" height="100%" fill="#ffffff"/>{self.body}</svg>\n'
        )


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """Values from ``low`` to ``high`` onto units from ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return where a value stands."""
        span = self.high - self.low or 1.0
        return round(self.start + (value - self.low) / span * (self.stop - self.start), 1)

    @classmethod
    def over(cls, values: Iterable[float], start: float, stop: float) -> Scale:
        """Return a scale that holds all finite values, with a little room at both ends."""
        held = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(held), max(held)
        room = (high - low or abs(high) or 1.0) * 0.04
        return cls(low - room, high + room, start, stop)

    def ticks(self, about: int = 6) -> list[float]:
        """Return round values inside the scale."""
        raw = (self.high - self.low or 1.0) / about
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * one for one in _STEPS if power * one >= raw)
        first = math.ceil(self.low / step)
        return [round(place * step, 10) for place in range(first, math.floor(self.high / step) + 1)]


def text(x: float, y: float, shown: str, *, anchor: str = "start", colour: str = INK, size: int = 12) -> str:
    """Return a line of text."""
    kind = "ink" if colour == INK else "grey"
    return (
        f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-family="{_FONT}" '
        f'font-size="{size}" fill="{colour}">{_escaped(shown)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str = "axis", wide: float = 1, dash: str = "") -> str:
    """Return a straight line; its kind is ``axis``, ``grid``, ``mark`` or ``second``."""
    colour = {"axis": GREY, "grid": "#d9dde3", "mark": ACCENT, "second": SECOND}[kind]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line class="s-{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" '
        f'stroke-width="{wide:g}"{dashed}/>'
    )


def box(x: float, y: float, wide: float, high: float, *, kind: str = "mark") -> str:
    """Return a filled rectangle; its kind is ``mark``, ``second`` or ``plain``."""
    colour = {"mark": ACCENT, "second": SECOND, "plain": "#9aa3af"}[kind]
    return (
        f'<rect class="f-{kind}" x="{x:g}" y="{y:g}" width="{max(0.0, wide):g}" height="{max(0.0, high):g}" '
        f'fill="{colour}"/>'
    )


def dot(x: float, y: float, radius: float = 4, *, kind: str = "mark") -> str:
    """Return a filled circle."""
    colour = ACCENT if kind == "mark" else SECOND
    return f'<circle class="f-{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}"/>'


def dots(points: Iterable[tuple[float, float]]) -> str:
    """Return many small dots as one element."""
    shape = "".join(f"M{x:g} {y:g}h0" for x, y in points)
    drawn = f'stroke="{ACCENT}" stroke-opacity="0.55" stroke-width="6" stroke-linecap="round"'
    return f'<path class="dots" d="{shape}" {drawn}/>'


def linked_dot(where: str, x: float, y: float) -> str:
    """Return a dot that leads somewhere; it is passed over by the tab key, since a list says the same."""
    return f'<a href="{_escaped(where)}" tabindex="-1"><circle cx="{x:g}" cy="{y:g}" r="3.5"/></a>'


def path(points: Iterable[tuple[float, float]], *, kind: str = "mark", dash: str = "") -> str:
    """Return a line through points."""
    colour = {"mark": ACCENT, "second": SECOND, "axis": GREY}[kind]
    shape = " ".join(f"{x:g},{y:g}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline class="s-{kind}" points="{shape}" fill="none" stroke="{colour}" stroke-width="1.6"{dashed}/>'


def axis_below(scale: Scale, y: float, label: str, top: float) -> str:
    """Return a horizontal axis at ``y`` with ticks, a faint grid up to ``top``, and what it measures."""
    parts = [line(scale.start, y, scale.stop, y)]
    for tick in scale.ticks():
        x = scale(tick)
        parts += [line(x, top, x, y, kind="grid"), text(x, y + 16, f"{tick:g}", anchor="middle", colour=GREY, size=11)]
    middle = (scale.start + scale.stop) / 2
    return "".join([*parts, text(middle, y + 34, label, anchor="middle", colour=GREY)])


def axis_left(scale: Scale, x: float, label: str, right: float) -> str:
    """Return a vertical axis at ``x`` with ticks, a faint grid to ``right``, and what it measures."""
    parts = [line(x, scale.start, x, scale.stop)]
    for tick in scale.ticks(5):
        y = scale(tick)
        parts += [
            line(x, y, right, y, kind="grid"),
            text(x - 6, y + 4, f"{tick:g}", anchor="end", colour=GREY, size=11),
        ]
    return "".join([*parts, text(x - 40, min(scale.start, scale.stop) - 8, label, colour=GREY)])


def short(name: str, most: int = 24) -> str:
    """Return a name that fits beside a drawing."""
    return name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
