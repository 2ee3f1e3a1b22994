"""Parts of a comparison: an eval set or a slice of it, with the statistics of each metric.

The tests of one metric over all parts that are shown are one family: corrected once.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore import keys
from clipstore.errors import InputError, Unpaired
from clipstore.metrics.score import Signature
from clipstore.significance import (
    Estimate,
    Interval,
    Settings,
    Statistics,
    against,
    all_pairs,
    analyse,
    analyse_corpus,
    corrected,
    median_interval,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.evalset.evalset import MissingRule
    from clipstore.evaluate.measured import Measured
    from clipstore.evaluate.measures import Measure

Pairs = tuple[tuple[int, int], ...]

MANY = 40
"""Above this many systems somebody must say which pairs are tested."""


@final
@dataclass(frozen=True, slots=True)
class Slice:
    """Some items of a set: those whose ``field`` has this ``value``."""

    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}={self.value}"


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Systems on one eval set, or on a slice of it.

    Parameters
    ----------
    measured
        The systems and their metrics on these items.
    statistics
        By metric name; corrected over all parts of the comparison.
    slice
        Which items, None for all.
    label
        What its column group is called where its set has no name.
    """

    measured: Measured
    statistics: Mapping[str, Statistics]
    slice: Slice | None = None
    label: str = "all"

    @property
    def title(self) -> str:
        """What a column group is called."""
        if self.slice is None:
            return self.measured.set_name or self.label
        name = self.measured.set_name or self.label.removeprefix("all")
        return f"{name} {self.slice.value}".strip()

    def signature(self, metric: str) -> Signature:
        """Return the signature of one column: configuration, eval set, and how it was tested."""
        made = self.measured.measures[metric].signature
        found = self.statistics[metric]
        extra: list[tuple[str, str]] = []
        if self.slice is not None:
            extra.append(("slice", str(self.slice).replace("|", "/")))
        if self.measured.measures[metric].tested or any(one.ci is not None for one in found.systems):
            extra += found.fields()
        last = [field for field in made.fields if field[0] == "v"]
        fields = [field for field in made.fields if field[0] != "v"]
        return Signature(made.metric, (*fields, *extra, *last), made.note)


def pairs_of(measured: Measured, baseline: str | None, *, every: bool) -> Pairs:
    """Return the pairs that are tested: each system with the baseline, or all.

    Raises
    ------
    InputError
        When the set has no such baseline, or many systems and nobody said which pairs.
    """
    names, count = measured.names, len(measured.systems)
    if baseline is not None and baseline not in names:
        where = f" of {measured.set_name}" if measured.set_name else ""
        msg = f"no system{where} is called {baseline!r} to be the baseline; there is: {', '.join(names)}"
        raise InputError(msg)
    if baseline is not None and not every:
        return against(names.index(baseline), count)
    if count > MANY and not every:
        msg = (
            f"{count} systems make {count * (count - 1) // 2:,} pairs: name the one to compare with "
            "(--baseline NAME), or ask for all of them (--all-pairs)"
        )
        raise InputError(msg)
    return all_pairs(count)


def common(measured: Measured, missing: MissingRule) -> Measured:
    """Return the systems on the items that all of them cover.

    An item where no system has a number (an image that can't be read, an image without
    references under RefCLIP-S) is nobody's lack.

    Raises
    ------
    Unpaired
        When systems cover different items and ``missing`` is ``error``.
    """
    lacking = np.zeros((len(measured.systems), len(measured.items.keys)), np.bool_)
    for measure in measured.measures.values():
        if measure.aggregate != "value" and measure.per_item.size:
            held = measure.held()
            lacking |= ~held & held.any(axis=0)
    if not lacking.any():
        return measured
    counts = zip(measured.names, lacking.sum(axis=1).tolist(), strict=True)
    short = [f"{name} lacks {count:,}" for name, count in counts if count]
    kept = np.flatnonzero(~lacking.any(axis=0))
    total = len(measured.items.keys)
    if missing == "error":
        first = [str(measured.items.keys[row]) for row in np.flatnonzero(lacking.any(axis=0))[:5]]
        msg = (
            f"systems cover different images: {', '.join(short[:5])} of {total:,} (first: {', '.join(first)}). "
            f"Complete them, or compare on the {len(kept):,} that all have with --missing skip"
        )
        raise Unpaired(msg)
    if not len(kept):
        msg = f"no image has a number from every system ({', '.join(short[:5])}): there is nothing to compare"
        raise Unpaired(msg)
    note = f"compared on the {len(kept):,} of {total:,} images that every system covers ({', '.join(short[:5])})"
    which = keys.digest_json(sorted(str(measured.items.keys[row]) for row in kept.tolist()))[:8]
    fields = ("missing", "skip"), ("common", f"{len(kept)}/{total}@{which}")
    measures = {name: _signed(measure, fields) for name, measure in measured.picked(kept).measures.items()}
    return replace(measured.picked(kept), measures=measures, notes=(*measured.notes, note))


