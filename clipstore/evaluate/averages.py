"""Several runs (seeds) of one system as one: averaged image by image, the spread between runs kept apart."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clipstore.errors import InputError
from clipstore.evaluate.measured import joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from clipstore.evaluate.measured import Measured
    from clipstore.evaluate.measures import Measure
    from clipstore.significance import Value


def average(measured: Measured, runs: Mapping[str, Sequence[str]]) -> Measured:
    """Return the systems with each group of runs made one.

    A metric that is a mean takes the mean over runs at each image; a corpus metric keeps the
    statistics of every run and takes the mean of their values. What is left for intervals and
    tests is the sampling of images; the runs' own values stand beside, for their spread.

    Parameters
    ----------
    measured
        With every run as a system of its own.
    runs
        System -> its runs, two or more names in ``measured``; the others stay as they are.

    Raises
    ------
    InputError
        When a run is not there.
    """
    of_run = {run: name for name, own in runs.items() for run in own}
    strange = [run for run in of_run if run not in measured.names]
    if strange:
        msg = f"no run is called {strange[0]!r}; there is: {', '.join(measured.names)}"
        raise InputError(msg)
    place = {name: row for row, name in enumerate(measured.names)}
    order = dict.fromkeys(of_run.get(name, name) for name in measured.names)
    groups = {name: [place[run] for run in runs.get(name, (name,))] for name in order}
    systems = tuple(joined(name, [measured.systems[row] for row in rows]) for name, rows in groups.items())
    measures = {name: _measure(one, list(groups.values())) for name, one in measured.measures.items()}
    return replace(measured, systems=systems, measures=measures)


def _measure(measure: Measure, groups: Sequence[Sequence[int]]) -> Measure:
    values = measure.values()
    per_item = np.stack([measure.per_item[list(rows)].astype(np.float64).mean(axis=0) for rows in groups])
    totals = tuple(_mean([values[row] for row in rows]) for rows in groups) if measure.totals else ()
    each = measure.per_item if measure.statistics is None else measure.statistics
    per_run = tuple(each[list(rows) if len(rows) > 1 else []].astype(np.float64) for rows in groups)
    single = measure.per_item.dtype == np.float32  # the tests allow for the rounding that the scores came with
    made = replace(measure, per_item=per_item.astype(np.float32) if single else per_item, totals=totals)
    if measure.aggregate != "value":
        made = replace(made, per_run=per_run)
    if measure.statistics is None or measure.value is None:
        return made
    most = math.lcm(*(len(rows) for rows in groups))
    stacked = np.stack([_repeated(measure.statistics[list(rows)], most) for rows in groups])
    return replace(made, statistics=stacked, value=_mean_of_runs(measure.value, most), run_value=measure.value)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _repeated(statistics: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.float64]:
    """Return the runs' statistics side by side, each as often as makes ``most`` of them: (items, most * kinds)."""
    whole = np.repeat(statistics, most // len(statistics), axis=0)
    return np.asarray(whole.transpose(1, 0, 2).reshape(statistics.shape[1], -1))


def _mean_of_runs(value: Value, most: int) -> Value:
    def mean(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        each = sums.reshape(*sums.shape[:-1], most, -1)
        return np.asarray(value(each).mean(axis=-1))

    return mean
