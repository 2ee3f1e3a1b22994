"""What choosing bought: the picks against the first beam, a random candidate and the best there is, by N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from clipstore.significance import Settings, analyse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.items import ItemKey
    from clipstore.rerank.ragged import Numbers, Ragged
    from clipstore.significance import Interval

SHOWN: Final = 10
"""How many of the largest gains and losses are kept."""

_ALL = 10  # a curve holds every N up to here, then about _MORE
_MORE = 8


@final
@dataclass(frozen=True, slots=True)
class Value:
    """A mean over images and its interval from resampled images; None where there is none."""

    mean: float | None
    ci: Interval | None

    def to_dict(self) -> dict[str, object]:
        """Return ``mean`` and ``ci``."""
        return {"mean": self.mean, "ci": None if self.ci is None else [self.ci.low, self.ci.high]}


@final
@dataclass(frozen=True, slots=True)
class Point:
    """The curve at ``n`` candidates: the pick of ``n``, the best of ``n``, and any of ``n``."""

    n: int
    picked: Value
    oracle: Value
    random: Value

    def to_dict(self) -> dict[str, object]:
        """Return ``n`` and the three values."""
        values = {"picked": self.picked, "oracle": self.oracle, "random": self.random}
        return {"n": self.n, **{name: value.to_dict() for name, value in values.items()}}


@final
@dataclass(frozen=True, slots=True)
class Change:
    """One image where the pick differs from the first candidate."""

    key: ItemKey
    first: str
    picked: str
    first_value: float
    picked_value: float

    @property
    def difference(self) -> float:
        """What the pick gained by the judge."""
        return self.picked_value - self.first_value

    def to_dict(self) -> dict[str, object]:
        """Return the two captions and their values."""
        return {
            "image": self.key,
            "first": self.first,
            "picked": self.picked,
            "first_value": self.first_value,
            "picked_value": self.picked_value,
        }


@final
@dataclass(frozen=True, slots=True)
class Gain:
    """What choosing bought, by one judge.

    Parameters
    ----------
    judge
        The signature of the numbers, such as ``CLIP-S|model:...``.
    upper_bound
        Whether the judge shares its model with the selector: then the gain is the most that it can be.
    note
        What to say beside the numbers.
    curve_note
        What to say beside the curve: empty where it holds for lists of N alone.
    resamples
        Of the images, for the intervals; 0 where these are Student's, below 100 images.
    n
        Images.
    ordered
        True: beams, the curve is over the first N. False: samples, the curve is the unbiased best of N.
    first, random, picked, oracle
        Mean of the first candidate, of all, of the picks, of each image's best.
    over_first, over_random, regret
        Picked less first, picked less random, oracle less picked.
    curve
        One point an N.
    changed
        Share of images whose picked caption is not the first.
    gains, losses
        The images that gained and lost most, the most first.
    """

    judge: str
    upper_bound: bool
    note: str
    curve_note: str
    resamples: int
    n: int
    ordered: bool
    first: Value
    random: Value
    picked: Value
    oracle: Value
    over_first: Value
    over_random: Value
    regret: Value
    curve: tuple[Point, ...]
    changed: float
    gains: tuple[Change, ...]
    losses: tuple[Change, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the gain as JSON values."""
        values = ("first", "random", "picked", "oracle", "over_first", "over_random", "regret")
        return {
            "judge": self.judge,
            "upper_bound": self.upper_bound,
            "note": self.note,
            "curve_note": self.curve_note,
            "resamples": self.resamples,
            "n": self.n,
            "ordered": self.ordered,
            **{name: getattr(self, name).to_dict() for name in values},
            "curve": [point.to_dict() for point in self.curve],
            "changed": self.changed,
            "gains": [change.to_dict() for change in self.gains],
            "losses": [change.to_dict() for change in self.losses],
        }


def curve_sizes(most: int) -> list[int]:
    """Return the N of a curve: every one up to ten, then about eight more up to ``most``."""
    dense = list(range(1, min(most, _ALL) + 1))
    more = np.geomspace(_ALL, most, _MORE + 1)[1:].round().astype(int).tolist() if most > _ALL else []
    return sorted({*dense, *more})


def best_of(values: Numbers, standing: Numbers, lists: Ragged, sizes: Sequence[int]) -> Numbers:
    """Return each image's expected value of the pick among N random candidates of its M.

    ``E[y_N] = sum_k C(k-1, N-1) / C(M, N) y_(k)``, y in the selector's ascending order: unbiased,
    over all subsets without drawing any. Where M < N, all M are used.

    Parameters
    ----------
    values
        The judge's y, float64, shape (total,).
    standing
        The selector's scores, shape (total,).
    lists
        Which belong together.
    sizes
        The N asked for.

    Returns
    -------
    Numbers
        float64, shape (len(sizes), lists).
    """
    ordered = values[lists.order(standing)]
    m = lists.counts[lists.owners]
    k = m - lists.places  # the best has k = M
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(m.max(initial=1)) + 1)))])
    out = np.empty((len(sizes), len(lists)))
    for row, size in enumerate(sizes):
        n = np.minimum(size, m)
        rest = np.maximum(k - n, 0)
        weight = np.exp(logs[k - 1] - logs[n - 1] - logs[rest] - logs[m] + logs[n] + logs[m - n])
        weight[k < n] = 0
        out[row] = lists.sums(weight * ordered)
    return out


