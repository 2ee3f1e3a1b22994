"""The two protocols: ratings of captions by judges, and pairs of captions of which people chose one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, final

import numpy as np
import numpy.typing as npt

from clipstore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Numbers = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
References = tuple[str, ...]

Tau = Literal["tau_b", "tau_c"]
"""Kendall's tau with the ties in both variables (b), or by the number of distinct values (c)."""

Ties = Literal["random", "half", "wrong", "b"]
"""A pair whose two scores are equal: a fair coin, half a point, no point, or a vote for B."""

TIES: Final[tuple[Ties, ...]] = ("random", "half", "wrong", "b")


@final
@dataclass(frozen=True, eq=False)
class Ratings:
    """Captions that people rated.

    Parameters
    ----------
    name
        The benchmark.
    images
        Of each row (a caption of an image), the image's name as the files have it.
    captions
        Of each row, as it came, white space joined.
    references
        Of each row.
    ratings
        float64, shape (rows, judges); NaN where a judge gave none.
    tau
        Which of the two its published tables print.
    excluded
        Reason -> how many rows or references were left out for it.
    systems
        Who wrote each row's caption; empty where nobody says.
    notes
        What a reader of the numbers must know.
    """

    name: str
    images: tuple[str, ...]
    captions: tuple[str, ...]
    references: tuple[References, ...]
    ratings: Numbers
    tau: Tau = "tau_c"
    excluded: Mapping[str, int] = field(default_factory=dict)
    systems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(self.name, self.images, self.captions, self.references, range(len(self.ratings)))

    @property
    def protocol(self) -> Literal["ratings"]:
        """Its name in results."""
        return "ratings"

    @property
    def n(self) -> int:
        """How many single ratings there are."""
        return int(np.count_nonzero(~np.isnan(self.ratings)))

    def flat(self) -> tuple[Labels, Numbers]:
        """Return each single rating: its row, int64, and its value, float64; both shape (ratings,)."""
        rows, judges = np.nonzero(~np.isnan(self.ratings))
        return rows.astype(np.int64), self.ratings[rows, judges]


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of captions of one image, with the one that people chose.

    Parameters
    ----------
    name
        The benchmark.
    images
        Of each pair, the image's name as the files have it.
    first, second
        The two captions, A and B.
    draws
        The references of each pair, once a draw; accuracies are means over the draws.
    labels
        int64, shape (pairs,): 0 where A won, 1 where B did, -1 where the vote was a tie
        (then each draw tosses a coin).
    categories
        Of each pair.
    excluded
        Reason -> how many pairs or references were left out for it.
    notes
        What a reader of the numbers must know.
    """

    name: str
    images: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    draws: tuple[tuple[References, ...], ...]
    labels: Labels
    categories: tuple[str, ...]
    excluded: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for references in self.draws:
            _check(self.name, self.images, self.first, self.second, references, self.labels, self.categories)
        if not self.draws:
            msg = f"{self.name}: there is no draw of references; give one with empty tuples where there are none"
            raise InputError(msg)

    @property
    def protocol(self) -> Literal["pairs"]:
        """Its name in results."""
        return "pairs"

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.images)


def _check(name: str, *columns: Sequence[object] | Labels | range) -> None:
    lengths = {len(column) for column in columns}
    if lengths == {0}:
        msg = f"{name}: no row is left to evaluate on"
        raise InputError(msg)
    if len(lengths) != 1:
        msg = f"{name}: columns of different lengths: {', '.join(map(str, sorted(lengths)))}"
        raise InputError(msg)
