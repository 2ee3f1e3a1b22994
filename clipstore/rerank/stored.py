"""A saved n-best system, read back as candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clipstore.formats import Captions
from clipstore.storage.catalogue import sets

if TYPE_CHECKING:
    from clipstore.items import ScoreKind
    from clipstore.store import Store


def saved_nbest(store: Store, set_name: str, system: str) -> Captions:
    """Return the candidates of a saved system.

    Raises
    ------
    NotStored
        When the store has no such set or system.
    """
    with store.catalogue.read() as tx:
        rows = sets.candidates(tx, set_name, system)
    kinds = [cast("ScoreKind", row.score_kind or "unknown") for row in rows]
    there = {kind for kind, row in zip(kinds, rows, strict=True) if row.score is not None}
    return Captions(
        source=system,
        format="saved system",
        ids=[row.key for row in rows],
        texts=[row.text for row in rows],
        ranks=[row.rank for row in rows],
        scores=[row.score for row in rows] if there else None,
        score_kind=(min(there) if len(there) == 1 else "unknown") if there else None,
        score_kinds=kinds if len(there) > 1 else None,
    )
