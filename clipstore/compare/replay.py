"""``replay``: a saved comparison computed again from the store, and whether it comes out the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from clipstore.compare import agreement, record
from clipstore.compare.agreement import Finding
from clipstore.compare.layout import checked
from clipstore.compare.rebuild import rebuild, space_of
from clipstore.compare.verb import compare
from clipstore.evaluate.averages import average
from clipstore.evaluate.measured import Items
from clipstore.evaluate.measuring import measure_systems
from clipstore.metrics import recipes
from clipstore.significance import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clipstore.compare.rebuild import Rebuilt, Source
    from clipstore.compare.results import Comparison
    from clipstore.store import Store


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
    ends the replay and is named. Then settings, entries, means, counts and effect sizes must
    be exact, intervals and p agree within Monte Carlo error, since NumPy's streams may change
    between versions.

    Parameters
    ----------
    store
        Where the comparison was made, or a store with the same set and systems under their names.
    report
        What ``clipstore compare --json`` wrote, parsed.

    Raises
    ------
    BadFormat
        When the report is no comparison of this schema, or damaged.
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
    return Replayed((*findings, *agreement.findings(asked, again)), again)


def _hashes(store: Store, report: Mapping[str, Any], made: Rebuilt) -> Iterator[Finding]:
    wholes = [report, *(part for part in report["parts"] if part["slice"] is None)]
    if len(wholes) != len(made.sources):
        yield Finding("eval sets", same=False, detail=f"the report has {len(wholes)}, its run {len(made.sources)}")
        return
    for part, source in zip(wholes, made.sources, strict=True):
        where = f" of {part['eval_set']['name']}" if part["eval_set"]["name"] else ""
        yield from _set_hashes(part["eval_set"], source, where)
        digests = {system.name: system.digest for system in source.systems}
        for system in part["systems"]:
            for name, said in _captions(system, made.request["runs"]):
                yield _hash(f"captions of {name}", said, digests.get(name))
    encoder, used = report["encoder"], made.sources[0].encoder
    if encoder or used:
        space = space_of(store, used)
        fields = {} if space is None else space.fingerprint.fields
        there = None if space is None else space.fingerprint.digest
        yield _hash("weights", encoder.get("weights"), str(fields.get("weights", "")) if fields else None)
        yield _hash("encoder", encoder.get("fingerprint"), there)


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
        recipe = recipes.recipe(source.recipe)
        one = measure_systems(space or store, source.systems, source.items, source.metrics, recipe, encode=False)
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
