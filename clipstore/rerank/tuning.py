"""The weight of ``mix``, chosen on development images: a grid, cross-fitted by image, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from clipstore import keys as content_keys
from clipstore.errors import InputError
from clipstore.rerank import methods
from clipstore.significance import Settings, analyse
from clipstore.significance.bootstrap import resampled_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids
    from clipstore.items import ItemKey
    from clipstore.rerank.ragged import Numbers, Ragged
    from clipstore.significance import Interval

GRID: Final = tuple(step / 20 for step in range(21))
"""The weights tried: 0 to 1 in steps of 0.05."""

FOLDS: Final = 5


@final
@dataclass(frozen=True, slots=True)
class Tuned:
    """A weight and how it was found.

    Parameters
    ----------
    weight
        The weight of CLIP-S that gave the best mean target on all development images.
    low, high
        The middle 95 % of the weights that resampled images would have chosen.
    target
        What was raised, such as ``cider``.
    source
        The development file.
    n
        Development images.
    value, ci
        Mean target of cross-fitted picks: each image's weight was chosen on other images.
    first
        Mean target of the first candidates.
    grid
        Mean target at each weight of :data:`GRID`.
    """

    weight: float
    low: float
    high: float
    target: str
    source: str
    n: int
    value: float
    ci: Interval | None
    first: float
    grid: tuple[float, ...]

    def described(self) -> str:
        """Return the line that says what was found."""
        interval = "" if self.ci is None else f" ({self.ci.low:.4f} to {self.ci.high:.4f})"
        return (
            f"weight of CLIP-S {self.weight:g} (95% of resamples: {self.low:g} to {self.high:g}), tuned on "
            f"{self.source}: {self.n:,} images, {self.target} {self.value:.4f}{interval} cross-fitted, "
            f"first candidates {self.first:.4f}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the tuning as JSON values."""
        ci = None if self.ci is None else [self.ci.low, self.ci.high]
        names = ("weight", "target", "source", "n", "value", "first")
        return {
            **{name: getattr(self, name) for name in names},
            "weight_range": [self.low, self.high],
            "ci": ci,
            "grid": dict(zip(map(str, GRID), self.grid, strict=True)),
        }


def fold_of(keys: Sequence[ItemKey]) -> Ids:
    """Return the fold of each image, by a hash of its id: no order of the images changes it."""
    return np.array([content_keys.text_id(str(key)) % FOLDS for key in keys], np.int64)


def best_weight(means: Numbers) -> int:
    """Return the place in :data:`GRID` of the best mean: of equals the nearest to 0.5, then the smaller."""
    near = np.argsort(np.abs(np.array(GRID) - 0.5), kind="stable")
    return int(near[int(np.argmax(np.round(means[near], 12)))])


def tuned(
    clip: Numbers,
    logp: Numbers,
    target: Numbers,
    lists: Ragged,
    texts: Ids,
    keys: Sequence[ItemKey],
    *,
    name: str,
    source: str,
) -> Tuned:
    """Choose the weight of ``mix`` that raises a target most.

    Parameters
    ----------
    clip, logp, target
        Of each development candidate, float64, shape (total,).
    lists, texts, keys
        Which belong together, the number of each text, and the images' ids.
    name, source
        What to call the target and the file.

    Raises
    ------
    InputError
        When fewer than two images have a target.
    """
    clip_z, logp_z = methods.zscores(clip, lists, texts), methods.zscores(logp, lists, texts)
    rows = []
    for weight in GRID:
        scores = methods.weighed(clip_z, logp_z, weight) if 0 < weight < 1 else (clip if weight else logp)
        rows.append(target[lists.best(scores)])
    values = np.stack(rows)
    held = ~np.isnan(values).any(axis=0)
    values, folds, first = values[:, held], fold_of(keys)[held], target[lists.starts][held]
    n = values.shape[1]
    require(n, name, source)
    means = values.mean(axis=1)
    fitted = _cross_fitted(values, folds)
    usual = Settings()
    draws = resampled_means(values, usual.resamples, usual.seed)
    chosen = np.array([GRID[best_weight(column)] for column in draws.T])
    low, high = np.quantile(chosen, [(1 - usual.level) / 2, (1 + usual.level) / 2])
    estimate = analyse(fitted[None], (), usual).systems[0]
    return Tuned(
        weight=GRID[best_weight(means)],
        low=float(low),
        high=float(high),
        target=name,
        source=source,
        n=n,
        value=float(fitted.mean()),
        ci=estimate.ci,
        first=float(first.mean()),
        grid=tuple(means.tolist()),
    )


def require(n: int, name: str, source: str) -> None:
    """Refuse fewer than two images that have a target.

    Raises
    ------
    InputError
        With their number.
    """
    if n < 2:
        msg = f"{source}: {n} development images have a {name}: tuning needs at least two, with references"
        raise InputError(msg)


def _cross_fitted(values: Numbers, folds: Ids) -> Numbers:
    """Return the target of each image under the weight that the images of the other folds choose."""
    out = np.empty(values.shape[1])
    for fold in np.unique(folds).tolist():
        others = folds != fold
        place = best_weight(values[:, others].mean(axis=1)) if others.any() else GRID.index(0.5)
        out[~others] = values[place, ~others]
    return out
