"""Shelves: the committed segments of a space, read again when the catalogue changed, each file once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final

from clipstore.storage import overlay
from clipstore.storage.segments import Gone

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.lookup import Shelf
    from clipstore.storage.overlay import Stack

Modality = Literal["image", "text"]

_ATTEMPTS = 5


@final
class Shelves:
    """The vectors of a space that are committed. Safe in threads, without a lock.

    Parameters
    ----------
    catalogue
        Of the store.
    digest
        Of the space.
    """

    def __init__(self, catalogue: Catalogue, digest: str) -> None:
        self._catalogue = catalogue
        self._digest = digest
        self._known: dict[Modality, tuple[tuple[int, ...], Shelf | Stack]] = {}

    def of(self, modality: Modality) -> Shelf | Stack:
        """Return the segments of a modality as they are now; what is known of them is not read again."""
        version = overlay.version(self._catalogue)
        known = self._known.get(modality)
        if known is not None and known[0] == version:
            return known[1]
        before = None if known is None else known[1]
        found = overlay.shelf(self._catalogue, self._digest, modality, before)
        self._known[modality] = version, found
        return found

    def look(self, modality: Modality, look: Callable[[Shelf | Stack], np.ndarray]) -> np.ndarray:
        """Look into the segments; read the catalogue again where one was compacted away meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return look(self.of(modality))
            except Gone:
                self._known.pop(modality, None)
        return look(self.of(modality))
