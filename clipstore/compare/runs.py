"""The record of a comparison in the store: everything that ``replay`` needs, content-addressed.

What the store keeps under a name is named by its hash; what was given on the spot is written out.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore import keys
from clipstore.errors import Busy, CannotWrite
from clipstore.storage.catalogue import contents, sets
from clipstore.storage.catalogue import runs as rows
from clipstore.storage.catalogue.runs import RunRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.compare.results import Comparison
    from clipstore.evalset.evalset import MissingRule
    from clipstore.evaluate.measured import Measured, MeasuredSystem
    from clipstore.storage.catalogue import Catalogue

VERB: Final = "compare"


@final
@dataclass(frozen=True, slots=True)
class _Saved:
    """What the store keeps under names: (set, hash), and (set, system, hash)."""

    sets: frozenset[tuple[str, str]]
    systems: frozenset[tuple[str, str, str]]

    @classmethod
    def of(cls, catalogue: Catalogue, names: set[str]) -> _Saved:
        """Look up the sets of these names."""
        with catalogue.read() as tx:
            known = [(row.name, row.digest) for row in sets.names(tx) if row.name in names]
            systems = [(name, row.name, row.digest) for name, _ in known for row in sets.systems(tx, name)]
        return cls(frozenset(known), frozenset(systems))

    def has_set(self, measured: Measured) -> bool:
        """Whether the set stands in the store as it was measured."""
        return (measured.set_name, measured.set_digest) in self.sets

    def has_system(self, measured: Measured, system: MeasuredSystem) -> bool:
        """Whether the system's captions stand in the store under its name."""
        return (measured.set_name, system.name, system.captions) in self.systems


def _request(
    measured: Sequence[Measured],
    comparison: Comparison,
    runs: Mapping[str, Sequence[str]],
    missing: MissingRule,
    saved: _Saved,
) -> dict[str, Any]:
    fields = list(dict.fromkeys(part.slice.field for part in comparison.parts if part.slice is not None))
    return {
        "sets": [_set(one, saved, fields) for one in measured],
        "runs": {name: list(own) for name, own in runs.items()},
        "missing": missing,
        "baseline": comparison.baseline,
        "sort": comparison.sort,
        "all_pairs": comparison.all_pairs,
        "slice_by": fields,
        "settings": asdict(comparison.settings),
    }


def _set(measured: Measured, saved: _Saved, fields: Sequence[str]) -> dict[str, Any]:
    tags = [{name: own[name] for name in fields if name in own} for own in measured.items.tags]
    return {
        "name": measured.set_name,
        "digest": measured.set_digest,
        "items": None if saved.has_set(measured) else _items(measured),
        "tags": tags if any(tags) else [],
        "metrics": list(measured.measures),
        "encoder": dict(measured.encoder),
        "recipe": measured.recipe,
        "systems": [
            {
                "name": system.name,
                "digest": system.captions,
                "without": None
                if saved.has_system(measured, system)
                else [row for row, text in enumerate(system.texts) if text is None],
            }
            for system in measured.systems
        ],
    }


def _items(measured: Measured) -> dict[str, Any]:
    """Return a set's items; their references come first among the run's texts, in order."""
    items = measured.items
    return {
        "keys": list(items.keys),
        "unpaired": list(measured.missing[: measured.of - len(items.keys)]),
        "images": [None if id_ is None else keys.to_hex(id_) for id_ in items.image_ids],
        "references": [len(texts) for texts in items.references],
        "files": list(items.sources),
    }


def _texts(measured: Sequence[Measured], saved: _Saved) -> list[str]:
    """Return the texts that no name keeps: of each set its references, then each system's captions."""
    out: list[str] = []
    for one in measured:
        if not saved.has_set(one):
            out += [text for texts in one.items.references for text in texts]
        for system in one.systems:
            if not saved.has_system(one, system):
                out += [text for text in system.texts if text is not None]
    return out


def keep(
    catalogue: Catalogue,
    measured: Sequence[Measured],
    comparison: Comparison,
    runs: Mapping[str, Sequence[str]] | None = None,
    missing: MissingRule = "error",
) -> Comparison:
    """Record a comparison, and return it with its run's id.

    Parameters
    ----------
    catalogue
        Of the store; where it is read-only or busy nothing is kept, and the run stays None.
    measured
        What was measured, each run of a system by itself.
    comparison
        What came of it.
    runs
        System -> its runs, where several were averaged.
    missing
        As given to :func:`clipstore.compare.compare`.
    """
    if catalogue.readonly or not all(system.texts for one in measured for system in one.systems):
        return comparison
    saved = _Saved.of(catalogue, {one.set_name for one in measured if one.set_name is not None})
    texts = _texts(measured, saved)
    ids = keys.text_ids(texts)
    request = _request(measured, comparison, runs or {}, missing, saved)
    run_id = keys.digest_json({"verb": VERB, "request": request, "texts": keys.to_hex(keys.combine(ids))})
    kept = replace(comparison, run=run_id)
    if rows.known(catalogue, run_id):
        return kept
    images = {id_ for one in measured for id_ in one.items.image_ids if id_ is not None}
    result = {"signatures": [str(part.signature(metric)) for part in kept.parts for metric in part.measured.measures]}
    used = np.array(ids, np.int64)
    row = RunRow(run_id, VERB, request, result, used, np.array(sorted(images), np.int64), time.time())
    known = dict(zip(ids, texts, strict=True))
    try:
        with catalogue.write(patience=0) as tx:
            contents.add_texts(tx, sorted(known), [known[id_] for id_ in sorted(known)])
            rows.add(tx, row)
    except (Busy, CannotWrite):
        return comparison
    return kept
