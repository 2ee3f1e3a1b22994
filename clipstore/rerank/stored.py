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

    Log-probabilities of several kinds are left out, and a note says so: they can't be compared.

    Raises
    ------
    NotStored
        When the store has no such set or system.
    """
    with store.catalogue.read() as tx:
        rows = sets.candidates(tx, set_name, system)
    kinds = {row.score_kind for row in rows if row.score is not None}
    one_kind = len(kinds) == 1
    notes = () if len(kinds) <= 1 else (f"log-probabilities of {len(kinds)} kinds left out",)
    return Captions(
        source=system,
        format="saved system",
        ids=[row.key for row in rows],
        texts=[row.text for row in rows],
        ranks=[row.rank for row in rows],
        scores=[row.score for row in rows] if one_kind else None,
        score_kind=cast("ScoreKind | None", next(iter(kinds))) if one_kind else None,
        notes=notes,
    )
