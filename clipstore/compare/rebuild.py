"""A saved comparison -> what it was made from, out of the store alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from clipstore import keys
from clipstore.compare.runs import VERB
from clipstore.encoders.protocol import Fingerprint
from clipstore.errors import NotStored
from clipstore.evalset import EvalSet
from clipstore.evalset.systems import one_each
from clipstore.items import EvalItem
from clipstore.metrics.recipes import HESSEL2021
from clipstore.storage.catalogue import contents, sets, spaces
from clipstore.storage.catalogue import runs as rows
from clipstore.store import Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clipstore.encoders.protocol import Encoder
    from clipstore.evalset.systems import System
    from clipstore.storage.catalogue.runs import RunRow
    from clipstore.store import Store


@final
@dataclass(frozen=True, eq=False)
class Source:
    """One eval set of a comparison, with its systems.

    Parameters
    ----------
    items
        The set, its images known by content.
    systems
        In its order, each run by itself.
    metrics
        By name.
    encoder
        ``model`` and ``fingerprint``; empty where none was used.
    recipe
        The name of that behind metrics of images.
    """

    items: EvalSet
    systems: list[System]
    metrics: list[str]
    encoder: Mapping[str, str]
    recipe: str = HESSEL2021.name


@final
@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Everything behind a comparison.

    Parameters
    ----------
    sources
        One an eval set.
    request
        The choices, as :mod:`clipstore.compare.runs` keeps them.
    """

    sources: list[Source]
    request: Mapping[str, Any]


def rebuild(store: Store, report: Mapping[str, Any]) -> Rebuilt:
    """Return what a report was made from: its run, else the eval set and systems saved under its names.

    Raises
    ------
    NotStored
        When the store holds neither.
    """
    run_id = report.get("run")
    with store.catalogue.read() as tx:
        row = rows.get(tx, str(run_id)) if run_id else None
    if row is not None and row.verb == VERB:
        return Rebuilt(list(_of_run(store, row)), row.request)
    return _of_names(store, report)


def _of_run(store: Store, row: RunRow) -> Iterator[Source]:
    ids = row.used_texts.tolist()
    with store.catalogue.read() as tx:
        known = contents.texts(tx, sorted(set(ids)))
    lost = [id_ for id_ in ids if id_ not in known]
    if lost:
        msg = f"{len(lost):,} texts of run {row.id[:8]} are no longer in this store (first: {keys.to_hex(lost[0])})"
        raise NotStored(msg)
    texts = iter([known[id_] for id_ in ids])
    for one in row.request["sets"]:
        evalset = EvalSet.load(store, one["name"]) if one["items"] is None else _items(one, texts)
        systems = [_system(store, evalset, system, texts) for system in one["systems"]]
        if len(one["tags"]) == len(evalset.items):
            both = zip(evalset.items, one["tags"], strict=True)
            evalset = replace(evalset, items=tuple(replace(item, tags=own) for item, own in both))
        yield Source(evalset, systems, one["metrics"], one["encoder"], one.get("recipe", HESSEL2021.name))


def _items(one: Mapping[str, Any], texts: Iterator[str]) -> EvalSet:
    held = one["items"]
    images = [None if id_ is None else keys.from_hex(id_) for id_ in held["images"]]
    items = [
        EvalItem(key, None, image, tuple(next(texts) for _ in range(count)))
        for key, image, count in zip(held["keys"], images, held["references"], strict=True)
    ]
    return EvalSet(tuple(items), one["name"], paths=tuple(held["files"]), unpaired=tuple(held["unpaired"]))


def _system(store: Store, evalset: EvalSet, said: Mapping[str, Any], texts: Iterator[str]) -> System:
    if said["without"] is None:
        return _saved(store, evalset, said["name"], said["digest"])
    without = set(said["without"])
    captions = [None if place in without else next(texts) for place in range(len(evalset.items))]
    return one_each(said["name"], evalset.keys, captions)


def _of_names(store: Store, report: Mapping[str, Any]) -> Rebuilt:
    name = report["eval_set"]["name"]
    if name is None or any(part["slice"] is None for part in report["parts"]):
        msg = "this store does not know the run of the report: replay it with the --store that it was made in"
        raise NotStored(msg)
    evalset = EvalSet.load(store, name)
    systems = []
    for system in report["systems"]:
        if "runs" in system:
            msg = f"{system['name']}: runs averaged outside this store can't be found by name; use the store of the run"
            raise NotStored(msg)
        systems.append(_saved(store, evalset, system["name"], system["captions"]))
    metrics = [metric.replace("_", "-") for metric in report["signature"]]
    named = (one["recipe"] for one in report["signature"].values() if "recipe" in one)
    source = Source(evalset, systems, metrics, report["encoder"], next(named, HESSEL2021.name))
    settings = report["settings"]
    skipped = any(one.get("missing") == "skip" for one in report["signature"].values())
    chosen = {key: settings[key] for key in ("test", "correction", "alpha", "level", "resamples", "seed")}
    kept = {key: settings[key] for key in ("baseline", "sort", "all_pairs", "slice_by")}
    return Rebuilt([source], {**kept, "settings": chosen, "missing": "skip" if skipped else "error", "runs": {}})


def _saved(store: Store, evalset: EvalSet, name: str, digest: str) -> System:
    """Return a saved system: its captions of that hash, else those that it has now."""
    set_name = evalset.name or ""
    with store.catalogue.read() as tx:
        try:
            found = sets.candidates(tx, set_name, name, digest)
        except NotStored:
            found = sets.candidates(tx, set_name, name)
    first = {one.key: one.text for one in reversed(found)}
    return one_each(name, evalset.keys, [first.get(key) for key in evalset.keys])


def space_of(store: Store, encoder: Mapping[str, str]) -> Space | None:
    """Return the space of a fingerprint, which gathers and never encodes; None where the store has no such vectors."""
    digest = encoder.get("fingerprint", "")
    with store.catalogue.read() as tx:
        row = spaces.get(tx, digest)
    if row is None:
        return None
    shown = encoder.get("model", "unknown")

    def refuse() -> Encoder:
        msg = f"replay encodes nothing, and a vector of {shown} is missing: score the systems again"
        raise NotStored(msg)

    return Space(store.catalogue, row, shown, Fingerprint(row.fields), refuse)
