"""An overlay: a store that rests on read-only base stores. Bases are read first and never written."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.storage.catalogue import contents, files, pools, references, segments, spaces
from clipstore.storage.lookup import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.segments import Modality


@final
class Stack:
    """The shelves of several stores, looked up as one. What a base has is never asked of those after it.

    Parameters
    ----------
    shelves
        Bases first.
    """

    def __init__(self, shelves: Sequence[Shelf]) -> None:
        self.shelves = tuple(shelves)

    @property
    def rows(self) -> int:
        """How many vectors the shelves hold, repeats counted."""
        return sum(shelf.rows for shelf in self.shelves)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the segments."""
        return tuple(name for shelf in self.shelves for name in shelf.names)

    def contains(self, ids: Ids) -> np.ndarray:
        """Say of each id whether any store has it: bool of shape (rows,); raises as :meth:`Shelf.contains`."""
        found = np.zeros(len(ids), dtype=bool)
        for shelf in self.shelves:
            found[~found] = shelf.contains(ids[~found])
        return found

    def gather(self, ids: Ids) -> Vectors:
        """Return the vectors of ids in their order: float32 of shape (rows, dim); raises as :meth:`Shelf.gather`."""
        owner = np.full(len(ids), len(self.shelves) - 1)
        for number, shelf in reversed(list(enumerate(self.shelves[:-1]))):
            owner[shelf.contains(ids)] = number
        parts = [shelf.gather(ids[owner == number]) for number, shelf in enumerate(self.shelves)]
        dim = max((part.shape[1] for part in parts), default=0)
        result = np.empty((len(ids), dim), dtype=np.float32)
        for number, part in enumerate(parts):
            if len(part):
                result[owner == number] = part
        return result


def shelf(catalogue: Catalogue, digest: str, modality: Modality, before: Shelf | Stack | None = None) -> Shelf | Stack:
    """Return all committed segments of a space and modality, those of the bases first.

    Parameters
    ----------
    catalogue, digest, modality
        Of which.
    before
        What this gave earlier: the segments that still are there are not read again.
    """
    earlier = before.shelves if isinstance(before, Stack) else () if before is None else (before,)
    stores = (*catalogue.bases, catalogue)
    shelves = []
    for number, one in enumerate(stores):
        with one.read() as tx:
            rows = segments.all(tx, digest, modality)
        shelves.append(Shelf(one.folder, rows, earlier[number] if len(earlier) == len(stores) else None))
    return shelves[0] if len(shelves) == 1 else Stack(shelves)


def version(catalogue: Catalogue) -> tuple[int, ...]:
    """Return numbers that change with every commit to the store or a base."""
    return tuple(one.version() for one in (*catalogue.bases, catalogue))


def cuts(catalogue: Catalogue, digest: str, vector_keys: Ids) -> dict[int, int]:
    """Return vector key -> tokens that did not fit, where any were, as any of the stores knows it."""
    found: dict[int, int] = {}
    for one in (*catalogue.bases, catalogue):
        with one.read() as tx:
            if not catalogue.bases or spaces.get(tx, digest) is not None:
                found |= contents.cuts(tx, digest, vector_keys)
    return found


def flags(catalogue: Catalogue, image_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return what was done to each image beyond the official preprocessing, of those to which anything was."""
    wanted = list(image_ids)
    found: dict[int, tuple[str, ...]] = {}
    for one in (*catalogue.bases, catalogue):
        with one.read() as tx:
            found |= contents.flagged(tx, wanted)
    return found


def paths(catalogue: Catalogue, image_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return all paths that any of the stores knows of each image that has one, the likeliest first."""
    wanted = list(image_ids)
    found: dict[int, tuple[str, ...]] = {}
    for one in (catalogue, *catalogue.bases):
        with one.read() as tx:
            for id_, more in files.paths(tx, wanted).items():
                found[id_] = tuple(dict.fromkeys((*found.get(id_, ()), *more)))
    return found


def texts(catalogue: Catalogue) -> list[str]:
    """Return every text that any of the stores knows, once."""
    found: dict[str, None] = {}
    for one in (*catalogue.bases, catalogue):
        with one.read() as tx:
            found |= dict.fromkeys(pools.all_texts(tx))
    return list(found)


def images(catalogue: Catalogue) -> Ids:
    """Return the ids of all images that any of the stores knows: sorted int64 of shape (ids,)."""
    found = np.empty(0, np.int64)
    for one in (*catalogue.bases, catalogue):
        with one.read() as tx:
            found = np.union1d(found, references.all_images(tx))
    return found


def prompts(catalogue: Catalogue, digest: str) -> list[str]:
    """Return the prefixes that texts of a space were encoded with, in any of the stores, sorted."""
    found: set[str] = set()
    for one in (*catalogue.bases, catalogue):
        with one.read() as tx:
            found.update(spaces.prompts(tx, digest))
    return sorted(found)
