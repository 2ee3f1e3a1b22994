"""Rankings: the same systems on the same eval set under several models, each with its own scores and signatures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.evaluate.results import SCHEMA
from clipstore.tables import Column, Table, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.evaluate.results import Scores
    from clipstore.store import Failure


@final
@dataclass(frozen=True, eq=False)
class Rankings:
    """Scores under several models, one group of columns each: no column mixes models or recipes.

    Parameters
    ----------
    models
        Name of each model as messages show it.
    scores
        Of each model, the same systems in the same order.
    """

    models: tuple[str, ...]
    scores: tuple[Scores, ...]

    def ranks(self) -> list[list[int | None]]:
        """Return the rank of each system under each model, shape (models, systems).

        By RefCLIP-S (the recipe's own form of it), without references by CLIP-S, over the images that every
        system has a score for; equal means share the better rank, a system without any score has none.
        """
        out: list[list[int | None]] = []
        for means in self._means():
            known = [value for value in means if value is not None]
            out.append([None if value is None else 1 + sum(other > value for other in known) for value in means])
        return out

    def _means(self) -> list[list[float | None]]:
        return [_common_means(one)[0] for one in self.scores]

    def turned(self) -> list[tuple[int, int]]:
        """Return of each model but the first how many pairs of systems it turns round, and how many there are."""
        first, *others = self._means()
        return [_turned(first, means) for means in others]

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Images that some model could not get, each once."""
        return tuple(dict.fromkeys(failure for one in self.scores for failure in one.failures))

    def table(self) -> Table:
        """Return one row a system: n and words, then for each model its metrics, the rank, captions cut."""
        columns = [Column("system", "left"), Column("n"), Column("words")]
        cells: list[list[str]] = []
        for system in self.scores[0].systems:
            n = str(system.n) if system.n == system.of else f"{system.n}/{system.of}"
            cells.append([system.name, n, "-" if system.words is None else f"{system.words:.1f}"])
        for model, one, ranks in zip(self.models, self.scores, self.ranks(), strict=True):
            names = [signature.metric for signature in one.signatures.values()]
            columns += [Column(name, group=model) for name in (*names, "rank", "cut")]
            for row, system, rank in zip(cells, one.systems, ranks, strict=True):
                means = [system.metrics[metric].mean for metric in one.signatures]
                row += ["-" if value is None else f"{value:.4f}" for value in means]
                row += ["-" if rank is None else str(rank), str(system.cut)]
        return Table(tuple(columns), tuple(map(tuple, cells)), (*self._notes(), *self._signatures()))

    def _notes(self) -> list[str]:
        first, *others = self.models
        by, *others_by = [one.signatures[lead(one)].metric for one in self.scores]
        notes = [
            f"{model}: ranked over the {common:,} of {one.of:,} images that all systems have"
            for model, one in zip(self.models, self.scores, strict=True)
            for common in [_common_means(one)[1]]
            if common < max((system.metrics[lead(one)].n for system in one.systems), default=0)
        ]
        for model, own, (turned, pairs) in zip(others, others_by, self.turned(), strict=True):
            if not pairs:
                continue
            why = f"by {by}" if own == by else f"by {own} under {model}, by {by} under {first}"
            notes.append(
                f"{model}: {turned} of {pairs} pairs of systems stand the other way round than under {first} ({why})"
            )
        return notes

    def _signatures(self) -> list[str]:
        return [str(signature) for one in self.scores for signature in one.signatures.values()]

    def __str__(self) -> str:
        return text(self.table())

    def to_dict(self) -> dict[str, object]:
        """Return the JSON: the JSON of each model's scores by the model's name, with each system's rank."""
        models = []
        for model, one, ranks in zip(self.models, self.scores, self.ranks(), strict=True):
            ranked = {system.name: rank for system, rank in zip(one.systems, ranks, strict=True)}
            models.append({"model": model, "ranked_by": lead(one).replace("-", "_"), "ranks": ranked, **one.to_dict()})
        return {"schema": SCHEMA, "models": models}


def _common_means(scores: Scores) -> tuple[list[float | None], int]:
    """Return each system's mean over the images that all have, and how many these are; None without any score."""
    values = np.array([system.metrics[lead(scores)].per_item for system in scores.systems], np.float64)
    there = np.isfinite(values)
    some = [bool(row.any()) for row in there]
    common = there[some].all(axis=0)
    means = [float(row[common].mean()) if one and common.any() else None for row, one in zip(values, some, strict=True)]
    return means, int(common.sum())


def lead(scores: Scores) -> str:
    """Return the metric that systems are ranked by: the last of a recipe, which reads the most."""
    return list(scores.signatures)[-1]


def _turned(first: Sequence[float | None], second: Sequence[float | None]) -> tuple[int, int]:
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    signs = [(a - c) * (b - d) for (a, b), (c, d) in combinations(both, 2)]
    return sum(sign < 0 for sign in signs), len(signs)
