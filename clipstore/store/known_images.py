"""Known images: those that the store has seen as files, found again by their ids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from clipstore import keys
from clipstore.errors import NotStored
from clipstore.items import Image
from clipstore.storage import overlay
from clipstore.store.identify import Failure, Identified, identify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.storage.catalogue import Catalogue
    from clipstore.store.progress import Progress


@final
@dataclass(frozen=True, slots=True)
class Found:
    """Files of images that were known by their ids.

    Parameters
    ----------
    images, identified
        Those that still hold what they held, and their ids.
    failures
        Those that don't, or can't be read.
    """

    images: list[Image]
    identified: Identified
    failures: tuple[Failure, ...]


def find(catalogue: Catalogue, ids: Sequence[int], shown: str, progress: Progress) -> Found:
    """Find the files of distinct images.

    Parameters
    ----------
    catalogue
        Of the store.
    ids
        Of the images.
    shown
        The model that they are to be encoded with, for the message.
    progress
        Told about the stages.

    Raises
    ------
    NotStored
        When no file of one is known.
    """
    paths = overlay.paths(catalogue, ids)
    lost = [id_ for id_ in ids if id_ not in paths]
    if lost:
        msg = (
            f"{len(lost):,} images are not encoded with {shown}, and the store knows no file of them "
            f"(first: {keys.to_hex(lost[0])}): add the set again with --images"
        )
        raise NotStored(msg)
    wanted = [(id_, Image(Path(path), path)) for id_, path in paths.items()]
    found = identify(catalogue, [image for _, image in wanted], progress)
    read = list(zip(wanted, found.ids, strict=True))
    same = [(id_, image) for (id_, image), now in read if now == id_]
    other = [
        Failure(image.name, "holds another image than the one that was saved")
        for (id_, image), now in read
        if now not in {None, id_}
    ]
    identified = Identified(tuple(id_ for id_, _ in same), ())
    return Found([image for _, image in same], identified, (*found.failures, *other))
