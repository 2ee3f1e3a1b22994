"""The eval set: the images that count, their ids and references, and how captions meet them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, final

from clipstore import formats, keys
from clipstore.errors import InputError, NotStored
from clipstore.evalset import reading
from clipstore.evalset.folder import Folder, Place, Placed
from clipstore.formats import Hints
from clipstore.items import EvalItem, Image
from clipstore.storage.catalogue import sets
from clipstore.storage.catalogue.sets import ItemRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import PIL.Image

    from clipstore.formats import Captions
    from clipstore.items import ItemKey
    from clipstore.store import Store

    ImageSource = str | Path | bytes | PIL.Image.Image
    Images = str | Path | Mapping[str, ImageSource] | Mapping[int, ImageSource] | Mapping[ItemKey, ImageSource]

MissingRule = Literal["error", "skip"]
"""Captions without image and images without caption: refuse, or leave them out."""

_SHOWN = 5


def listed(ids: Iterable[ItemKey]) -> str:
    """Return the first five ids for a message, and how many more there are."""
    every = list(ids)
    more = f", ... ({len(every) - _SHOWN:,} more)" if len(every) > _SHOWN else ""
    return ", ".join(str(id_) for id_ in every[:_SHOWN]) + more


@final
@dataclass(frozen=True)
class EvalSet:
    """The images that count, in order, with the user's own ids and references.

    Make one with :meth:`read` or :meth:`load`.

    Parameters
    ----------
    items
        The images; empty while the set is *open*, when no references say which they are:
        then the captions' ids are the set, see :meth:`covering`.
    name
        Its name in a store, if it has one.
    folder
        Where its images were found.
    sources
        Images that were given by id.
    unpaired
        Ids that references name and that have no image; left out under ``missing="skip"``.
    described
        Lines that say what was recognised and how ids matched.
    warnings
        What a user should know.
    paths
        The relative path of each item's image; None where it is no file.
    alternates
        Other ids of each item by name, such as ``cocoid``.
    how
        In a set that captions gave: how the ids of each file met images, by the file's shown name.
    """

    items: tuple[EvalItem, ...] = ()
    name: str | None = None
    folder: Folder | None = None
    sources: Mapping[ItemKey, Image] | None = None
    unpaired: tuple[ItemKey, ...] = ()
    described: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    paths: tuple[str | None, ...] = field(default=(), repr=False)
    alternates: Mapping[str, list[ItemKey]] = field(default_factory=dict, repr=False)
    how: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_open(self) -> bool:
        """True when nothing yet says which images count."""
        return not self.items

    @cached_property
    def keys(self) -> tuple[ItemKey, ...]:
        """The user's own ids, in order."""
        return tuple(item.key for item in self.items)

    @property
    def others(self) -> int:
        """How many files of the folder are not in the set."""
        used = len({path for path in self.paths if path is not None})
        return len(self.folder.files) - used if self.folder is not None else 0

    @classmethod
    def read(
        cls,
        images: Images | None = None,
        refs: formats.Source | None = None,
        *,
        annotations: formats.Source | None = None,
        hints: Hints | None = None,
        missing: MissingRule = "error",
    ) -> EvalSet:
        """Read an eval set from files or plain values.

        Parameters
        ----------
        images
            A folder, a Parquet file or tar that holds images, or id -> path, bytes or PIL image.
        refs
            References: a file, or id -> caption or list of captions.
        annotations
            A file that maps ids to file names, and gives references where ``refs`` is absent.
        hints
            Overrides for formats and id kinds.
        missing
            ``error`` refuses references without an image, ``skip`` leaves them out.

        Raises
        ------
        InputError
            When the folder is absent or empty, or ids do not meet images.
        """
        return reading.read(cls(), images, refs, annotations, hints or Hints(), missing)

    @property
    def has_images(self) -> bool:
        """Whether the set knows of images at all."""
        return (
            self.folder is not None
            or self.sources is not None
            or any(item.image is not None or item.image_id is not None for item in self.items)
        )

    def place(
        self,
        ids: Sequence[ItemKey],
        source: str,
        names: Mapping[ItemKey, str] | None,
        hints: Hints,
        missing: MissingRule,
    ) -> Placed:
        """Meet distinct ids with image files or given images; a place is None where there is no image."""
        if self.sources is not None:
            sources = self.sources
            matched = formats.match_keys(ids, list(sources), hints=hints, missing=missing, source=source)
            places = [None if key is None else Place(sources[key], None) for key in matched.keys]
            return Placed(places, matched.kind, matched.warnings)
        if self.folder is None:
            return Placed([None] * len(ids), "as given", ())
        folder = self.folder
        found = formats.match(ids, folder.files, hints=hints, file_names=names, missing=missing, source=source)
        placed = [None if path is None else Place(Image(folder.path / path, path), path) for path in found.paths]
        return Placed(placed, found.kind, found.warnings)

    def covering(
        self, systems: Iterable[Captions], hints: Hints | None = None, missing: MissingRule = "error"
    ) -> EvalSet:
        """Return this set, closed over the union of the captions' ids if it is still open.

        Raises
        ------
        Unpaired
            When captions have no image and ``missing`` is ``error``.
        InputError
            When no id meets an image.
        """
        if not self.is_open:
            return self
        hints = hints or Hints()
        seen: dict[ItemKey, tuple[EvalItem, str | None]] = {}
        how = {}
        warnings = list(self.warnings)
        for captions in systems:
            ids = captions.named_ids()
            placed = self.place(ids, captions.source, captions.file_names, hints, missing)
            how[captions.source] = placed.kind
            warnings += [line for line in placed.warnings if line not in warnings]
            for key, place in zip(ids, placed.places, strict=True):
                if place is None and self.has_images:
                    continue
                path = place.path if place is not None else None
                mark = str(key) if place is None else place.image.name
                seen.setdefault(mark, (EvalItem(key, place.image if place else None), path))
        items = list(seen.values())
        return replace(
            self,
            items=tuple(item for item, _ in items),
            paths=tuple(path for _, path in items),
            warnings=tuple(warnings),
            how=how,
        )

    def of_all_images(self) -> EvalSet:
        """Return this set, closed over all images of its folder if it is still open; ids are stems, or paths."""
        return reading.of_all_images(self) if self.is_open else self

    def rows_of(
        self,
        ids: Sequence[ItemKey],
        source: str = "captions",
        hints: Hints | None = None,
        missing: MissingRule = "error",
    ) -> formats.MatchedKeys:
        """Meet some distinct ids with the items: by the set's own ids, else by the files' names.

        Raises
        ------
        Unpaired
            When ids have no item and ``missing`` is ``error``.
        InputError
            When no id has one, or two ways to read the ids disagree.
        """
        names = {key: path for key, path in zip(self.keys, self.paths, strict=False) if path is not None}
        return formats.match_keys(
            ids,
            self.keys,
            hints=hints or Hints(),
            file_names=names or None,
            alternates=self.alternates or None,
            missing=missing,
            source=source,
        )

    def images(self) -> list[Image]:
        """Return the images of a set that was read from files, in order.

        Raises
        ------
        InputError
            When an item has none.
        """
        found = [item.image for item in self.items if item.image is not None]
        if len(found) != len(self.items):
            msg = "the eval set has items without an image: give images for all, or leave these out (--missing skip)"
            raise InputError(msg)
        return found

    def without_references(self) -> EvalSet:
        """Return the same images without their references, for work that looks at images alone."""
        return replace(self, items=tuple(replace(item, references=()) for item in self.items))

    def digest(self, image_ids: Sequence[int | None]) -> str:
        """Return the set's hash, 64 hex digits: over the images' contents and their references, in no order."""
        lines = []
        for item, id_ in zip(self.items, image_ids, strict=True):
            parts = ["" if id_ is None else keys.to_hex(id_), *sorted(item.references)]
            lines.append("\x1f".join(parts if id_ is not None else [str(item.key), *parts]))
        return hashlib.sha256("\x1e".join(sorted(lines)).encode()).hexdigest()

    # -- in a store ------------------------------------------------------------------------------

    @classmethod
    def load(cls, store: Store, name: str) -> EvalSet:
        """Read a saved eval set.

        Raises
        ------
        NotStored
            When the store has no set of this name; the message lists those it has.
        """
        with store.catalogue.read() as tx:
            row = sets.get(tx, name)
            known = [summary.name for summary in sets.names(tx)] if row is None else []
        if row is None:
            there = f"there is: {', '.join(known)}" if known else "it has none yet: clipstore add -t SET makes one"
            msg = f"the store has no eval set called {name!r}; {there}"
            raise NotStored(msg)
        items = tuple(EvalItem(item.key, None, item.image_id, item.references, item.tags) for item in row.items)
        paths, alternates = row.origin.get("paths", ()), row.origin.get("alternates", {})
        return cls(items=items, name=name, paths=tuple(paths), alternates=alternates)

    def origin(self) -> dict[str, object]:
        """Return what a store keeps of where the set came from: its files' relative paths and other ids."""
        return {"paths": list(self.paths), "alternates": {name: list(ids) for name, ids in self.alternates.items()}}

    def rows(self, image_ids: Sequence[int | None]) -> list[ItemRow]:
        """Return the set as the catalogue keeps it."""
        return [
            ItemRow(item.key, id_, item.references, dict(item.tags))
            for item, id_ in zip(self.items, image_ids, strict=True)
        ]
