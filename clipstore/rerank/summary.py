"""The rows of the table that says what choosing bought."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clipstore.rerank.gain import Gain, Value
    from clipstore.rerank.guards import Guard, Guards

Cells = tuple[str, ...]


def rows_of(gain: Gain | None, guards: Guards) -> tuple[Cells, ...]:
    """Return a row for each choice and each difference, then one for each N of the curve."""
    first, picked = _guarded(guards.first), _guarded(guards.picked)
    if gain is None:
        return (("first", "-", "-", *first), ("picked", "-", "-", *picked))
    blank = ("-",) * len(first)
    rows = [
        ("first", *_value(gain.first), *first),
        ("random", *_value(gain.random), *blank),
        ("picked", *_value(gain.picked), *picked),
        ("oracle", *_value(gain.oracle), *blank),
        ("picked - first", *_value(gain.over_first, signed=True), *blank),
        ("picked - random", *_value(gain.over_random, signed=True), *blank),
        ("oracle - picked", *_value(gain.regret, signed=True), *blank),
    ]
    what = "picked of first" if gain.ordered else "picked of"
    rows += [(f"{what} {point.n}", *_value(point.picked), *blank) for point in gain.curve]
    return tuple(rows)


def _value(value: Value, *, signed: bool = False) -> Cells:
    sign = "+" if signed else ""
    mean = "-" if value.mean is None else f"{value.mean:{sign}.4f}"
    return mean, "-" if value.ci is None else f"{value.ci.low:{sign}.4f} to {value.ci.high:{sign}.4f}"


def _guarded(guard: Guard) -> Cells:
    return f"{guard.words:.1f}", f"{guard.repeated:.1%}", f"{guard.specials:,}"
