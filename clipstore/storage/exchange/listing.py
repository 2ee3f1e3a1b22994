"""A listing: every vector of a space once, with what it is a vector of, a block at a time; bases included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from clipstore import keys
from clipstore.storage import overlay
from clipstore.storage import segments as files
from clipstore.storage.catalogue import contents, references, segments
from clipstore.storage.lookup import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.storage.catalogue import Catalogue, Tx
    from clipstore.storage.catalogue.segments import Modality
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.collect import KeysOf

_Fact = TypeVar("_Fact")

BLOCK = 8192
"""Rows in a block."""


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Some vectors with what they are of.

    Parameters
    ----------
    ids
        Image ids or vector keys, sorted; int64 of shape (rows,).
    vectors
        float32 of shape (rows, dim).
    facts
        One a row: of an image ``sha256, bytes, mode, width, height, flags``, of a text
        ``prefix, text``; empty where the catalogue does not know.
    """

    ids: Ids
    vectors: Vectors
    facts: list[dict[str, Any]]


@final
class Listing:
    """The vectors of one space and modality, sorted by id, each once.

    Parameters
    ----------
    catalogue
        Of the store.
    space
        The space.
    modality
        ``image`` or ``text``.
    keys_of
        Gives, for a space, its prefixes and raw texts, all their vector keys.
    """

    def __init__(self, catalogue: Catalogue, space: SpaceRow, modality: Modality, keys_of: KeysOf) -> None:
        self.space = space
        self.modality = modality
        self._stores = (*catalogue.bases, catalogue)
        self._prefixes = overlay.prompts(catalogue, space.digest)
        found, shelves, texts = [np.empty(0, np.int64)], [], []
        for one in self._stores:
            with one.read() as tx:
                rows = segments.all(tx, space.digest, modality)
                shelves.append(Shelf(one.folder, rows))
                found += [files.open(row.path(one.folder), row).ids for row in rows]
                texts += [_texts(tx, space, self._prefixes, keys_of)] if modality == "text" else []
        self._shelf = overlay.Stack(shelves)
        self.ids = np.unique(np.concatenate(found))
        self._texts = _first(texts) if texts else None

    def __len__(self) -> int:
        return len(self.ids)

    def blocks(self) -> Iterator[Block]:
        """Yield all vectors, block by block."""
        for start in range(0, len(self.ids), BLOCK):
            ids = self.ids[start : start + BLOCK]
            facts = self._image_facts(ids) if self._texts is None else self._text_facts(ids, *self._texts)
            yield Block(ids, self._shelf.gather(ids), facts)

    def _known(self, read: Callable[[Tx, list[int]], dict[int, _Fact]], ids: list[int]) -> dict[int, _Fact]:
        found: dict[int, _Fact] = {}
        for one in self._stores:
            with one.read() as tx:
                found |= read(tx, ids)
        return found

    def _image_facts(self, ids: Ids) -> list[dict[str, Any]]:
        found = self._known(contents.images, ids.tolist())
        return [
            {}
            if (row := found.get(id_)) is None
            else {
                "sha256": row.sha256.hex(),
                "bytes": row.bytes,
                "mode": row.mode,
                "width": row.width,
                "height": row.height,
                "flags": list(row.flags),
            }
            for id_ in ids.tolist()
        ]

    def _text_facts(self, ids: Ids, known_keys: Ids, owners: np.ndarray) -> list[dict[str, Any]]:
        if not len(known_keys):
            return [{} for _ in ids]
        places = np.minimum(np.searchsorted(known_keys, ids), len(known_keys) - 1)
        known = known_keys[places] == ids
        texts = self._known(contents.texts, owners[places[known], 1].tolist())
        return [
            {"prefix": self._prefixes[int(owners[place, 0])], "text": texts[int(owners[place, 1])]} if ok else {}
            for place, ok in zip(places.tolist(), known.tolist(), strict=True)
        ]


def _texts(tx: Tx, space: SpaceRow, prefixes: Sequence[str], keys_of: KeysOf) -> tuple[Ids, np.ndarray]:
    """Return sorted vector keys, and of each the number of its prefix and the id of its text."""
    found, owners = [np.empty(0, np.int64)], [np.empty((0, 2), np.int64)]
    for ids, texts in references.all_texts(tx):
        vector_keys = keys_of(space, prefixes, texts)
        if vector_keys is None:
            break
        found.append(vector_keys)
        numbers = np.repeat(np.arange(len(prefixes)), len(texts))
        owners.append(np.stack([numbers, np.tile(np.array(ids, np.int64), len(prefixes))], axis=1))
    return _first([(np.concatenate(found), np.concatenate(owners))])


def _first(parts: Sequence[tuple[Ids, np.ndarray]]) -> tuple[Ids, np.ndarray]:
    """Return sorted keys, each once, with what stands beside each where it comes first."""
    joined, first = np.unique(np.concatenate([ids for ids, _ in parts]), return_index=True)
    return joined, np.concatenate([owners for _, owners in parts])[first]


def hex_ids(ids: Ids) -> list[str]:
    """Return ids as they are written outside."""
    return [keys.to_hex(id_) for id_ in ids.tolist()]
