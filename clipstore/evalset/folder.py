"""Where ids are met by images: the files under a folder, or images given by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.items import Image


@final
@dataclass(frozen=True, slots=True)
class Folder:
    """The image files under a folder.

    Parameters
    ----------
    path
        The folder.
    files
        Relative paths of its image files.
    """

    path: Path
    files: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Place:
    """One image, and its path below the folder if it is a file."""

    image: Image
    path: str | None


@final
@dataclass(frozen=True, slots=True)
class Placed:
    """The place of each id, None where it has none, and how ids met."""

    places: list[Place | None]
    kind: str
    warnings: tuple[str, ...]
