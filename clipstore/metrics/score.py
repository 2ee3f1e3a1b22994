"""A score and its signature: the numbers of each item, and how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clipstore.arrays import Scores
    from clipstore.items import ItemKey


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """How a number was made: every choice that changes it, in a fixed order.

    Two scores may stand in one column only when their signatures are equal.

    Parameters
    ----------
    metric
        The metric as tables show it, such as ``CLIP-S``.
    fields
        Name and value of each choice.
    note
        A warning that goes wherever the signature goes, such as ``tiny: not for reporting``.
    """

    metric: str
    fields: tuple[tuple[str, str], ...]
    note: str = ""

    def __str__(self) -> str:
        text = "|".join([self.metric, *(f"{name}:{value}" for name, value in self.fields)])
        return f"{text}|{self.note}" if self.note else text

    def to_dict(self) -> dict[str, str]:
        """Return the fields as a plain dict, the metric first."""
        return {"metric": self.metric, **dict(self.fields), **({"note": self.note} if self.note else {})}


@final
@dataclass(frozen=True, eq=False)
class Score:
    """One metric of one system: the numbers of each item, then their mean.

    Parameters
    ----------
    keys
        The user's own image ids, in the order of the eval set.
    per_item
        One number an item, float32, shape (items,); NaN where the metric is not defined.
    signature
        How the numbers were made.
    """

    keys: tuple[ItemKey, ...]
    per_item: Scores
    signature: Signature

    @cached_property
    def _row(self) -> dict[ItemKey, int]:
        return {key: row for row, key in enumerate(self.keys)}

    @property
    def n(self) -> int:
        """How many items have a number."""
        return int(np.count_nonzero(~np.isnan(self.per_item)))

    @property
    def mean(self) -> float | None:
        """The mean over the items that have a number; None where none has."""
        kept = self.per_item[~np.isnan(self.per_item)]
        return float(kept.mean(dtype=np.float64)) if len(kept) else None

    def __getitem__(self, key: ItemKey) -> float | None:
        """Return the number of one item by the user's own id, None where it is not defined."""
        value = float(self.per_item[self._row[key]])
        return None if np.isnan(value) else value

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[ItemKey]:
        return iter(self.keys)

    def to_dict(self) -> dict[ItemKey, float | None]:
        """Return id -> number, None where it is not defined."""
        values = self.per_item.astype(float).tolist()
        return {key: None if value != value else value for key, value in zip(self.keys, values, strict=True)}  # noqa: PLR0124 - NaN
