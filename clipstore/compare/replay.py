"""``replay``: a saved comparison computed again from the store, and whether it comes out the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from clipstore.compare import record
from clipstore.compare.rebuild import checked, rebuild, space_of
from clipstore.compare.verb import compare
from clipstore.evaluate.averages import average
from clipstore.evaluate.measured import Items
from clipstore.evaluate.measuring import measure_systems
from clipstore.significance import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clipstore.compare.rebuild import Rebuilt, Source
    from clipstore.compare.results import Comparison
    from clipstore.store import Store

EXACT: Final = 1e-6
"""Means may differ by this much: the last bits of float32 sums on another machine."""

# Monte Carlo error of two runs: this many standard errors of a difference.
_SIGMAS: Final = 5.0
# Standard error of an end of a 95 % percentile interval, as a share of its width, times the root of the resamples:
# sqrt(0.025 * 0.975) / density of the normal at 1.96 / (2 * 1.96).
_END: Final = 0.68


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


@final
@dataclass(frozen=True, eq=False)
class Replayed:
    """What a replay found.

    Parameters
    ----------
    findings
        In order; after the first hash that differs nothing is computed.
    comparison
        The comparison made again; None where a hash differs.
    """

    findings: tuple[Finding, ...]
    comparison: Comparison | None

    @property
    def same(self) -> bool:
        """Whether everything agrees."""
        return all(one.same for one in self.findings)

    @property
    def first(self) -> Finding | None:
        """The first finding that differs."""
        return next((one for one in self.findings if not one.same), None)


def replay(store: Store, report: object) -> Replayed:
    """Recompute a saved comparison from the store alone.

    Hashes of images, references, captions and weights come first; the first that differs
    ends the replay and is named. Then means must be exact, intervals and p agree within
    Monte Carlo error, since NumPy's streams may change between versions.

    Parameters
    ----------
    store
        Where the comparison was made, or a store with the same set and systems under their names.
    report
        What ``clipstore compare --json`` wrote, parsed.

    Raises
    ------
    BadFormat
        When the report is no comparison of this schema.
    NotStored
        When the store lacks what the report was made from.
    """
    asked = checked(report)
    made = rebuild(store, asked)
    findings: list[Finding] = []
    for finding in _hashes(store, asked, made):
        findings.append(finding)
        if not finding.same:
            return Replayed(tuple(findings), None)
    again = _again(store, made)
    numbers = _numbers(asked, again.to_dict())
    return Replayed((*findings, *numbers), again)


def _hashes(store: Store, report: Mapping[str, Any], made: Rebuilt) -> Iterator[Finding]:
    wholes = [report, *(part for part in report["parts"] if part["slice"] is None)]
    for part, source in zip(wholes, made.sources, strict=True):
        where = f" of {part['eval_set']['name']}" if part["eval_set"]["name"] else ""
        yield from _set_hashes(part["eval_set"], source, where)
        digests = {system.name: system.digest for system in source.systems}
        for system in part["systems"]:
            for name, said in _captions(system, made.request["runs"]):
                yield _hash(f"captions of {name}", said, digests.get(name))
    encoder = report["encoder"]
    if encoder:
        space = space_of(store, encoder)
        there = None if space is None else space.fingerprint
        weights = None if there is None else str(there.fields.get("weights", ""))
        yield _hash("weights", encoder.get("weights") or encoder["fingerprint"], weights or (there and there.digest))


def _set_hashes(said: Mapping[str, Any], source: Source, where: str) -> Iterator[Finding]:
    items = source.items.items
    ids = tuple(item.image_id for item in items)
    held = Items(source.items.keys, tuple(item.references for item in items), image_ids=ids)
    whole = source.items.digest(ids)[:8]
    if whole == said["hash"]:
        yield Finding(f"images{where}", same=True, detail=f"sha256:{whole} with the references")
        yield Finding(f"references{where}", same=True, detail=f"sha256:{whole} with the images")
        return
    yield _hash(f"images{where}", said["images"], record.images_hash(held))
    yield _hash(f"references{where}", said["references"], record.references_hash(held))
    yield _hash(f"eval set{where}", said["hash"], whole)


def _captions(system: Mapping[str, Any], runs: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield name and hash of a system's captions, or of those of its runs."""
    if "runs" in system:
        yield from zip(runs.get(system["name"], ()), system["runs"], strict=False)
    else:
        yield system["name"], system["captions"]


