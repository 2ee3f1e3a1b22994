"""What a meta-evaluation gives back: agreement of each metric beside what papers print, as table and as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from clipstore.metrics.names import SHOWN
from clipstore.tables import Column, Table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.metaeval.intervals import Interval
    from clipstore.metaeval.protocols import Pairs, Ratings, Tau, Ties
    from clipstore.metaeval.published import Published
    from clipstore.metaeval.tau import Agreement

SCHEMA = 1
TIE_RULES: Final[Mapping[str, str]] = {
    "random": "a coin",
    "half": "half a point",
    "wrong": "count as wrong",
    "b": "count for B",
}
"""What each rule for equal scores does, in words."""


def plain(value: float) -> float | None:
    """Return a number for JSON: None for NaN."""
    return None if math.isnan(value) else value


@final
@dataclass(frozen=True, eq=False)
class RatingResult:
    """One metric against ratings.

    Parameters
    ----------
    name
        The metric.
    agreement
        Taus and correlations, raw.
    intervals
        The 95% interval of each, over images; None where there is none.
    n
        How many single ratings count.
    missing
        Rows without a score.
    tau
        Which tau the benchmark's tables print.
    published
        What papers print.
    signature
        How its scores were made.
    label
        What tables call it; empty: the usual name.
    """

    name: str
    agreement: Agreement
    intervals: Mapping[str, Interval | None]
    n: int
    missing: int
    tau: Tau
    published: Published | None = None
    signature: str = ""
    label: str = ""

    @property
    def shown(self) -> str:
        """What tables call it."""
        return self.label or SHOWN.get(self.name, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, not times 100."""
        found = self.agreement
        between = {name: None if one is None else list(one) for name, one in self.intervals.items()}
        return {
            "name": self.name,
            "tau_b": plain(found.tau_b),
            "tau_c": plain(found.tau_c),
            "spearman": plain(found.spearman),
            "pearson": plain(found.pearson),
            "ci": between.get(self.tau),
            "intervals": between,
            "n": self.n,
            "missing": self.missing,
            "published": None if self.published is None else self.published.to_dict(),
            "signature": self.signature or None,
        }


@final
@dataclass(frozen=True, eq=False)
class PairResult:
    """One metric against choices between two captions.

    Parameters
    ----------
    name
        The metric.
    accuracy
        By category, raw.
    intervals
        The 95% interval of each and of their mean, over images.
    counts
        Pairs of each category that count.
    ties
        Pairs with equal scores, averaged over draws.
    missing
        Pairs without a score.
    published
        What papers print.
    signature
        How its scores were made.
    label
        What tables call it; empty: the usual name.
    """

    name: str
    accuracy: Mapping[str, float]
    intervals: Mapping[str, Interval | None]
    counts: Mapping[str, int]
    ties: float
    missing: int
    published: Published | None = None
    signature: str = ""
    label: str = ""

    @property
    def shown(self) -> str:
        """What tables call it."""
        return self.label or SHOWN.get(self.name, self.name)

    @property
    def n(self) -> int:
        """How many pairs count."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """The mean over categories, each weighing the same."""
        return sum(self.accuracy.values()) / len(self.accuracy) if self.accuracy else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, not times 100."""
        return {
            "name": self.name,
            "accuracy": {name: plain(value) for name, value in self.accuracy.items()},
            "mean": plain(self.mean),
            "ci": {name: None if one is None else list(one) for name, one in self.intervals.items()},
            "n": self.n,
            "ties": self.ties,
            "missing": self.missing,
            "published": None if self.published is None else self.published.to_dict(),
            "signature": self.signature or None,
        }


