"""System level: the ranking of systems by a metric against the ranking by people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore.errors import InputError
from clipstore.metaeval.intervals import SEED, drawn, image_numbers, percentiles
from clipstore.metaeval.protocols import Ratings
from clipstore.metaeval.tau import kendall
from clipstore.metrics.names import SHOWN
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clipstore.metaeval.intervals import Interval
    from clipstore.metaeval.protocols import Labels, Numbers
    from clipstore.metaeval.results import MetaEvaluation

FEW: Final = 30
"""With fewer systems than this the result carries a warning."""


@final
@dataclass(frozen=True, eq=False)
class Ranking:
    """Systems by people and by metrics.

    Parameters
    ----------
    systems
        Their names, the best by people first.
    human
        Mean rating of each.
    means
        Metric -> mean score of each.
    spearman, intervals
        Metric -> correlation of the two rankings, and its interval over images.
    """

    systems: tuple[str, ...]
    human: tuple[float, ...]
    means: Mapping[str, tuple[float, ...]]
    spearman: Mapping[str, float]
    intervals: Mapping[str, Interval | None]

    @property
    def warning(self) -> str:
        """What few systems are worth; empty where they are many."""
        if len(self.systems) >= FEW:
            return ""
        return (
            f"{len(self.systems)} systems prove little: the best of ten random metrics reached .91 on twelve; "
            "read the agreement on captions instead"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        metrics = [
            {
                "name": name,
                "spearman": None if math.isnan(value) else value,
                "ci": None if (own := self.intervals[name]) is None else list(own),
                "means": list(self.means[name]),
            }
            for name, value in self.spearman.items()
        ]
        return {"systems": list(self.systems), "human": list(self.human), "metrics": metrics, "warning": self.warning}

    def table(self) -> Table:
        """Return the table: a row a metric, its mean for each system, and the correlation."""
        columns = (
            Column("metric", "left"),
            *(Column(name) for name in self.systems),
            Column("Spearman"),
            Column("95% CI"),
        )
        rows = [("people", *(f"{value:.3f}" for value in self.human), "", "")]
        for name, value in self.spearman.items():
            own = self.intervals[name]
            between = "-" if own is None else f"{own[0]:.2f}{'-' if own[0] >= 0 else '..'}{own[1]:.2f}"
            means = (f"{one:.4f}" for one in self.means[name])
            rows.append((SHOWN.get(name, name), *means, f"{value:.3f}", between))
        return Table(columns, tuple(rows), (self.warning,) if self.warning else ())


def rank(done: MetaEvaluation, *, resamples: int = 1000, seed: int = SEED) -> Ranking:
    """Return the ranking of systems by each metric of an evaluation against that by people.

    Parameters
    ----------
    done
        On ratings that say who wrote each caption.
    resamples, seed
        Of the bootstrap over images.

    Raises
    ------
    InputError
        When the ratings name fewer than two systems.
    """
    judged = done.judged
    names = sorted(set(judged.systems)) if isinstance(judged, Ratings) else []
    if not isinstance(judged, Ratings) or len(names) < 2:
        msg = f"{judged.name}: the ratings name {len(names)} systems; a ranking needs two or more"
        raise InputError(msg)
    place = {name: at for at, name in enumerate(names)}
    systems = np.array([place[name] for name in judged.systems], np.int64)
    rated = ~np.isnan(judged.ratings).all(axis=1)
    human = np.full(len(systems), np.nan)
    human[rated] = np.nanmean(judged.ratings[rated], axis=1)
    images = image_numbers(judged.images)
    weights = drawn(images, resamples, seed)
    overall = _means(human, systems, len(names), None)
    spearman, intervals, means = {}, {}, {}
    for metric, scores in done.scores.items():
        own = _means(scores, systems, len(names), None)
        spearman[metric] = _spearman(own, overall)
        again = [
            _spearman(_means(scores, systems, len(names), one[images]), _means(human, systems, len(names), one[images]))
            for one in weights
        ]
        intervals[metric] = percentiles(np.array(again, np.float64))
        means[metric] = own
    order = np.argsort(-overall, kind="stable").tolist()
    return Ranking(
        tuple(names[at] for at in order),
        tuple(float(overall[at]) for at in order),
        {metric: tuple(float(own[at]) for at in order) for metric, own in means.items()},
        spearman,
        intervals,
    )


def _means(values: Numbers, systems: Labels, count: int, weights: Numbers | None) -> Numbers:
    held = ~np.isnan(values)
    w = np.ones(len(values)) if weights is None else weights
    sums = np.bincount(systems[held], (values * w)[held], count)
    sizes = np.bincount(systems[held], w[held], count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / sizes)


def _spearman(x: Numbers, y: Numbers) -> float:
    held = ~np.isnan(x) & ~np.isnan(y)
    return kendall(x[held], y[held]).spearman if held.sum() > 1 else math.nan
