"""Known images: those that the store has seen as files, found again by their ids."""

from __future__ import annotations

import os
from contextlib import suppress
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

_OTHER = "holds another image than the one that was saved"


@final
@dataclass(frozen=True, slots=True)
class Found:
    """Files of images that were known by their ids.

    Parameters
    ----------
    images, identified
        Those that still hold what they held, and their ids.
    failures
        Those of which no known file does, by the likeliest.
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
    same: dict[int, Image] = {}
    failures: dict[int, Failure] = {}
    for turn in range(max(map(len, paths.values()), default=0)):  # a moved file is known by its old path too
        wanted = [(id_, paths[id_][turn]) for id_ in ids if id_ not in same and turn < len(paths[id_])]
        images = [Image(Path(path), path) for _, path in wanted]
        found = identify(catalogue, images, progress)
        reasons = {failure.name: failure for failure in found.failures}
        for (id_, path), image, now in zip(wanted, images, found.ids, strict=True):
            if now == id_:
                same[id_] = image
            else:
                failures.setdefault(id_, reasons.get(path, Failure(path, _OTHER)))
    kept = {id_: same[id_] for id_ in ids if id_ in same}
    lasting = tuple(failures[id_] for id_ in ids if id_ not in same)
    return Found(list(kept.values()), Identified(tuple(kept), ()), lasting)


def read(id_: int, paths: Sequence[str]) -> tuple[str, bytes] | None:
    """Return the first of an image's paths that still holds it, and the bytes there; None where none does."""
    for path in paths:
        with suppress(OSError):
            data = Path(path).read_bytes()
            if keys.image_id(data) == id_:
                return path, data
    return None


def shown(paths: Sequence[str]) -> str:
    """Return what to call an image by its paths: the first that is there, else the first."""
    return paths[0] if len(paths) == 1 else next(filter(os.path.exists, paths), paths[0])
