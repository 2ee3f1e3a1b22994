"""Measured systems made of plain numbers: no store, no encoder."""

from __future__ import annotations

import numpy as np

from clipstore.evaluate.measured import Items, Measured, MeasuredSystem
from clipstore.evaluate.measures import Measure
from clipstore.metrics.score import Signature

FIELDS = (("model", "fake"), ("w", "2.5"), ("dtype", "fp32"), ("set", "9f2c11ab"), ("v", "0"))


def measured(scores, metric="clip-s", *, keys=None, name=None, texts=True, tags=(), references=(), **more):
    """Return systems with these scores (name -> numbers, NaN where there is none) under one metric."""
    values = np.array(list(scores.values()), np.float32)
    keys = tuple(keys or (f"img{row}" for row in range(values.shape[1])))
    systems = tuple(
        MeasuredSystem(
            system,
            f"{place:064x}",
            int((~np.isnan(values[place])).sum()),
            tuple(None if np.isnan(one) else f"{system} says {row}" for row, one in enumerate(values[place]))
            if texts
            else (),
            0,
            3.0,
        )
        for place, system in enumerate(scores)
    )
    measure = Measure(metric, Signature({"clip-s": "CLIP-S"}.get(metric, metric), FIELDS), values, **more)
    items = Items(keys, references, tags, (), (None,) * len(keys))
    return Measured(name, "9f2c11ab" * 8, items, len(keys), (), systems, {metric: measure})


def drawn(systems, items, *, step=0.02, seed=0, spread=0.1):
    """Return scores of systems whose means lie ``step`` apart, the best first."""
    rng = np.random.default_rng(seed)
    base = rng.normal(0.7, 0.1, items)
    return {f"s{row}": base - step * row + rng.normal(0, spread, items) for row in range(systems)}
