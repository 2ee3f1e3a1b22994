"""Pools: the captions, or the images, among which is searched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore import keys as content_keys
from clipstore.errors import InputError
from clipstore.storage import overlay
from clipstore.storage.catalogue import sets
from clipstore.store import known_images

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
    from clipstore.formats import Captions
    from clipstore.items import ItemKey
    from clipstore.store import Progress, Space


@final
@dataclass(frozen=True, eq=False)
class TextPool:
    """Captions to search among; spellings that share a vector are one entry, the first.

    Parameters
    ----------
    name
        What messages call it.
    texts
        Vector key -> caption.
    whole
        Whether it is every text vector of the space, so that no filter is needed.
    owners
        The user's id of an image -> vector keys of captions that are its own.
    """

    name: str
    texts: Mapping[int, str]
    whole: bool = False
    owners: Mapping[ItemKey, frozenset[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def allowed(self) -> Ids | None:
        """The vector keys of the pool, int64; None where it is the whole space."""
        return None if self.whole else np.fromiter(self.texts, np.int64, len(self.texts))

    @classmethod
    def of_store(cls, space: Space, prefix: str) -> TextPool:
        """Return all texts of the store, and of those that it rests on, that have a vector under a prefix.

        Raises
        ------
        InputError
            When there is none.
        """
        prompts = overlay.prompts(space.catalogue, space.fingerprint.digest)
        wanted = [text for text in overlay.texts(space.catalogue) if text.strip()]
        vector_keys = space.text_keys(wanted, prefix)
        there = space.has("text", vector_keys)
        found = dict(zip(vector_keys[there].tolist()[::-1], _where(wanted, there)[::-1], strict=True))
        if not found:
            msg = (
                f"the store holds no captions encoded with {space.shown}: score or add some first, or give --pool FILE"
            )
            raise InputError(msg)
        whole = prompts == [prefix] and len(found) == space.shelf("text").rows
        return cls("the store", found, whole)

    @classmethod
    def of_captions(
        cls,
        space: Space,
        prefix: str,
        given: Iterable[Captions],
        *,
        encode: bool = True,
        progress: Progress | None = None,
    ) -> TextPool:
        """Return the captions of files, encoded where they are new; their images are their owners."""
        files_ = list(given)
        name = ", ".join(one.source for one in files_)
        rows = [(key, text) for one in files_ for key, text in zip(one.ids, one.texts, strict=True) if text.strip()]
        return cls._of_rows(space, prefix, name, rows, encode=encode, progress=progress)

    @classmethod
    def of_set(
        cls,
        space: Space,
        prefix: str,
        evalset: EvalSet,
        systems: Iterable[str] | None = None,
        *,
        encode: bool = True,
        progress: Progress | None = None,
    ) -> TextPool:
        """Return the captions of a saved set: its references and every system's, or some systems' alone.

        Raises
        ------
        NotStored
            When the set has no such system.
        """
        rows: list[tuple[ItemKey, str]] = []
        with space.catalogue.read() as tx:
            names = [row.name for row in sets.systems(tx, evalset.name or "")] if systems is None else list(systems)
            for name in names:
                rows += [(row.key, row.text) for row in sets.candidates(tx, evalset.name or "", name)]
        if systems is None:
            rows += [(item.key, text) for item in evalset.items for text in item.references]
        name = f"{evalset.name}: {', '.join(names)}" if systems is not None else str(evalset.name)
        return cls._of_rows(space, prefix, name, rows, encode=encode, progress=progress)

    @classmethod
    def _of_rows(
        cls,
        space: Space,
        prefix: str,
        name: str,
        rows: list[tuple[ItemKey, str]],
        *,
        encode: bool,
        progress: Progress | None,
    ) -> TextPool:
        rows = [row for row in rows if row[1].strip()]
        if not rows:
            msg = f"{name}: holds no captions to search among"
            raise InputError(msg)
        told = {} if progress is None else {"progress": progress}
        vector_keys = space.ensure_texts([text for _, text in rows], prefix, encode=encode, **told).keys.tolist()
        texts: dict[int, str] = {}
        owners: dict[ItemKey, set[int]] = {}
        for (image, text), key in zip(rows, vector_keys, strict=True):
            texts.setdefault(key, text)
            owners.setdefault(image, set()).add(key)
        return cls(name, texts, owners={image: frozenset(own) for image, own in owners.items()})


def _where(texts: list[str], flags: np.ndarray) -> list[str]:
    return [texts[row] for row in np.flatnonzero(flags).tolist()]


@final
@dataclass(frozen=True, eq=False)
class ImagePool:
    """Images to search among.

    Parameters
    ----------
    name
        What messages call it.
    keys
        Content id -> the user's own id, where a set says it.
    whole
        Whether it is every image of the space.
    """

    name: str
    keys: Mapping[int, ItemKey]
    whole: bool = False

    @property
    def allowed(self) -> Ids | None:
        """The content ids of the pool, int64; None where it is the whole space."""
        return None if self.whole else np.fromiter(self.keys, np.int64, len(self.keys))

    @classmethod
    def of_store(cls) -> ImagePool:
        """Return all images of a space."""
        return cls("the store", {}, whole=True)

    @classmethod
    def of_set(cls, evalset: EvalSet, image_ids: Iterable[int | None]) -> ImagePool:
        """Return the images of an eval set.

        Raises
        ------
        InputError
            When it has none.
        """
        pairs = zip(image_ids, evalset.keys, strict=True)
        found: dict[int, ItemKey] = {}
        for id_, key in pairs:
            if id_ is not None:
                found.setdefault(id_, key)
        if not found:
            msg = f"{evalset.name or 'the eval set'}: holds no images to search among"
            raise InputError(msg)
        return cls(evalset.name or "the eval set", found)

    def named(self, space: Space, ids: Iterable[int]) -> dict[int, ItemKey]:
        """Return what to call images: the user's id, else a known path, else the content id in hex."""
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in self.keys]
        paths = overlay.paths(space.catalogue, wanted) if wanted else {}
        names: dict[int, ItemKey] = dict(self.keys)
        for id_ in wanted:
            names[id_] = known_images.shown(paths[id_]) if id_ in paths else content_keys.to_hex(id_)
        return names
