"""Pools: all texts that the store knows, for a search among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.storage.catalogue.statements import rows

if TYPE_CHECKING:
    from clipstore.storage.catalogue.statements import Tx


def all_texts(tx: Tx) -> list[str]:
    """Return every stored text, by id."""
    return [row[0] for row in rows(tx, "SELECT text FROM texts ORDER BY id")]
