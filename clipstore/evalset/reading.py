"""Files and plain values -> an eval set: which images the references name, and where they lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from clipstore import formats
from clipstore.errors import InputError, Unpaired
from clipstore.evalset.folder import Folder
from clipstore.formats.images import has_image_extension
from clipstore.formats.keytable import base_name, tidy
from clipstore.formats.source import is_url
from clipstore.items import EvalItem, Image

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from clipstore.evalset.evalset import EvalSet, Images, ImageSource, MissingRule
    from clipstore.evalset.folder import Placed
    from clipstore.formats import Hints, References
    from clipstore.items import ItemKey


def read(
    empty: EvalSet,
    images: Images | None,
    refs: formats.Source | None,
    annotations: formats.Source | None,
    hints: Hints,
    missing: MissingRule,
) -> EvalSet:
    """Fill an empty eval set: see :meth:`clipstore.EvalSet.read`."""
    notes = None if annotations is None else formats.read_references(annotations, hints)
    references = notes if refs is None else formats.read_references(refs, hints)
    empty = _with_images(empty, images, hints)
    if references is None:
        return empty
    names = notes.file_names if notes is not None and notes.file_names else references.file_names
    closed = _closed(empty, references, names, hints, missing)
    return closed if notes is None or refs is None else _with_ids_of(closed, notes)


def _with_images(evalset: EvalSet, images: Images | None, hints: Hints) -> EvalSet:
    if images is None:
        return evalset
    if isinstance(images, (str, Path)):
        path = Path(images)
        if path.is_file() or _of_shards(path):
            return replace(evalset, sources=_embedded(path, hints))
        return replace(evalset, folder=_folder(path))
    return replace(evalset, sources={key: _image(key, source) for key, source in images.items()})


def _closed(
    evalset: EvalSet, references: References, names: Mapping[ItemKey, str] | None, hints: Hints, missing: MissingRule
) -> EvalSet:
    placed = _place(evalset, references, names, hints, missing)
    unpaired = [key for key, place in zip(references.ids, placed.places, strict=True) if place is None]
    tags = references.tags or [{}] * len(references.ids)
    rows = zip(references.ids, references.texts, tags, placed.places, strict=True)
    items = [
        (EvalItem(key, place.image if place else None, None, texts, tag), place.path if place else None)
        for key, texts, tag, place in rows
        if place is not None or not evalset.has_images
    ]
    count = sum(len(texts) for texts in references.texts)
    described = (
        f"{references.source}: {references.format}, {_counted(len(references.ids), 'image')}, "
        f"{_counted(count, 'reference')}, "
        f"ids = {placed.kind}, {len(items):,}/{len(references.ids):,} matched"
    )
    alternates = {
        name: [value for value, place in zip(values, placed.places, strict=True) if place or not evalset.has_images]
        for name, values in references.alternate_ids.items()
    }
    return replace(
        evalset,
        items=tuple(item for item, _ in items),
        paths=tuple(path for _, path in items),
        unpaired=tuple(unpaired) if evalset.has_images else (),
        alternates=alternates,
        described=(*evalset.described, described, *references.notes),
        warnings=(*evalset.warnings, *placed.warnings, *_left_out(references, unpaired, evalset)),
    )


def _place(
    evalset: EvalSet, references: References, names: Mapping[ItemKey, str] | None, hints: Hints, missing: MissingRule
) -> Placed:
    """Place the images of references; a kind of key that a command names may be that of its captions alone."""
    try:
        return evalset.place(references.ids, references.source, names, hints, missing)
    except InputError as error:
        if not hints.shared or hints.id_key is None or isinstance(error, Unpaired):
            raise
        try:
            return evalset.place(references.ids, references.source, names, replace(hints, id_key=None), missing)
        except InputError:
            raise error from None


def _with_ids_of(evalset: EvalSet, notes: References) -> EvalSet:
    """Give each item the id that an annotation file has for its image, where it has one for all of them."""
    listed = {base_name(tidy(name)): key for key, name in (notes.file_names or {}).items()}
    found = [None if path is None else listed.get(base_name(path)) for path in evalset.paths]
    ids = [key for key in found if key is not None]
    if not ids or len(ids) < len(found) or len(set(ids)) < len(ids) or len(listed) < len(notes.file_names or {}):
        return evalset
    return replace(evalset, alternates={**evalset.alternates, "annotation": ids})


def of_all_images(evalset: EvalSet) -> EvalSet:
    """Close an open set over all the images that were given, as where no references and no captions name any.

    An image in a folder is called by its file's stem; by its path where two files have one stem.
    """
    if evalset.sources is not None:
        return replace(evalset, items=tuple(EvalItem(key, image) for key, image in evalset.sources.items()))
    if evalset.folder is None:
        return evalset
    folder, files = evalset.folder.path, evalset.folder.files
    stems = [PurePosixPath(path).stem for path in files]
    keys = stems if len(set(stems)) == len(stems) else list(files)
    items = [EvalItem(key, Image(folder / path, path)) for key, path in zip(keys, files, strict=True)]
    return replace(evalset, items=tuple(items), paths=tuple(files))


def _left_out(references: References, unpaired: list[ItemKey], evalset: EvalSet) -> list[str]:
    if not unpaired or not evalset.has_images:
        return []
    first = ", ".join(str(key) for key in unpaired[:5])
    have = "id has" if len(unpaired) == 1 else "ids have"
    return [f"{references.source}: left out: {len(unpaired):,} {have} no image (first: {first})"]


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _of_shards(path: Path) -> bool:
    """Return whether images come in shards: a glob, or a folder that holds archives and no image file."""
    if not path.is_dir():
        return not path.exists() and any(mark in str(path) for mark in "*?[")
    if not any(file.suffix in {".tar", ".parquet"} for file in path.iterdir()):
        return False
    try:
        return not formats.image_files(path)
    except InputError:  # it holds no image
        return True


def _embedded(path: Path, hints: Hints) -> dict[ItemKey, Image]:
    """Return the images inside a Parquet file or a tar, by id."""
    try:
        found = {key: Image(data, str(key)) for key, data in formats.embedded_images(path, hints)}
    except InputError:
        if has_image_extension(path.name):
            msg = f"{path}: is one image; --images takes the folder that holds it"
            raise InputError(msg) from None
        if not hints.shared:
            raise
        found = {key: Image(data, str(key)) for key, data in formats.embedded_images(path)}
    if not found:
        msg = f"{path}: holds no images; --images takes a folder of images, or a Parquet file or tar that holds them"
        raise InputError(msg)
    return found


def _folder(path: Path) -> Folder:
    if not path.exists():
        url = ": URLs are not fetched, download the images first" if is_url(str(path)) else ""
        msg = f"{path}: there is no such image folder{url}"
        raise InputError(msg)
    files = formats.image_files(path)
    if not files:
        msg = f"{path}: holds no image files"
        raise InputError(msg)
    return Folder(path, tuple(files))


def _image(key: ItemKey, source: ImageSource) -> Image:
    if isinstance(source, str):
        return Image(Path(source), source)
    if isinstance(source, Path):
        return Image(source, str(source))
    return Image(source, str(key))


def leaving_out(evalset: EvalSet, rows: Collection[int]) -> EvalSet:
    """Return a set without some of its items, whose ids are remembered as unpaired."""
    kept = [row for row in range(len(evalset.items)) if row not in rows]
    return replace(
        evalset,
        items=tuple(evalset.items[row] for row in kept),
        paths=tuple(evalset.paths[row] for row in kept) if evalset.paths else (),
        alternates={name: [values[row] for row in kept] for name, values in evalset.alternates.items()},
        unpaired=(*evalset.unpaired, *(evalset.keys[row] for row in sorted(rows))),
    )
