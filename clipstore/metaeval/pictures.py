"""The image files of a benchmark: matched by path, name or stem."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from clipstore import formats

if TYPE_CHECKING:
    from collections.abc import Iterable


def image_key(name: str) -> str:
    """Return what every release of a benchmark keeps of an image's name: no folder, nothing after the first dot."""
    return name.rpartition("/")[2].partition(".")[0]


def find(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return name -> file for each image that is in a folder.

    Parameters
    ----------
    folder
        Of images, at any depth.
    names
        As the benchmark has them: paths, file names or stems.

    Raises
    ------
    InputError
        When the folder is missing or holds no image.
    """
    files = formats.image_files(folder)
    by_path = {path: path for path in files}
    by_name = {PurePosixPath(path).name: path for path in files}
    by_stem = {image_key(path): path for path in files}
    out: dict[str, Path] = {}
    for name in dict.fromkeys(names):
        found = by_path.get(name) or by_name.get(PurePosixPath(name).name) or by_stem.get(image_key(name))
        if found is not None:
            out[name] = folder / found
    return out
