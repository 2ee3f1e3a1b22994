"""What matching found: the image, or the key of an eval set, that each id means; and the line that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from clipstore.formats.values import Captions
    from clipstore.items import ItemKey


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """Which image file each id means.

    Parameters
    ----------
    kind, flag
        The kind of key in words, and for ``--id-key``.
    ids
        Each id once, as it came, in order of first appearance.
    paths
        The relative path of each id's image; None where it has none.
    warnings
        What the user should know, such as ids that fit only without regard to case.
    """

    kind: str
    flag: str
    ids: list[ItemKey]
    paths: list[str | None]
    warnings: tuple[str, ...] = ()

    @property
    def unmatched(self) -> list[ItemKey]:
        """Ids without an image."""
        return [key for key, path in zip(self.ids, self.paths, strict=True) if path is None]

    def by_id(self) -> dict[ItemKey, str]:
        """Return the image of each id that has one."""
        return {key: path for key, path in zip(self.ids, self.paths, strict=True) if path is not None}


@final
@dataclass(frozen=True, slots=True)
class MatchedKeys:
    """Which key of an eval set each id means; fields as in :class:`Matched`."""

    kind: str
    flag: str
    ids: list[ItemKey]
    keys: list[ItemKey | None]
    warnings: tuple[str, ...] = ()

    @property
    def unmatched(self) -> list[ItemKey]:
        """Ids that mean no key."""
        return [key for key, found in zip(self.ids, self.keys, strict=True) if found is None]

    def by_id(self) -> dict[ItemKey, ItemKey]:
        """Return the key of each id that has one."""
        return {key: found for key, found in zip(self.ids, self.keys, strict=True) if found is not None}


def describe(captions: Captions, matched: Matched | MatchedKeys | None = None) -> str:
    """Say in one line what was recognised and how its ids were matched.

    Such as ``blip.json: COCO results, 5,000 captions, ids = number in file name, 5,000/5,000 matched``.
    """
    images = f" of {len(set(captions.ids)):,} images (n-best)" if captions.is_nbest else ""
    plural = "" if len(captions.texts) == 1 else "s"
    parts = [f"{captions.source}: {captions.format}", f"{len(captions.texts):,} caption{plural}{images}"]
    if matched is not None:
        total = len(matched.ids)
        parts += [f"ids = {matched.kind}", f"{total - len(matched.unmatched):,}/{total:,} matched"]
    return ", ".join([*parts, *captions.notes])
