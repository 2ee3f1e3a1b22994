"""The image files of a benchmark: matched by path, name or stem, else as ids meet images everywhere in clipstore."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from clipstore import formats
from clipstore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def image_key(name: str) -> str:
    """Return what every release of a benchmark keeps of an image's name: no folder, nothing after the first dot."""
    return name.rpartition("/")[2].partition(".")[0]


def find(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return name -> file for each image that is in a folder.

    Names as the benchmarks have them are found by path, file name or what stands before the first dot; where that
    leaves some out, ids meet images by the strict rule of :func:`clipstore.formats.match`: ``391895`` is
    ``COCO_val2014_000000391895.jpg``.

    Parameters
    ----------
    folder
        Of images, at any depth.
    names
        As the benchmark has them: paths, file names or stems.

    Raises
    ------
    InputError
        When the folder is missing, holds no image, or none of these.
    """
    files = formats.image_files(folder)
    by_path = {path: path for path in files}
    by_name = {PurePosixPath(path).name: path for path in files}
    by_stem = {image_key(path): path for path in files}
    out: dict[str, Path] = {}
    distinct = list(dict.fromkeys(names))
    for name in distinct:
        found = by_path.get(name) or by_name.get(PurePosixPath(name).name) or by_stem.get(image_key(name))
        if found is not None:
            out[name] = folder / found
    return out if len(out) == len(distinct) else _by_rule(folder, distinct, files, out)


def _by_rule(folder: Path, names: list[str], files: list[str], found: dict[str, Path]) -> dict[str, Path]:
    """Return what the strict rule finds, if that is more."""
    try:
        matched = formats.match(names, files, missing="skip", source="the benchmark")
    except InputError as error:
        if found:
            return found
        msg = (
            f"none of the {len(names):,} images is in {folder}: the benchmark has {names[0]!r}, the folder "
            f"{files[0]!r}; give the folder of the benchmark's images with --images"
        )
        raise InputError(msg) from error
    more = {str(name): folder / path for name, path in matched.by_id().items()}
    return more if len(more) > len(found) else found