@final
@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """Every metric on one benchmark.

    Parameters
    ----------
    judged
        What people said.
    metrics
        In the order asked.
    scores
        Metric -> float64, shape (rows,) or, of pairs, the draws' (A, B).
    problems
        Metric -> why it could not be had.
    ties
        The rule for equal scores of pairs.
    resamples, seed
        Of the intervals.
    notes
        What a reader must know.
    """

    judged: Ratings | Pairs
    metrics: Sequence[RatingResult] | Sequence[PairResult]
    scores: Mapping[str, Any] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    ties: Ties = "random"
    resamples: int = 0
    seed: int = 0
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return the result of one metric."""
        return next(one for one in self.metrics if one.name == name)

    def __str__(self) -> str:
        return text(self.table())

    def to_dict(self) -> dict[str, Any]:
        """Return the stable JSON, ``schema`` 1: raw values, NaN as None."""
        out: dict[str, Any] = {
            "schema": SCHEMA,
            "benchmark": self.judged.name,
            "protocol": self.judged.protocol,
            "n": self.judged.n,
            "excluded": dict(self.judged.excluded),
            "metrics": [one.to_dict() for one in self.metrics],
            "problems": dict(self.problems),
            "notes": list(self.notes),
            "resamples": self.resamples,
            "seed": self.seed,
        }
        if self.judged.protocol == "pairs":
            out |= {"ties": self.ties, "draws": len(self.judged.draws)}
        return out

    def table(self) -> Table:
        """Return the table: computed beside published, times 100."""
        found = [one for one in self.metrics if isinstance(one, RatingResult)]
        pairs = [one for one in self.metrics if isinstance(one, PairResult)]
        made = _pairs(pairs) if self.judged.protocol == "pairs" else _ratings(found)
        return Table(made.columns, made.rows, self._below())

    def _below(self) -> tuple[str, ...]:
        judged = self.judged
        count = f"{judged.n:,} pairs" if judged.protocol == "pairs" else f"{len(judged.images):,} captions"
        more = "" if judged.protocol == "pairs" else f", {judged.n:,} single ratings, never averaged"
        lines = [f"{judged.name}: {count} of {len(set(judged.images)):,} images{more}; x100"]
        lines += [f"excluded: {count:,} x {reason}" for reason, count in judged.excluded.items() if count]
        if judged.protocol == "pairs":
            draws = f"; mean over {len(judged.draws)} draws of references" if len(judged.draws) > 1 else ""
            lines.append(f"equal scores: {TIE_RULES[self.ties]}{draws}")
        if self.resamples:
            lines.append(f"intervals: 95%, {self.resamples:,} resamples of images, seed {self.seed}")
        lines += [f"{SHOWN.get(name, name)}: not computed: {why}" for name, why in self.problems.items()]
        lines += dict.fromkeys(self.notes)
        lines += dict.fromkeys(one.signature for one in self.metrics if one.signature)
        return tuple(lines)


def _hundred(value: float | None, digits: int = 1) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def _between(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    dash = "-" if interval[0] >= 0 else ".."
    return f"{100 * interval[0]:.1f}{dash}{100 * interval[1]:.1f}"


def _printed(found: Published | None, name: str) -> str:
    return f"{found.values[name]:.1f}" if found is not None and name in found.values else ""


def _ratings(found: Sequence[RatingResult]) -> Table:
    columns = (
        Column("metric", "left"), Column("tau_b"), Column("published"), Column("tau_c"), Column("published"),
        Column("95% CI"), Column("Spearman"), Column("Pearson"), Column("n"),
    )  # fmt: skip
    rows = []
    for one in found:
        own = one.agreement
        rows.append(
            (
                one.shown,
                _hundred(own.tau_b, 2),
                _printed(one.published, "tau_b"),
                _hundred(own.tau_c, 2),
                _printed(one.published, "tau_c"),
                f"{one.tau} {_between(one.intervals.get(one.tau))}",
                _hundred(own.spearman),
                _hundred(own.pearson),
                f"{one.n}",
            )
        )
    return Table(columns, tuple(rows))


def _pairs(found: Sequence[PairResult]) -> Table:
    """Return a row a metric; intervals and published numbers have columns where there are some."""
    names = [*dict.fromkeys(name for one in found for name in one.accuracy), "mean"]
    between = any(interval is not None for one in found for interval in one.intervals.values())
    printed = any(one.published is not None for one in found)
    columns = [Column("metric", "left")]
    for name in names:
        columns += [Column(name), *[Column("95% CI")] * between, *[Column("published")] * printed]
    columns += [Column("ties"), Column("n")]
    rows = []
    for one in found:
        cells = [one.shown]
        for name in names:
            cells.append(_hundred(one.mean if name == "mean" else one.accuracy.get(name)))
            cells += [_between(one.intervals.get(name))] * between
            cells += [_printed(one.published, name)] * printed
        rows.append((*cells, f"{one.ties:g}", f"{one.n}"))
    return Table(tuple(columns), tuple(rows))