def _hash(what: str, said: str | None, found: str | None) -> Finding:
    if said == found:
        return Finding(what, same=True, detail=_short(found))
    return Finding(what, same=False, detail=f"the report has {_short(said)}, the store {_short(found)}")


def _short(digest: str | None) -> str:
    return "none" if not digest else f"sha256:{digest.removeprefix('sha256:')[:16]}"


def _again(store: Store, made: Rebuilt) -> Comparison:
    request = made.request
    measured = []
    for source in made.sources:
        space = space_of(store, source.encoder) if source.encoder else None
        one = measure_systems(space or store, source.systems, source.items, source.metrics, encode=False)
        measured.append(average(one, request["runs"]) if request["runs"] else one)
    return compare(
        measured,
        baseline=request["baseline"],
        sort=request["sort"],
        slice_by=request["slice_by"],
        all_pairs=request["all_pairs"],
        missing=request["missing"],
        settings=Settings(**request["settings"]),
    )


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
            if said is not found:
                self.same, self.where = False, f"{where}: one of the two has no number"
            return
        gap = abs(said - found)
        if gap > allowed and self.same:
            self.same, self.where = False, f"{where}: the report has {said:.6g}, now {found:.6g}"
        if gap >= self.difference:
            self.difference, self.allowed = gap, allowed

    def finding(self) -> Finding:
        """Return it in words."""
        shown = f"largest difference {self.difference:.2g}, {self.allowed:.2g} allowed"
        return Finding(self.what, self.same, self.where or shown)


def _numbers(report: Mapping[str, Any], again: Mapping[str, Any]) -> list[Finding]:
    means, ends, ps = _Worst("means"), _Worst("intervals"), _Worst("p values")
    for said, found in zip([report, *report["parts"]], [again, *again["parts"]], strict=True):
        known = {system["name"]: system for system in found["systems"]}
        for system in said["systems"]:
            for metric, one in system["metrics"].items():
                other = known[system["name"]]["metrics"][metric]
                where = f"{metric} of {system['name']}"
                means.add(one["mean"], other["mean"], EXACT, where)
                _intervals(ends, one["ci"], other["ci"], report["settings"]["resamples"], where)
        tests = {(pair["a"], pair["b"], pair["metric"]): pair for pair in found["pairs"]}
        for pair in said["pairs"]:
            other = tests[pair["a"], pair["b"], pair["metric"]]
            where = f"{pair['metric']} of {pair['a']} and {pair['b']}"
            means.add(pair["delta"], other["delta"], EXACT, where)
            ps.add(pair["p"], other["p"], _allowed(pair["p"], pair["resamples"]), where)
    return [means.finding(), ends.finding(), ps.finding()]


def _intervals(worst: _Worst, said: list[float] | None, found: list[float] | None, draws: int, where: str) -> None:
    if said is None or found is None:
        worst.add(None if said is None else 0.0, None if found is None else 0.0, 0.0, where)
        return
    allowed = _SIGMAS * math.sqrt(2) * _END / math.sqrt(draws) * abs(said[1] - said[0]) + EXACT
    for one, other in zip(said, found, strict=True):
        worst.add(one, other, allowed, where)


def _allowed(p: float | None, draws: int | None) -> float:
    """Return how far two Monte Carlo estimates of one p may lie apart."""
    if p is None or draws is None:
        return EXACT
    return _SIGMAS * math.sqrt(2 * max(p * (1 - p), 1 / draws) / draws) + 1 / draws
