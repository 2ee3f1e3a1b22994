"""Checks for continuous integration: values under a limit, significant drops; as lines, Markdown or JUnit XML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final
from xml.sax.saxutils import quoteattr

from clipstore.compare.style import p_value
from clipstore.errors import InputError
from clipstore.evaluate.names import metric_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.compare.parts import Part
    from clipstore.compare.results import Comparison

_NO_BASELINE = "--fail-on-drop compares with a baseline: name it with --baseline"
_YES, _NO = "\N{WHITE HEAVY CHECK MARK}", "\N{CROSS MARK}"


@final
@dataclass(frozen=True, slots=True)
class Check:
    """One check of one system.

    Parameters
    ----------
    name
        What is checked.
    system
        Whose number.
    passed
        Whether it holds.
    detail
        The numbers behind it.
    """

    name: str
    system: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'FAILED'}: {self.system}: {self.name}: {self.detail}"


def limits(given: Sequence[str], lead: str) -> dict[str, float]:
    """Read ``METRIC=X`` or ``X`` (then of the leading metric).

    Raises
    ------
    InputError
        When X is no number, or no metric is called so.
    """
    out: dict[str, float] = {}
    for one in given:
        name, sign, value = one.rpartition("=")
        try:
            limit = float(value)
            if not math.isfinite(limit):
                raise ValueError(value)  # noqa: TRY301 - told with the others
            out[metric_name(name) if sign else lead] = limit
        except ValueError as error:
            msg = f"{one!r}: {value!r} is no number; write METRIC=X, such as {lead}=0.7"
            raise InputError(msg) from error
    return out


def check_asked(under: Sequence[str], drops: Sequence[str], baseline: str | None) -> None:
    """Refuse checks that can't be made, before anything is measured for them.

    Raises
    ------
    InputError
        When a limit is no number or of no metric, or a drop has nothing to drop from.
    """
    limits([*under, *drops], "clip-s")
    if drops and baseline is None:
        raise InputError(_NO_BASELINE)


def under(comparison: Comparison, least: Mapping[str, float]) -> list[Check]:
    """Check that every system's value is no worse than the limit of its metric; raw values, as in the JSON.

    At least the limit, or at most where lower is better (``median-rank``).

    Raises
    ------
    InputError
        When a metric is not in the comparison.
    """
    out = []
    for part in comparison.parts:
        for metric, limit in least.items():
            _known(part, metric)
            up = part.measured.measures[metric].higher_is_better
            for system, estimate in zip(part.measured.systems, part.statistics[metric].systems, strict=True):
                value = estimate.value
                shown = "no value" if value is None else f"{value:.4f}"
                name = _named(part, f"{metric} at {'least' if up else 'most'} {limit:g}")
                holds = value is not None and (value >= limit if up else value <= limit)
                out.append(Check(name, system.name, holds, shown))
    return out


def drops(comparison: Comparison, most: Mapping[str, float]) -> list[Check]:
    """Check that no system lies significantly more than the limit below the baseline.

    A drop fails where its corrected p is at most alpha and it is larger than the limit.

    Raises
    ------
    InputError
        When there is no baseline, or a metric is not in the comparison or has no test.
    """
    if comparison.baseline is None:
        raise InputError(_NO_BASELINE)
    out = []
    for part, board in zip(comparison.parts, comparison.boards, strict=True):
        for metric, limit in most.items():
            _known(part, metric)
            measure = part.measured.measures[metric]
            if not measure.tested:
                msg = f"--fail-on-drop: {metric} has no test"
                raise InputError(msg)
            for row, test in sorted(board.against_baseline(metric).items()):
                drop = -(test.delta or 0.0) if measure.higher_is_better else (test.delta or 0.0)
                name = _named(part, f"{metric} drop from {comparison.baseline} at most {limit:g}")
                if test.delta is None or (test.p_adj is None and not test.identical):
                    out.append(Check(name, part.measured.names[row], passed=False, detail="no test could be made"))
                    continue
                found = test.significant(comparison.settings.alpha)
                detail = f"{-drop:+.4f}, p = {'identical' if test.identical else p_value(test.p_adj)}"
                out.append(Check(name, part.measured.names[row], not (found and drop > limit), detail))
    return out


def _known(part: Part, metric: str) -> None:
    if metric not in part.measured.measures:
        msg = f"{metric} is not in the comparison; there is: {', '.join(part.measured.measures)}"
        raise InputError(msg)


def _named(part: Part, name: str) -> str:
    return name if part.slice is None and part.measured.set_name is None else f"{part.title}: {name}"


def markdown(checks: Sequence[Check]) -> str:
    """Return the checks as a Markdown list; empty without checks."""
    from clipstore.tables.markdown import escaped

    lines = [f"- {_YES if one.passed else _NO} {escaped(str(one))}" for one in checks]
    return "\n".join(["", *lines, ""]) if lines else ""


def junit(checks: Sequence[Check], signature: str) -> str:
    """Return the checks as JUnit XML, the signature as a property."""
    failed = sum(not one.passed for one in checks)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="clipstore compare" tests="{len(checks)}" failures="{failed}">',
        f'  <properties><property name="signature" value={quoteattr(signature)}/></properties>',
    ]
    for one in checks:
        head = f"  <testcase classname={quoteattr(one.system)} name={quoteattr(one.name)}"
        if one.passed:
            lines.append(f"{head}/>")
        else:
            lines.append(f"{head}><failure message={quoteattr(one.detail)}/></testcase>")
    return "\n".join([*lines, "</testsuite>"]) + "\n"
