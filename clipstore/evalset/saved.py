"""Eval sets and systems under their names in a store: the same again does nothing, other content asks for a word."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Literal, final

from clipstore.errors import InputError, NotStored
from clipstore.evalset import own_ids
from clipstore.evalset.systems import Met, System, captions_digest, check_empty, check_missing, meet, one_each
from clipstore.items import Candidate
from clipstore.storage.catalogue import sets
from clipstore.storage.catalogue.sets import CandidateRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.evalset.evalset import EvalSet, MissingRule
    from clipstore.evalset.systems import EmptyRule
    from clipstore.formats import Captions, Hints
    from clipstore.items import ItemKey
    from clipstore.storage.catalogue import Tx
    from clipstore.storage.catalogue.sets import ItemRow, SystemRow
    from clipstore.store import Store

Saved = Literal["added", "unchanged", "replaced"]


def save(
    store: Store,
    name: str,
    evalset: EvalSet,
    named: Mapping[str, Captions],
    image_ids: Sequence[int | None] | None = None,
    *,
    replace: bool = False,
    missing: MissingRule = "error",
    hints: Hints | None = None,
    origins: Mapping[str, Mapping[str, object]] | None = None,
) -> dict[str, Saved]:
    """Save an eval set and systems under their names, all in one transaction or nothing.

    Parameters
    ----------
    store
        Where to.
    name
        Of the set.
    evalset
        The set, closed.
    named
        System name -> captions, one or several an image.
    image_ids
        The content id of each image of a set read from files; None for a set that was loaded.
    replace
        Whether other content under a known name takes its place.
    missing, hints
        As in :func:`clipstore.evaluate.score`.
    origins
        System name -> what to keep of where its captions came from, beside the file's name; JSON values.

    Returns
    -------
    dict
        What happened to the set, under ``""``, and to each system, by name.

    Raises
    ------
    Unpaired
        When captions and images do not cover each other and ``missing`` is ``error``.
    InputError
        When a name stands for other content and ``replace`` is False.
    """
    for one in (name, *named):
        _check_name(one)
    met = {system: meet(captions, evalset, hints) for system, captions in named.items()}
    rows = {system: _rows(captions, met[system], evalset, missing) for system, captions in named.items()}
    change = _Change(name, evalset, image_ids, {system: captions_digest(found) for system, found in rows.items()})
    sources = {system: captions.source for system, captions in named.items()}
    with store.catalogue.read() as tx:
        did = change.against(tx, sources, replace=replace)
    if all(what == "unchanged" for what in did.values()):
        return did
    with store.catalogue.write() as tx:
        did = change.against(tx, sources, replace=replace)  # again: another process may have saved meanwhile
        change.save_set(tx, did[""])
        for system, found in rows.items():
            if did[system] != "unchanged":
                candidates = [CandidateRow(key, one.rank, one.caption, one.score, one.score_kind) for key, one in found]
                own = own_ids.rule_of(met[system].matched.by_id(), evalset)
                origin = {"source": sources[system], **({"ids": own} if own else {}), **(origins or {}).get(system, {})}
                sets.add_system(tx, name, system, change.digests[system], candidates, origin)
    return did


@final
@dataclass(frozen=True, slots=True)
class _Change:
    """What is to be saved, and what that means for what stands under these names."""

    name: str
    evalset: EvalSet
    image_ids: Sequence[int | None] | None
    digests: Mapping[str, str]

    def against(self, tx: Tx, sources: Mapping[str, str], *, replace: bool) -> dict[str, Saved]:
        """Return what happens to the set, under ``""``, and to each system; refuse what needs ``replace``."""
        known_set = sets.get(tx, self.name)
        known = {row.name: row.digest for row in sets.systems(tx, self.name)} if known_set is not None else {}
        did: dict[str, Saved] = {"": self._set_change(known_set, replace=replace)}
        for system, digest in self.digests.items():
            did[system] = _system_change(self.name, system, sources[system], digest, known.get(system), replace=replace)
        return did

    def _set_change(self, known: sets.SetRow | None, *, replace: bool) -> Saved:
        if self.image_ids is None:
            return "unchanged"
        if known is None:
            return "added"
        if _named(known.items) == _named(self.evalset.rows(self.image_ids)):
            return "unchanged"
        if not replace:
            digest = self.evalset.digest(self.image_ids)
            what = "the same images under other ids" if digest == known.digest else "other images or references"
            msg = (
                f"eval set {self.name!r} is saved with {what} "
                f"({known.digest[:8]}, {len(known.items):,} images; given: {digest[:8]}, "
                f"{len(self.evalset.items):,}): pass --replace to change it, or use another name"
            )
            raise InputError(msg)
        return "replaced"

    def save_set(self, tx: Tx, what: Saved) -> None:
        """Write the set where it is new or changed."""
        if self.image_ids is None or what == "unchanged":
            return
        write = sets.add if what == "added" else sets.replace
        digest = self.evalset.digest(self.image_ids)
        write(tx, self.name, self.evalset.rows(self.image_ids), digest, self.evalset.origin())


def _named(rows: Sequence[ItemRow]) -> set[tuple[str, int | None, tuple[str, ...]]]:
    """Return which image and references each id stands for: what captions are met with."""
    return {(repr(row.key), row.image_id, tuple(sorted(row.references))) for row in rows}


def _system_change(set_name: str, system: str, source: str, digest: str, known: str | None, *, replace: bool) -> Saved:
    if known == digest:
        return "unchanged"
    if known is not None and not replace:
        msg = (
            f"system {system!r} is saved in {set_name!r} with other captions ({known[:8]}; {source} has "
            f"{digest[:8]}): pass --replace to change it (the old captions are kept), or use another name"
        )
        raise InputError(msg)
    return "added" if known is None else "replaced"


def _check_name(name: str) -> None:
    if not name.strip() or not name.isprintable():
        msg = f"{name!r} can't be a name: a name is one line of text that shows"
        raise InputError(msg)


def _rows(captions: Captions, met: Met, evalset: EvalSet, missing: MissingRule) -> list[tuple[ItemKey, Candidate]]:
    check_missing(captions.source, met.strangers, set(met.rows), evalset, missing)
    return _candidates(captions, met.rows, evalset.keys)


def _candidates(captions: Captions, rows: Sequence[int], keys: Sequence[ItemKey]) -> list[tuple[ItemKey, Candidate]]:
    ranks = captions.ranks or [0] * len(rows)
    scores = captions.scores or [None] * len(rows)
    columns = (rows, captions.texts, ranks, scores, captions.kinds())
    return [
        (keys[row], Candidate(text, rank, score, kind))
        for row, text, rank, score, kind in zip(*columns, strict=True)
        if row >= 0
    ]


def saved_names(store: Store, evalset: EvalSet, patterns: Sequence[str] = ()) -> list[str]:
    """Return the names of a set's systems: all, or those that fit a pattern such as ``step-*``.

    Raises
    ------
    NotStored
        When a pattern fits no system; the message lists those there are.
    """
    set_name = evalset.name or ""
    names = [row.name for row in systems_in(store, set_name)]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern) and pattern not in names:
            there = f"there is: {', '.join(names)}" if names else "it has none yet: clipstore add -t makes one"
            msg = f"eval set {set_name!r} has no system {pattern!r}; {there}"
            raise NotStored(msg)
    return [
        name for name in names if not patterns or any(name == one or fnmatch.fnmatch(name, one) for one in patterns)
    ]


def ids_of(store: Store, evalset: EvalSet, name: str) -> dict[ItemKey, ItemKey]:
    """Return the ids that a system's file had, by key, where they were others than the set's and are known."""
    rule = next((row.origin.get("ids") for row in systems_in(store, evalset.name or "") if row.name == name), None)
    return own_ids.apply(rule, evalset) if rule else {}


def candidates_of(store: Store, evalset: EvalSet, name: str) -> list[CandidateRow]:
    """Return the candidates of a saved system: key, rank, text, score, score kind, in the order of the set."""
    with store.catalogue.read() as tx:
        return sets.candidates(tx, evalset.name or "", name)


def load_systems(
    store: Store,
    evalset: EvalSet,
    patterns: Sequence[str] = (),
    *,
    missing: MissingRule = "error",
    empty: EmptyRule = "error",
    first: bool = False,
) -> list[System]:
    """Read saved systems: all, or those whose names fit a pattern such as ``step-*``.

    Parameters
    ----------
    store, evalset
        A set that was loaded from the store.
    patterns
        Names and globs.
    missing, empty
        As in :func:`clipstore.evaluate.score`.
    first
        Of a system with several captions an image take the one of the lowest rank (``--take first``).

    Raises
    ------
    NotStored
        When a pattern fits no system; the message lists those there are.
    Unpaired
        When a system leaves images without caption and ``missing`` is ``error``.
    InputError
        When a system has several captions for an image and ``first`` is False, or empty ones and
        ``empty`` is ``error``.
    """
    found = {name: candidates_of(store, evalset, name) for name in saved_names(store, evalset, patterns)}
    digests = {row.name: row.digest for row in systems_in(store, evalset.name or "")}
    many = [name for name, rows in found.items() if len({one.key for one in rows}) < len(rows)]
    if many and not first:
        raise InputError(_nbest(many[0], evalset.name or "", [name for name in digests if name not in many]))
    systems = [_loaded(name, rows, evalset, digests[name]) for name, rows in found.items()]
    for system in systems:
        covered = {row for row, text in enumerate(system.texts) if text is not None}
        check_missing(f"system {system.name!r}", (), covered, evalset, missing)
        check_empty(f"system {system.name!r}", system.texts, evalset, empty)
    return systems


def _nbest(name: str, set_name: str, others: Sequence[str]) -> str:
    also = f", or name other systems (there is: {', '.join(others)})" if others else ""
    return (
        f"system {name!r} of {set_name!r} has several captions an image: an n-best list. Score the first of each image "
        f"(--take first), choose with clipstore rerank {quote(name)} -t {quote(set_name)} --save-as NAME{also}"
    )


def _loaded(name: str, rows: Sequence[CandidateRow], evalset: EvalSet, digest: str) -> System:
    """Return a system; of several captions an image the first, under a digest of its own."""
    place = {key: row for row, key in enumerate(evalset.keys)}
    texts: list[str | None] = [None] * len(evalset.items)
    for one in sorted(rows, key=lambda one: one.rank, reverse=True):
        texts[place[one.key]] = one.text
    count = len({one.key for one in rows})
    if count == len(rows):
        return System(name, tuple(texts), digest)
    warnings = (f"the first of several captions was taken for {count:,} images",)
    return one_each(name, evalset.keys, texts, warnings=warnings)


def systems_in(store: Store, set_name: str) -> list[SystemRow]:
    """Return a line about each system of a saved eval set, in the order of adding."""
    with store.catalogue.read() as tx:
        return sets.systems(tx, set_name)
