"""A measure: one metric of every system on one eval set, a column before any statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import numpy.typing as npt

from clipstore.significance import EPSILON_FP32, Value

if TYPE_CHECKING:
    from clipstore.evaluate.measured import MeasuredSystem
    from clipstore.metrics.score import Signature

Numbers = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Recount = Callable[[Sequence[str | None]], float | None]

Aggregate = Literal["mean", "corpus", "median", "value"]
"""How items become the number printed; ``mean`` and ``corpus`` have intervals and tests, ``median`` an interval."""


@final
@dataclass(frozen=True, eq=False)
class Measure:
    """One metric of every system.

    Parameters
    ----------
    metric
        Its name, such as ``bleu-4``.
    signature
        How the numbers were made; its ``metric`` is the header of the column.
    per_item
        float32 or float64, shape (systems, items); NaN where a system has no number.
    aggregate
        ``mean`` over items, ``corpus`` value of summed statistics, ``median``, or a ``value``
        that belongs to the system as a whole.
    statistics
        Of a corpus metric: float64, shape (systems, items, statistics).
    value
        Of a corpus metric: sums of statistics to values.
    totals
        Of a ``value``: one number a system.
    percent
        Whether tables show it times 100.
    higher_is_better
        Which end is rank 1.
    epsilon
        Differences up to this size are ties.
    quality
        Whether one end is better: only then is the best set bold.
    note
        What a reader of the column must know.
    per_run
        For each system the numbers of its runs, shape (runs, items), of a corpus metric the
        statistics, shape (runs, items, statistics); no row where it has one run.
    run_value
        Of a corpus metric: sums of one run's statistics to its value.
    recount
        Of a ``value``: captions to the number, so that some items can be counted anew.
    """

    metric: str
    signature: Signature
    per_item: Numbers
    aggregate: Aggregate = "mean"
    statistics: npt.NDArray[np.float64] | None = None
    value: Value | None = None
    totals: tuple[float | None, ...] = ()
    percent: bool = False
    higher_is_better: bool = True
    epsilon: float = EPSILON_FP32
    quality: bool = True
    note: str = ""
    per_run: tuple[npt.NDArray[np.float64], ...] = ()
    run_value: Value | None = None
    recount: Recount | None = None

    @property
    def shown(self) -> str:
        """The header of its column."""
        return self.signature.metric

    @property
    def tested(self) -> bool:
        """Whether it has intervals and tests."""
        return self.aggregate in {"mean", "corpus"}

    @property
    def has_interval(self) -> bool:
        """Whether it has intervals: what is tested has, and a median, by the order of its values."""
        return self.tested or self.aggregate == "median"

    def held(self) -> npt.NDArray[np.bool_]:
        """Return where a system has a number: bool, shape (systems, items)."""
        if self.statistics is not None:
            return np.asarray(~np.isnan(self.statistics).any(axis=2))
        return np.asarray(~np.isnan(self.per_item))

    def values(self) -> tuple[float | None, ...]:
        """Return the number printed for each system, None where it has none."""
        if self.aggregate == "value":
            return self.totals
        out: list[float | None] = []
        for row, held in enumerate(self.held()):
            if not held.any():
                out.append(None)
            elif self.statistics is not None and self.value is not None:
                out.append(float(self.value(self.statistics[row][held].sum(axis=0))))
            else:
                kept = self.per_item[row][held].astype(np.float64)
                out.append(float(np.median(kept) if self.aggregate == "median" else kept.mean()))
        return tuple(out)

    def picked(self, items: Rows, systems: Sequence[MeasuredSystem]) -> Measure:
        """Return the same metric on some items only; a ``value`` is counted anew from the systems' captions there."""
        if self.aggregate == "value":
            totals = tuple(self._recounted(one) for one in systems)
            return replace(self, per_item=self.per_item[:, items], totals=totals)
        statistics = None if self.statistics is None else self.statistics[:, items]
        runs = tuple(own[:, items] for own in self.per_run)
        return replace(self, per_item=self.per_item[:, items], statistics=statistics, per_run=runs)

    def _recounted(self, system: MeasuredSystem) -> float | None:
        """Return a ``value`` of a system's captions, the mean over its runs; None where they are not at hand."""
        if self.recount is None or not (system.texts or system.members):
            return None
        counted = [None if not one.texts else self.recount(one.texts) for one in system.members or (system,)]
        known = [one for one in counted if one is not None]
        return sum(known) / len(known) if known and len(known) == len(counted) else None

    @property
    def runs(self) -> tuple[tuple[float, ...], ...]:
        """For each system the value of each of its runs; empty where it has one run."""
        out = []
        for own in self.per_run:
            if self.run_value is not None:
                kept = own[:, ~np.isnan(own).any(axis=(0, 2))]
                out.append(tuple(float(self.run_value(run.sum(axis=0))) for run in kept))
            else:
                kept = own[:, ~np.isnan(own).any(axis=0)]
                middle = np.median if self.aggregate == "median" else np.mean
                out.append(tuple(float(middle(run)) for run in kept) if kept.shape[1] else ())
        return tuple(out)
