"""What the text metrics give back: numbers by image, the corpus value, and what could not be had."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from clipstore.metrics.text.bleu import ORDERS, Values, bleu_value
from clipstore.metrics.text.meteor import meteor_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clipstore.items import ItemKey

CORPUS: Mapping[str, Callable[[Values], Values]] = {
    **{f"bleu-{order}": partial(bleu_value, order=order) for order in range(1, ORDERS + 1)},
    "meteor": meteor_value,
}
"""Corpus metrics: the value as a function of summed statistics, for one image or many."""


@final
@dataclass(frozen=True, eq=False)
class TextScore:
    """One text metric of one system.

    Parameters
    ----------
    metric
        Its canonical name.
    keys
        Every image of the set, in its order.
    per_item
        float64, shape (items,); NaN where there is no caption or no reference. Raw, not x100.
    statistics
        Additive statistics of each item for a corpus metric, float64, shape (items, k), NaN
        rows as above; None where the value is the mean of the items.
    fields
        Name and value of what a signature must say of it, besides the set.
    """

    metric: str
    keys: tuple[ItemKey, ...]
    per_item: Values
    statistics: Values | None
    fields: tuple[tuple[str, str], ...]

    @property
    def aggregate(self) -> Literal["mean", "corpus"]:
        """Whether the value is a mean of items or a function of summed statistics."""
        return "mean" if self.statistics is None else "corpus"

    @property
    def n(self) -> int:
        """How many items have a number."""
        return int(np.count_nonzero(~np.isnan(self.per_item)))

    @property
    def value(self) -> float | None:
        """The number that a table prints: the corpus value, or the mean; None without items."""
        held = ~np.isnan(self.per_item)
        if not held.any():
            return None
        if self.statistics is None:
            return float(self.per_item[held].mean())
        return float(CORPUS[self.metric](self.statistics[held].sum(axis=0)))

    def to_dict(self) -> dict[ItemKey, float | None]:
        """Return id -> number, None where it is not defined."""
        values = self.per_item.tolist()
        return {key: None if np.isnan(one) else one for key, one in zip(self.keys, values, strict=True)}


@final
@dataclass(frozen=True, eq=False)
class TextScores:
    """The text metrics of several systems on one set.

    Parameters
    ----------
    systems
        System -> metric -> score; metrics in the order asked, those that could not be had left out.
    problems
        Metric -> one line that says why it could not be had.
    """

    systems: Mapping[str, Mapping[str, TextScore]]
    problems: Mapping[str, str]
