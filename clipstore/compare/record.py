"""A comparison as JSON values: the layout of ``schema.json``; plain floats, None where a number is not defined."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore import keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.compare.parts import Part
    from clipstore.evaluate.measured import Items
    from clipstore.significance import Interval, PairTest, Statistics

SCHEMA: Final = 1
"""Version of the layout; it changes only where a reader of the earlier one would break."""


def key_of(metric: str) -> str:
    """Return a metric's name in JSON: snake case."""
    return metric.replace("-", "_")


def part_of(part: Part) -> dict[str, Any]:
    """Return one part: signature, eval set, slice, systems and pairs."""
    measured = part.measured
    runs = {metric: measure.runs for metric, measure in measured.measures.items()}
    return {
        "signature": {key_of(metric): part.signature(metric).to_dict() for metric in measured.measures},
        "eval_set": {
            "name": measured.set_name,
            "n": measured.of,
            "hash": measured.set_digest[:8],
            "images": images_hash(measured.items),
            "references": references_hash(measured.items),
            "missing": list(measured.missing),
        },
        "slice": None if part.slice is None else {"field": part.slice.field, "value": part.slice.value},
        "systems": [_system(part, row, runs) for row in range(len(measured.systems))],
        "pairs": pairs_of(part),
    }


def images_hash(items: Items) -> str | None:
    """Return a hash of which image each id means; None where the images are not at hand."""
    if not any(id_ is not None for id_ in items.image_ids):
        return None
    pairs = zip(items.keys, items.image_ids, strict=True)
    return _hash([[str(key), None if id_ is None else keys.to_hex(id_)] for key, id_ in pairs])


def references_hash(items: Items) -> str | None:
    """Return a hash of the references of each id; None where they are not at hand."""
    if not any(items.references):
        return None
    pairs = zip(items.keys, items.references, strict=True)
    return _hash([[str(key), *texts] for key, texts in pairs])


def _hash(rows: Sequence[Sequence[str | None]]) -> str:
    ordered = sorted(rows, key=lambda row: str(row[0]))
    return keys.digest_json([list(row) for row in ordered])[: keys.HEX_DIGITS]


def _system(part: Part, row: int, runs: dict[str, tuple[tuple[float, ...], ...]]) -> dict[str, Any]:
    system = part.measured.systems[row]
    out: dict[str, Any] = {
        "name": system.name,
        "n": system.n,
        "captions": system.captions,
        "metrics": {
            key_of(metric): _estimate(part.statistics[metric], row, runs[metric]) for metric in part.measured.measures
        },
        "mean_words": number(system.words),
        "cut": system.cut,
        "duplicates": system.duplicates,
        "warnings": list(system.warnings),
    }
    if system.runs:
        out["runs"] = list(system.runs)
    return out


def _estimate(found: Statistics, row: int, runs: tuple[tuple[float, ...], ...]) -> dict[str, Any]:
    estimate = found.systems[row]
    out: dict[str, Any] = {
        "mean": number(estimate.value),
        "n": estimate.n,
        "ci": _ends(estimate.ci),
        "rank_ci": None if estimate.ranks is None else list(estimate.ranks),
    }
    own = runs[row] if runs else ()
    if own:
        out["runs"] = [number(value) for value in own]
        out["runs_sd"] = number(float(np.std(own, ddof=1))) if len(own) > 1 else None
    return out


def _ends(interval: Interval | None) -> list[float | None] | None:
    return None if interval is None else [number(interval.low), number(interval.high)]


def pairs_of(part: Part) -> list[dict[str, Any]]:
    """Return every test of a part, metric by metric."""
    return [_pair(part, metric, test) for metric, found in part.statistics.items() for test in found.pairs]


def _pair(part: Part, metric: str, test: PairTest) -> dict[str, Any]:
    names = part.measured.names
    return {
        "a": names[test.a],
        "b": names[test.b],
        "metric": key_of(metric),
        "n": test.n,
        "delta": number(test.delta),
        "ci": _ends(test.ci),
        "p": number(test.p),
        "p_adj": number(test.p_adj),
        "dz": number(test.dz),
        "win_rate": number(test.win_rate),
        "w": test.wins,
        "t": test.ties,
        "l": test.losses,
        "epsilon": test.epsilon,
        "test": test.test,
        "resamples": test.resamples,
        "exact": test.exact,
        "identical": test.identical,
        "verdict": test.verdict(part.statistics[metric].settings.alpha),
    }


def number(value: float | None) -> float | None:
    """Return a plain float, None for what is not a number."""
    return None if value is None or not math.isfinite(value) else float(value)
