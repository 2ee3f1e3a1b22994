"""How numbers are written: digits, times 100, signs, small p values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from clipstore.errors import InputError

if TYPE_CHECKING:
    from clipstore.evaluate.measures import Measure
    from clipstore.significance import Interval

ABSENT: Final = "-"
_HUNDRED: Final = 100
_SMALLEST: Final = 1e-4
_TWO_DIGITS: Final = 0.0995


@final
@dataclass(frozen=True, slots=True)
class Style:
    """How a comparison is written.

    Parameters
    ----------
    columns
        Names of the leaderboard's columns, in order; None: those that the comparison calls for.
    digits
        Digits after the point of a raw value; a column that is shown times 100 has two fewer.
    hundred
        Whether every metric is shown times 100, not only those that papers show so.

    Raises
    ------
    InputError
        When ``digits`` is not between 0 and 12.
    """

    columns: tuple[str, ...] | None = None
    digits: int = 4
    hundred: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.digits <= 12:
            msg = f"digits lie between 0 and 12, not {self.digits}"
            raise InputError(msg)

    def scaled(self, measure: Measure) -> bool:
        """Return whether a metric is shown times 100."""
        return measure.percent or (self.hundred and measure.tested)

    def _write(self, value: float, measure: Measure, sign: str = "") -> str:
        scaled = self.scaled(measure)
        places = max(0, self.digits - 2) if scaled else self.digits
        text = f"{value * (_HUNDRED if scaled else 1):{sign}.{places}f}"
        return text.lstrip("-+") if float(text) == 0 else text

    def value(self, value: float | None, measure: Measure) -> str:
        """Write a metric's value."""
        if value is None:
            return ABSENT
        return f"{value:.1f}" if measure.aggregate == "median" else self._write(value, measure)

    def difference(self, value: float | None, measure: Measure) -> str:
        """Write a difference of two values, with its sign."""
        return ABSENT if value is None else self._write(value, measure, "+")

    def interval(self, interval: Interval | None, measure: Measure) -> str:
        """Write an interval as ``low-high``, or with ``..`` where an end is negative."""
        if interval is None:
            return ABSENT
        dash = "-" if interval.low >= 0 else ".."
        return f"{self.value(interval.low, measure)}{dash}{self.value(interval.high, measure)}"


def p_value(p: float | None) -> str:
    """Write a p with two digits that count, never as 0."""
    if p is None:
        return ABSENT
    if p < _SMALLEST:
        return "<0.0001"
    return f"{p:.4f}" if p < _SMALLEST * 100 else f"{p:.3f}" if p < _TWO_DIGITS else f"{p:.2f}"


def ranks(held: tuple[int, int] | None) -> str:
    """Write a rank interval as ``1-3``, or ``2`` where both ends agree."""
    if held is None:
        return ABSENT
    low, high = held
    return str(low) if low == high else f"{low}-{high}"


def some(names: list[str], most: int = 5) -> str:
    """Return the first names for a message, and how many more there are."""
    more = f", ... ({len(names) - most:,} more)" if len(names) > most else ""
    return ", ".join(names[:most]) + more
