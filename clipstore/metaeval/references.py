"""Reference curves: agreement of each metric against the number of references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore.errors import InputError
from clipstore.metaeval import agreement, svg
from clipstore.metaeval.scoring import Rows, score_rows
from clipstore.metrics.names import SHOWN
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.metaeval.protocols import Ratings, References
    from clipstore.metaeval.results import RatingResult
    from clipstore.metaeval.scoring import Sources

SEED: Final = 0


@final
@dataclass(frozen=True, eq=False)
class Curve:
    """Agreement by number of references.

    Parameters
    ----------
    sizes
        The numbers of references.
    results
        Metric -> its result at each size.
    """

    sizes: tuple[int, ...]
    results: Mapping[str, Sequence[RatingResult]]

    def taus(self) -> dict[str, list[float]]:
        """Return metric -> the benchmark's tau at each size, raw."""
        return {name: [float(getattr(one.agreement, one.tau)) for one in own] for name, own in self.results.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"references": list(self.sizes), "tau": self.taus()}

    def table(self) -> Table:
        """Return the table: a row a metric, a column a size."""
        columns = (Column("metric", "left"), *(Column(f"{size} ref{'s' if size > 1 else ''}") for size in self.sizes))
        rows = tuple(
            (SHOWN.get(name, name), *(f"{100 * value:.2f}" for value in own)) for name, own in self.taus().items()
        )
        return Table(columns, rows, ("agreement against the number of references of each row, x100",))

    def svg(self) -> str:
        """Return the curves as SVG."""
        shown = {SHOWN.get(name, name): own for name, own in self.taus().items()}
        return svg.lines(shown, [str(size) for size in self.sizes], "Agreement by references", "references", "tau")


def curve(
    judged: Ratings, metrics: Sequence[str], sources: Sources, sizes: Sequence[int] | None = None, seed: int = SEED
) -> Curve:
    """Evaluate metrics on 1, 2, ... references of each row, each set part of the next.

    Parameters
    ----------
    judged
        Ratings with references.
    metrics
        Canonical names.
    sources
        Where scores come from.
    sizes
        Numbers of references; None: 1 up to the most that a row has.
    seed
        Of the order in which an image's references are taken.

    Raises
    ------
    InputError
        When no row has references, or no metric is computed.
    """
    if not metrics:
        msg = f"{judged.name}: a reference curve needs a metric that is computed here, not scores from elsewhere alone"
        raise InputError(msg)
    most = max(map(len, judged.references))
    if not most:
        msg = f"{judged.name}: a reference curve needs references, and there are none"
        raise InputError(msg)
    shuffled = _shuffled(judged.references, seed)
    plain = replace(sources, external={}, functions={}, scorers={})
    made: dict[str, list[RatingResult]] = {}
    chosen = tuple(sizes or range(1, most + 1))
    for size in chosen:
        rows = Rows(judged.images, judged.captions, [own[:size] for own in shuffled])
        for name, values in score_rows(rows, metrics, plain).values.items():
            made.setdefault(name, []).append(agreement.rated(name, values, judged, 0, seed))
    return Curve(chosen, made)


def _shuffled(references: Sequence[References], seed: int) -> list[References]:
    """Return each row's references in a random order, the same for equal references."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    known: dict[References, References] = {}
    for own in references:
        if own not in known:
            known[own] = tuple(own[at] for at in rng.permutation(len(own)).tolist())
    return [known[own] for own in references]
