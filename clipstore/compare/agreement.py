"""Whether two comparisons agree: exact where nothing is drawn, within Monte Carlo error where something is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import numpy.typing as npt

from clipstore.significance import adjust

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clipstore.compare.results import Comparison

EXACT: Final = 1e-6
"""Means may differ by this much: the last bits of float32 sums on another machine."""

# Effect sizes divide such a difference by a spread that may be small.
_EFFECT: Final = 1e-4
# Monte Carlo error of two runs: this many standard errors of a difference.
_SIGMAS: Final = 5.0
# Standard error of an end of a 95 % percentile interval, as a share of its width, times the root of the resamples:
# sqrt(0.025 * 0.975) / density of the normal at 1.96 / (2 * 1.96).
_END: Final = 0.68
# An end of a rank interval may move by one, and by one more for each so many systems.
_RANKS: Final = 10

# Items with more distinct values than this have means as fine as any.
_FEW: Final = 64

_PLAIN: Final = ("n", "test", "exact", "identical", "resamples", "epsilon")


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was compared.

    Parameters
    ----------
    what
        Such as ``captions of blip`` or ``means``.
    same
        Whether it agrees.
    detail
        Hashes, or the largest difference and what is allowed.
    """

    what: str
    same: bool
    detail: str


@dataclass
class _Worst:
    """The largest difference of one kind, against what is allowed."""

    what: str
    difference: float = 0.0
    allowed: float = 0.0
    same: bool = True
    where: str = ""

    def add(self, said: float | None, found: float | None, allowed: float, where: str) -> None:
        """Take in two numbers that should agree."""
        if said is None or found is None:
            if said is not found and self.same:
                self.same, self.where = False, f"{where}: one of the two has no number"
            return
        gap = abs(said - found)
        if gap > allowed and self.same:
            self.same, self.where = False, f"{where}: the report has {said:.6g}, now {found:.6g}"
        if gap >= self.difference:
            self.difference, self.allowed = gap, allowed

    def equal(self, said: object, found: object, where: str) -> None:
        """Take in two values that must be equal."""
        if said != found and self.same:
            self.same, self.where = False, f"{where}: the report has {said}, now {found}"

    def finding(self) -> Finding:
        """Return it in words."""
        shown = f"largest difference {self.difference:.2g}, {self.allowed:.2g} allowed"
        return Finding(self.what, self.same, self.where or shown)


def findings(report: Mapping[str, Any], again: Comparison) -> list[Finding]:
    """Return what a report and the comparison made again agree in; numbers only where both have the same entries."""
    now = again.to_dict()
    found = [_choices(report, now), _entries(report, now)]
    if not found[-1].same:
        return found
    means, ends, ranks = _Worst("means"), _Worst("intervals"), _Worst("rank intervals")
    counts, effects, ps = _Worst("wins, ties, losses"), _Worst("effect sizes"), _Worst("p values")
    draws = report["settings"]["resamples"]
    for said, other, step, where in _systems(report, now, again):
        means.equal(said["n"], other["n"], f"n of {where}")
        means.add(said["mean"], other["mean"], EXACT, where)
        for one, two in zip(said.get("runs", []), other.get("runs", []), strict=False):
            means.add(one, two, EXACT, f"runs of {where}")
        means.add(said.get("runs_sd"), other.get("runs_sd"), EXACT, f"runs of {where}")
        _interval(ends, said["ci"], other["ci"], draws, step, where)
        moved = 1 + len(report["systems"]) // _RANKS
        for one, two in zip(said["rank_ci"] or [None], other["rank_ci"] or [None], strict=False):
            ranks.add(one, two, moved, f"ranks of {where}")
    for said, other in _whole_systems(report, now):
        for name in ("n", "cut", "duplicates"):
            counts.equal(said[name], other[name], f"{name} of {said['name']}")
        means.add(said["mean_words"], other["mean_words"], EXACT, f"mean words of {said['name']}")
    for said, other, gaps, where in _pairs(report, now, again):
        edge = int(np.count_nonzero(np.abs(np.abs(gaps) - other["epsilon"]) <= EXACT)) if other["epsilon"] else 0
        means.add(said["delta"], other["delta"], EXACT, where)
        _interval(ends, said["ci"], other["ci"], draws, _step(gaps), where)
        for name in _PLAIN:
            counts.equal(said[name], other[name], f"{name} of {where}")
        for name in ("w", "t", "l"):
            counts.add(said[name], other[name], edge, f"{name} of {where}")
        share = edge / (2 * said["n"]) if said["n"] else 0.0
        effects.add(said["win_rate"], other["win_rate"], share + 1e-9, f"win rate of {where}")
        effects.add(said["dz"], other["dz"], _EFFECT * (1 + abs(other["dz"] or 0.0)), f"d_z of {where}")
        ps.add(said["p"], other["p"], _allowed(said["p"], said["resamples"]), where)
    _corrected(ps, report)
    return [*found, *(one.finding() for one in (means, ends, ranks, counts, effects, ps))]


