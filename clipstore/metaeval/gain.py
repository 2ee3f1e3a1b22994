"""Information gain: which metrics, added one by one to a linear regression, explain people best.

Greedy forward selection by R^2 under 5-fold cross-validation, over bootstrap resamples:
Hessel et al. 2021, section 4.6. Needs scikit-learn (``clipstore[metaeval]``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore.errors import InputError
from clipstore.metaeval import svg
from clipstore.metaeval.intervals import image_numbers
from clipstore.metaeval.protocols import Ratings
from clipstore.metrics.names import SHOWN
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.metaeval.protocols import Labels, Numbers
    from clipstore.metaeval.results import MetaEvaluation

FOLDS: Final = 5
RESAMPLES: Final = 10


@final
@dataclass(frozen=True, eq=False)
class Gain:
    """The steps of the selection.

    Parameters
    ----------
    metrics
        All that took part.
    picks
        For each resample the order in which metrics were taken.
    scores
        R^2 after each step, float64, shape (resamples, metrics).
    n, dropped
        Ratings used, and those left out because some metric has no score there.
    """

    metrics: tuple[str, ...]
    picks: tuple[tuple[str, ...], ...]
    scores: Numbers
    n: int
    dropped: int

    def frequencies(self, step: int) -> dict[str, int]:
        """Return how often each metric was taken at a step, the most frequent first."""
        return dict(Counter(order[step] for order in self.picks).most_common())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        steps = [
            {"step": at + 1, "r2": float(self.scores[:, at].mean()), "picks": self.frequencies(at)}
            for at in range(len(self.metrics))
        ]
        return {"n": self.n, "dropped": self.dropped, "resamples": len(self.picks), "folds": FOLDS, "steps": steps}

    def table(self) -> Table:
        """Return the table: a row a step."""
        columns = (Column("step"), Column("taken", "left"), Column("times"), Column("R^2"), Column("others", "left"))
        rows = []
        for at in range(len(self.metrics)):
            (first, times), *others = self.frequencies(at).items()
            said = ", ".join(f"{SHOWN.get(name, name)} {count}" for name, count in others)
            r2 = self.scores[:, at]
            rows.append((f"{at + 1}", SHOWN.get(first, first), f"{times}/{len(self.picks)}", f"{r2.mean():.4f}", said))
        how = f"linear regression, {FOLDS}-fold cross-validation, {len(self.picks)} resamples of images"
        used = f"{self.n:,} ratings, {self.dropped:,} left out for a missing score"
        notes = (f"information gain: {how}; {used}",)
        return Table(columns, tuple(rows), notes)

    def svg(self) -> str:
        """Return the curve of mean R^2 as SVG."""
        marks = [SHOWN.get(name := next(iter(self.frequencies(at))), name) for at in range(len(self.metrics))]
        means = {"mean R^2": self.scores.mean(axis=0).tolist()}
        return svg.lines(means, marks, "Information gain", "metric taken most often at this step", "R^2")


def information_gain(done: MetaEvaluation, *, resamples: int = RESAMPLES, seed: int = 0) -> Gain:
    """Select metrics of an evaluation on ratings.

    Parameters
    ----------
    done
        With the scores of two metrics or more.
    resamples
        Of images.
    seed
        Of resamples and folds.

    Raises
    ------
    InputError
        When it holds pairs or fewer than two metrics, or scikit-learn is not installed.
    """
    judged = done.judged
    if not isinstance(judged, Ratings) or len(done.scores) < 2:
        msg = f"{judged.name}: information gain needs ratings and two metrics or more, here are {len(done.scores)}"
        raise InputError(msg)
    rows, ratings = judged.flat()
    images = image_numbers([judged.images[row] for row in rows.tolist()])
    return select({name: values[rows] for name, values in done.scores.items()}, ratings, images, resamples, seed)


def select(
    scores: Mapping[str, Numbers], ratings: Numbers, images: Labels, resamples: int = RESAMPLES, seed: int = 0
) -> Gain:
    """Select metrics by forward steps.

    Parameters
    ----------
    scores
        Metric -> float64, shape (ratings,); a rating that some metric has no score for is left out for all.
    ratings
        float64, shape (ratings,).
    images
        The image of each rating, int64; images are the resampled unit.
    resamples, seed
        As in :func:`information_gain`.
    """
    linear, models = _scikit()
    names = tuple(scores)
    table = np.stack([scores[name] for name in names], axis=1)
    held = ~np.isnan(table).any(axis=1)
    table, ratings, images = table[held], ratings[held], images[held]
    if len(ratings) < 2 * FOLDS:
        msg = f"information gain needs {2 * FOLDS} ratings that every metric has a score for, not {len(ratings)}"
        raise InputError(msg)
    scale = table.std(axis=0)
    table = (table - table.mean(axis=0)) / np.where(scale > 0, scale, 1)
    by_image = [np.flatnonzero(images == one) for one in np.unique(images)]
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    picks, curves = [], []
    for _ in range(resamples):
        rows = np.concatenate([by_image[one] for one in rng.integers(0, len(by_image), len(by_image))])
        folds = models.KFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))

        def r2(columns: Sequence[int], rows: Labels = rows, folds: Any = folds) -> float:
            found = models.cross_val_score(linear, table[rows][:, columns], ratings[rows], cv=folds, scoring="r2")
            return float(found.mean())

        order, curve = _forward(r2, len(names))
        picks.append(tuple(names[at] for at in order))
        curves.append(curve)
    return Gain(names, tuple(picks), np.array(curves), len(ratings), int((~held).sum()))


def _forward(r2: Any, count: int) -> tuple[list[int], list[float]]:
    """Take, at each step, the column that adds most."""
    order: list[int] = []
    curve: list[float] = []
    while len(order) < count:
        tried = {at: r2([*order, at]) for at in range(count) if at not in order}
        best = max(tried, key=lambda at: (tried[at], -at))
        order.append(best)
        curve.append(tried[best])
    return order, curve


def _scikit() -> tuple[Any, Any]:
    try:
        linear = import_module("sklearn.linear_model")
        models = import_module("sklearn.model_selection")
    except ImportError as error:
        msg = "information gain needs scikit-learn: install it with `pip install 'clipstore[metaeval]'`"
        raise InputError(msg) from error
    return linear.LinearRegression(), models
