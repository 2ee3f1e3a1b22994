"""Systems that a metric's own model chose: such a number says what the model likes, not how good the captions are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clipstore.errors import NotStored
from clipstore.storage.catalogue import sets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.evalset import EvalSet
    from clipstore.evalset.systems import System
    from clipstore.storage.catalogue import Catalogue


def chosen_by(catalogue: Catalogue, evalset: EvalSet, systems: Sequence[System], fingerprint: str) -> dict[str, str]:
    """Return the saved systems whose captions a model had a say in, and how: ``rerank by clip``.

    Parameters
    ----------
    catalogue
        Of the store that holds the set.
    evalset
        A set that was loaded from it; others hold no system with an origin.
    systems
        Those that are measured; captions other than the saved ones have no origin.
    fingerprint
        Of the model that measures.
    """
    if evalset.name is None:
        return {}
    with catalogue.read() as tx:
        try:
            saved = {(row.name, row.digest): row.origin for row in sets.systems(tx, evalset.name)}
        except NotStored:
            return {}
    origins = {system.name: saved.get((system.name, system.digest), {}) for system in systems}
    return {name: _how(origin) for name, origin in origins.items() if fingerprint in origin.get("selectors", ())}


def _how(origin: Mapping[str, Any]) -> str:
    verb, method = origin.get("verb", "rerank"), origin.get("method")
    return verb if method in {None, verb} else f"{verb} by {method}"
