"""Set-ups of one benchmark: what each gives, as a table beside the published numbers, and which is nearest to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore.metaeval import cider
from clipstore.metaeval.results import RatingResult
from clipstore.metrics.text import bleu, bleu_value
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clipstore.metaeval.protocols import Numbers
    from clipstore.metaeval.results import MetaEvaluation
    from clipstore.metaeval.scoring import Rows

    Tokens = Callable[[str], str]

METRICS: Final = ("bleu-1", "bleu-4", "cider")
"""What other tokens and other references are shown on: quick, and moved by each of them."""

CLOSE: Final = 1.0
"""A set-up that misses no published number by more than this many points explains them."""


@final
@dataclass(frozen=True, slots=True)
class Variant:
    """One set-up and what it gives.

    Parameters
    ----------
    setup
        In words.
    values
        Metric -> tau, or mean accuracy of pairs; raw.
    accuracy
        Of pairs, metric -> category -> accuracy, raw.
    """

    setup: str
    values: Mapping[str, float]
    accuracy: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        out: dict[str, Any] = {"setup": self.setup, "values": dict(self.values)}
        if self.accuracy:
            out["accuracy"] = {name: dict(own) for name, own in self.accuracy.items()}
        return out

    def cells(self, metric: str) -> dict[str, float]:
        """Return one metric's numbers x100 by the names that :class:`Published` has for them, taus under ''."""
        if metric not in self.values:
            return {}
        if metric not in self.accuracy:
            return {"": 100 * self.values[metric]}
        own = {name: 100 * value for name, value in self.accuracy[metric].items()}
        return own | {"mean": 100 * self.values[metric]}

    def off(self, metric: str, printed: Mapping[str, float]) -> float | None:
        """Return the points by which it misses the published number that it misses most; None where none is shown."""
        own = self.cells(metric)
        both = [abs(own[name] - value) for name, value in printed.items() if name in own]
        return max(both) if both else None


def of_tokens(rows: Rows, tokens: Tokens, metrics: Sequence[str]) -> dict[str, Numbers]:
    """Score rows by some of :data:`METRICS` on any tokens.

    Parameters
    ----------
    rows
        Captions and references.
    tokens
        Text -> tokens with spaces between.
    metrics
        Which of them.

    Returns
    -------
    dict
        Metric -> float64, shape (rows,).
    """
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for row, key in enumerate(zip(rows.images, rows.references, strict=True)):
        groups.setdefault(key, []).append(row)
    held = list(groups.values())
    captions = [tokens(text) for text in rows.captions]
    references = [[tokens(text) for text in own] for _, own in groups]
    out: dict[str, Numbers] = {}
    orders = {name: int(name[-1]) for name in metrics if name.startswith("bleu-")}
    if orders:
        statistics = np.full((len(captions), bleu.STATISTICS), np.nan)
        for own, some in zip(held, references, strict=True):
            if some:
                counted = bleu.References(some)
                for row in own:
                    statistics[row] = counted.statistics(captions[row])
        out = {name: bleu_value(statistics, order) for name, order in orders.items()}
    if "cider" in metrics:
        out["cider"], _ = cider.of_tokens(captions, references, held)
    return {name: out[name] for name in metrics}


def printed(done: MetaEvaluation) -> dict[str, dict[str, float]]:
    """Return metric -> what its paper prints, x100: the benchmark's own tau under '', or accuracies by category."""
    out = {}
    for one in done.metrics:
        values = {} if one.published is None else dict(one.published.values)
        if isinstance(one, RatingResult):
            values = {"": values[one.tau]} if one.tau in values else {}
        if values:
            out[one.name] = values
    return out


def _shown(done: MetaEvaluation) -> dict[str, str]:
    return {one.name: one.shown for one in done.metrics}


def nearest(done: MetaEvaluation, found: Sequence[Variant]) -> dict[str, dict[str, Any]]:
    """Return metric -> the set-up that comes nearest to the published numbers, and by how much each misses them.

    ``setup`` and ``off`` are of the nearest, ``here`` is what the evaluation itself misses them by; points x100.
    """
    out = {}
    for metric, values in printed(done).items():
        missed = [(off, one.setup) for one in found if (off := one.off(metric, values)) is not None]
        if missed:
            off, setup = min(missed, key=lambda one: one[0])
            out[metric] = {"setup": setup, "off": round(off, 2), "here": round(missed[0][0], 2)}
    return out


def table(done: MetaEvaluation, found: Sequence[Variant]) -> Table:
    """Return the set-ups below the published numbers, x100; an empty cell was not computed."""
    notes = ["what each set-up gives, x100", *_said(done, found)]
    if any(one.accuracy for one in found):
        return _of_pairs(done, found, tuple(notes))
    metrics = list(dict.fromkeys(name for one in found for name in one.values))
    known = printed(done)
    rows = []
    if known:
        cells = (f"{known[name]['']:.1f}" if name in known else "" for name in metrics)
        rows.append(("published", *cells))
    rows += [
        (one.setup, *(f"{100 * one.values[name]:.2f}" if name in one.values else "" for name in metrics))
        for one in found
    ]
    columns = (Column("set-up", "left"), *(Column(_shown(done)[name]) for name in metrics))
    return Table(columns, tuple(rows), tuple(notes))


def _of_pairs(done: MetaEvaluation, found: Sequence[Variant], notes: tuple[str, ...]) -> Table:
    metrics = list(dict.fromkeys(name for one in found for name in one.values))
    categories = list(dict.fromkeys(name for one in found for own in one.accuracy.values() for name in own))
    shown = [*categories, "mean"]
    known, names = printed(done), _shown(done)
    rows = []
    for metric in metrics:
        name, values = names[metric], known.get(metric, {})
        if values:
            cells = (f"{values[one]:.1f}" if one in values else "" for one in shown)
            rows.append((name, "published", *cells, ""))
        for one in found:
            own = one.cells(metric)
            if own:
                off = one.off(metric, values)
                cells = (f"{own[cell]:.1f}" if cell in own else "" for cell in shown)
                rows.append((name, one.setup, *cells, "" if off is None else f"{off:.1f}"))
    columns = (Column("metric", "left"), Column("set-up", "left"), *map(Column, shown), Column("off by"))
    return Table(columns, tuple(rows), (*notes, "off by: the published number that the set-up misses most, in points"))


def _said(done: MetaEvaluation, found: Sequence[Variant]) -> list[str]:
    """Say, of each metric with published numbers, which set-up explains them."""
    out = []
    for metric, one in nearest(done, found).items():
        name, setup, off, here = _shown(done)[metric], one["setup"], one["off"], one["here"]
        if here <= CLOSE:
            out.append(f"{name}: the published protocol misses no published number by more than {here:.1f}")
        elif off <= CLOSE:
            out.append(f"{name}: misses one by {here:.1f}; explained by: {setup} (misses none by more than {off:.1f})")
        else:
            out.append(f"{name}: misses one by {here:.1f}; no set-up explains it, nearest: {setup} ({off:.1f})")
    return out