def _signed(measure: Measure, fields: tuple[tuple[str, str], ...]) -> Measure:
    names = {name for name, _ in fields} | {"v"}
    kept = [field for field in measure.signature.fields if field[0] not in names]
    last = [field for field in measure.signature.fields if field[0] == "v"]
    return replace(measure, signature=replace(measure.signature, fields=(*kept, *fields, *last)))


def analysed(
    parts: Sequence[tuple[Measured, Slice | None]], baseline: str | None, settings: Settings, *, every: bool
) -> list[Part]:
    """Return the parts with every metric's intervals and tests, corrected over all of them.

    Metrics and parts are independent, so threads share them out; the numbers do not depend on how many.
    """
    pairs = [pairs_of(measured, baseline, every=every) for measured, _ in parts]
    metrics = dict.fromkeys(name for measured, _ in parts for name in measured.measures)
    family = {
        metric: sum(len(pairs[row]) for row, (measured, _) in enumerate(parts) if metric in measured.measures)
        for metric in metrics
    }
    jobs = [(row, metric) for metric in metrics for row, (one, _) in enumerate(parts) if metric in one.measures]

    def work(job: tuple[int, str]) -> Statistics:
        row, metric = job
        return _statistics(parts[row][0].measures[metric], pairs[row], replace(settings, family=family[metric]))

    with ThreadPoolExecutor(max(1, min(len(jobs), os.cpu_count() or 1))) as pool:
        done = dict(zip(jobs, pool.map(work, jobs), strict=True))
    found: list[dict[str, Statistics]] = [{} for _ in parts]
    for metric in metrics:
        own = {row: done[row, metric] for row in range(len(parts)) if (row, metric) in done}
        joined = iter(corrected([test for one in own.values() for test in one.pairs], settings.correction))
        for row, one in own.items():
            found[row][metric] = replace(one, pairs=tuple(next(joined) for _ in one.pairs))
    several = sum(slice_ is None for _, slice_ in parts) > 1
    labels = [f"set {measured.set_digest[:8]}" if several else "all" for measured, _ in parts]
    both = zip(parts, found, labels, strict=True)
    return [Part(measured, statistics, slice_, label) for (measured, slice_), statistics, label in both]


def _statistics(measure: Measure, pairs: Pairs, settings: Settings) -> Statistics:
    own = replace(settings, epsilon=measure.epsilon, higher_is_better=measure.higher_is_better)
    if not measure.tested:
        counted = measure.held().sum(axis=1).tolist()
        both = zip(counted, measure.values(), _intervals(measure, own.level), strict=True)
        estimates = [Estimate(n, value, interval, None) for n, value, interval in both]
        return Statistics(tuple(estimates), (), own, own.resamples, 0)
    if measure.statistics is not None and measure.value is not None:
        return analyse_corpus(measure.statistics, measure.value, pairs, own)
    return analyse(measure.per_item, pairs, own)


def _intervals(measure: Measure, level: float) -> list[Interval | None]:
    """Return each system's interval of a metric without tests: of a median by order, none of a value."""
    if measure.aggregate != "median":
        return [None] * len(measure.per_item)
    return [median_interval(row[~np.isnan(row)].astype(np.float64), level) for row in measure.per_item]