def _choices(report: Mapping[str, Any], now: Mapping[str, Any]) -> Finding:
    """Compare settings and signatures, the version of clipstore apart."""
    worst = _Worst("settings")
    for name, said in report["settings"].items():
        worst.equal(said, now["settings"][name], name)
    for place, (one, two) in enumerate(zip(_parts(report), _parts(now), strict=False)):
        for metric, signed in two["signature"].items():
            said = one["signature"].get(metric, {})
            for field in dict.fromkeys([*signed, *said]):
                if field != "v":
                    where = f"signature of {metric}{f' in part {place}' if place else ''}"
                    worst.equal(said.get(field), signed.get(field), f"{where}: {field}")
    return Finding(worst.what, worst.same, worst.where or "the same, and so are the signatures")


def _entries(report: Mapping[str, Any], now: Mapping[str, Any]) -> Finding:
    """Compare which sets, slices, systems, metrics and pairs there are."""
    both = [
        [
            (str(part["eval_set"]["name"]), str(part["slice"])),
            *sorted((system["name"], metric) for system in part["systems"] for metric in system["metrics"]),
            *sorted((pair["a"], pair["b"], pair["metric"]) for pair in part["pairs"]),
        ]
        for whole in (report, now)
        for part in _parts(whole)
    ]
    said, found = both[: len(_parts(report))], both[len(_parts(report)) :]
    odd = [" ".join(one) for a, b in zip(said, found, strict=False) for one in sorted(set(a) ^ set(b))]
    if len(said) != len(found):
        odd = [f"the report has {len(said)} sets and slices, now {len(found)}"]
    where = f"only one of the two has {odd[0]}" if odd and len(said) == len(found) else "".join(odd[:1])
    return Finding("systems and pairs", not odd, where or "the same entries")


def _parts(whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [whole, *whole["parts"]]


def _whole_systems(
    report: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield what the two say of each system."""
    for said, found in zip(_parts(report), _parts(now), strict=True):
        known = {system["name"]: system for system in found["systems"]}
        yield from ((system, known[system["name"]]) for system in said["systems"])


def _systems(
    report: Mapping[str, Any], now: Mapping[str, Any], again: Comparison
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], float, str]]:
    """Yield what the two say of each system's metric, how fine its mean can be, and whose it is."""
    for part, said, found in zip(again.parts, _parts(report), _parts(now), strict=True):
        known = {system["name"]: system for system in found["systems"]}
        for system in said["systems"]:
            row = part.measured.names.index(system["name"])
            for metric, one in system["metrics"].items():
                step = _step(part.measured.measures[metric.replace("_", "-")].per_item[row].astype(np.float64))
                yield one, known[system["name"]]["metrics"][metric], step, f"{metric} of {system['name']}"


def _step(values: npt.NDArray[np.float64]) -> float:
    """Return the step between means of resamples where items have few values (hits, counts); 0 for fine ones."""
    held = values[~np.isnan(values)]
    distinct = np.unique(held)
    return float(np.diff(distinct).min()) / len(held) if 1 < len(distinct) <= _FEW else 0.0


def _pairs(
    report: Mapping[str, Any], now: Mapping[str, Any], again: Comparison
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], npt.NDArray[np.float64], str]]:
    """Yield what the two say of each pair, its differences item by item, and which pair it is."""
    for part, said, found in zip(again.parts, _parts(report), _parts(now), strict=True):
        known = {(pair["a"], pair["b"], pair["metric"]): pair for pair in found["pairs"]}
        rows = {name: row for row, name in enumerate(part.measured.names)}
        for pair in said["pairs"]:
            other = known[pair["a"], pair["b"], pair["metric"]]
            per_item = part.measured.measures[pair["metric"].replace("_", "-")].per_item
            gaps = per_item[rows[pair["a"]]].astype(np.float64) - per_item[rows[pair["b"]]]
            yield pair, other, gaps, f"{pair['metric']} of {pair['a']} and {pair['b']}"


def _corrected(worst: _Worst, report: Mapping[str, Any]) -> None:
    """Check that the corrected p values follow from the raw ones of the report."""
    tests: dict[str, list[Mapping[str, Any]]] = {}
    for part in _parts(report):
        for pair in part["pairs"]:
            tests.setdefault(pair["metric"], []).append(pair)
    for metric, own in tests.items():
        again = adjust([pair["p"] for pair in own], report["settings"]["correction"])
        for pair, p in zip(own, again, strict=True):
            worst.add(pair["p_adj"], p, 1e-9, f"corrected p, {metric} of {pair['a']} and {pair['b']}")


def _interval(
    worst: _Worst, said: list[float] | None, found: list[float] | None, draws: int, step: float, where: str
) -> None:
    if said is None or found is None:
        worst.add(None if said is None else 0.0, None if found is None else 0.0, 0.0, where)
        return
    allowed = _SIGMAS * math.sqrt(2) * _END / math.sqrt(draws) * abs(found[1] - found[0]) + step + EXACT
    for one, other in zip(said, found, strict=True):
        worst.add(one, other, allowed, where)


def _allowed(p: float | None, draws: int | None) -> float:
    """Return how far two Monte Carlo estimates of one p may lie apart."""
    if p is None or draws is None:
        return EXACT
    return _SIGMAS * math.sqrt(2 * max(p * (1 - p), 1 / draws) / draws) + 1 / draws