def first_of(values: Numbers, standing: Numbers, lists: Ragged, sizes: Sequence[int]) -> Numbers:
    """Return each image's value of the pick among its first N candidates; shape (len(sizes), lists)."""
    return np.stack([values[lists.best(np.where(lists.places < size, standing, -np.inf))] for size in sizes])


def mean_of_first(values: Numbers, lists: Ragged, sizes: Sequence[int]) -> Numbers:
    """Return each image's mean over its first N candidates; shape (len(sizes), lists)."""
    rows = [lists.sums(np.where(lists.places < size, values, 0)) / np.minimum(size, lists.counts) for size in sizes]
    return np.stack(rows)


def measured(
    values: Numbers,
    standing: Numbers,
    lists: Ragged,
    keys: Sequence[ItemKey],
    texts: Sequence[str],
    *,
    ordered: bool,
    judge: str,
    upper_bound: bool,
    note: str,
    curve_note: str = "",
) -> Gain:
    """Return what choosing by ``standing`` bought in ``values``: see :class:`Gain` for the parts.

    Parameters
    ----------
    values
        The judge's number of each candidate, float64, shape (total,); NaN drops the image.
    standing
        The selector's order as numbers, larger is better, shape (total,).
    lists, keys, texts
        The candidates.
    ordered, judge, upper_bound, note, curve_note
        As in :class:`Gain`.
    """
    sizes = curve_sizes(int(lists.counts.max(initial=1)))
    along = first_of if ordered else best_of
    picks = lists.best(standing)
    means = lists.means(values)
    fixed = np.stack([values[lists.starts], means, values[picks], lists.maxima(values)])
    shares = mean_of_first(values, lists, sizes) if ordered else np.tile(means, (len(sizes), 1))
    rows = np.concatenate(
        [fixed, along(values, standing, lists, sizes), along(values, values, lists, sizes), shares], dtype=np.float64
    )
    rows = rows[:, ~np.isnan(rows).any(axis=0)]
    distinct, at = np.unique(rows[4:], axis=0, return_inverse=True)  # of samples, any candidate is the same at each N
    found = analyse(np.concatenate([rows[:4], distinct]), [(2, 0), (2, 1), (3, 2)], Settings(test="ttest"))
    each = [*range(4), *(4 + at.reshape(-1)).tolist()]
    point = [Value(found.systems[row].value, found.systems[row].ci) for row in each]
    pair = [Value(one.delta, one.ci) for one in found.pairs]
    steps = len(sizes)
    changed, gains, losses = _changes(fixed[0], fixed[2], picks, lists, keys, texts)
    return Gain(
        judge=judge,
        upper_bound=upper_bound,
        note=note,
        curve_note=curve_note,
        resamples=0 if (ci := point[0].ci) is None or ci.kind == "student" else found.settings.resamples,
        n=rows.shape[1],
        ordered=ordered,
        first=point[0],
        random=point[1],
        picked=point[2],
        oracle=point[3],
        over_first=pair[0],
        over_random=pair[1],
        regret=pair[2],
        curve=tuple(
            Point(size, point[4 + i], point[4 + steps + i], point[4 + 2 * steps + i]) for i, size in enumerate(sizes)
        ),
        changed=changed,
        gains=gains,
        losses=losses,
    )


def _changes(
    first: Numbers, picked: Numbers, picks: np.ndarray, lists: Ragged, keys: Sequence[ItemKey], texts: Sequence[str]
) -> tuple[float, tuple[Change, ...], tuple[Change, ...]]:
    """Return the share of images with another caption, and the largest gains and losses."""
    other = np.array(
        [texts[a] != texts[b] for a, b in zip(picks.tolist(), lists.starts.tolist(), strict=True)], np.bool_
    )
    difference = np.where(other & ~np.isnan(picked - first), picked - first, 0)

    def change(row: int) -> Change:
        start = int(lists.starts[row])
        return Change(keys[row], texts[start], texts[int(picks[row])], float(first[row]), float(picked[row]))

    rising = np.argsort(difference, kind="stable")[:SHOWN].tolist()
    falling = np.argsort(-difference, kind="stable")[:SHOWN].tolist()
    gains = tuple(change(row) for row in falling if difference[row] > 0)
    losses = tuple(change(row) for row in rising if difference[row] < 0)
    return float(other.mean()) if len(other) else 0.0, gains, losses
