"""Moving: vectors out of a store and into one, as Parquet or NumPy files, from other stores and other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clipstore.errors import BadFormat, InputError
from clipstore.storage import settings_file
from clipstore.storage.catalogue import Catalogue, segments, spaces
from clipstore.storage.exchange import arrays, clip_retrieval, full, manifest, merging, parquet
from clipstore.storage.exchange.intake import Taken
from clipstore.storage.exchange.listing import Listing
from clipstore.store.upkeep import vector_keys

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from clipstore.storage.catalogue.segments import Modality
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.exchange.full import Copied
    from clipstore.storage.exchange.merging import Merged
    from clipstore.store.store import Store

Format = Literal["parquet", "npy"]

_WRITERS = {"parquet": parquet.write, "npy": arrays.write}


def export(store: Store, folder: str | os.PathLike[str], kind: Format = "parquet") -> list[tuple[Path, int]]:
    """Write every vector with what it is of, one file a space and modality; return paths and numbers of vectors.

    Of a store that rests on others, their vectors too.

    Raises
    ------
    InputError
        When the store holds no vectors, or pyarrow is missing.
    CannotWrite
        When the disk is full or the folder can't be written.
    """
    catalogue = store.catalogue
    known: dict[str, SpaceRow] = {}
    groups: set[tuple[str, Modality]] = set()
    names: list[manifest.Record] = []
    for one in (catalogue, *catalogue.bases):
        with one.read() as tx:
            new = {space.digest: space for space in spaces.all(tx) if space.digest not in known}
            groups |= {(row.digest, row.modality) for row in segments.all(tx)}
            names += [record for record in manifest.pack_names(tx) if record[0] != "space" or record[1] in new]
        known |= new
    if not groups:
        msg = f"{store.folder}: holds no vectors, so there is nothing to export"
        raise InputError(msg)
    done = []
    for digest, modality in sorted(groups):
        listing = Listing(catalogue, known[digest], modality, vector_keys)
        mine = [record for record in names if digest in record]
        done.append((_WRITERS[kind](listing, Path(folder), mine), len(listing)))
    return done


def export_full(store: Store, folder: str | os.PathLike[str], *, link: bool = True) -> Copied:
    """Copy the whole store, soundly while writers work; see :func:`clipstore.storage.exchange.full.export`.

    What it rests on is not copied: the copy rests on the same stores.
    """
    return full.export(store.catalogue, Path(folder), link=link)


def take_in(
    store: Store,
    path: str | os.PathLike[str],
    *,
    declared: str | None = None,
    images: str | os.PathLike[str] | None = None,
) -> Taken:
    """Take in exported vectors, or a folder of clip-retrieval; nothing is encoded.

    Parameters
    ----------
    store
        Where to.
    path
        A file or folder that :func:`export` wrote, or a folder of clip-retrieval.
    declared
        For clip-retrieval: what encoder made it, such as ``ViT-B-32/openai``; kept apart as foreign.
    images
        For clip-retrieval: where its image files lie.

    Raises
    ------
    InputError
        When clip-retrieval's encoder is not declared.
    BadFormat
        When there is nothing of the kind, or a file is damaged.
    """
    place = Path(path)
    if place.is_dir() and clip_retrieval.is_one(place):
        if declared is None:
            msg = f"{place}: clip-retrieval does not say which encoder made this: declare it with --as MODEL"
            raise InputError(msg)
        return clip_retrieval.read(store.catalogue, place, declared, None if images is None else Path(images))
    found = [place] if place.is_file() else sorted((*place.glob("*.parquet"), *place.glob("*.npy")))
    if not found:
        msg = f"{place}: holds no .parquet or .npy of `clipstore store export`, and no img_emb or text_emb"
        raise BadFormat(msg)
    taken = Taken()
    for file in found:
        read = arrays.read if file.suffix == ".npy" else parquet.read
        taken += read(store.catalogue, file, vector_keys)
    return taken


def merge(store: Store, others: Sequence[str | os.PathLike[str]]) -> Merged:
    """Bring all that other stores hold into this one; nothing is encoded, the others are only read.

    Of a store that another rests on the vectors come too, with what they are of; not its eval sets and systems,
    which the other knows as far as it took them over. What this store rests on itself stays where it is.

    Raises
    ------
    InputError
        When an eval set or a system has other content under the same name here, or a store is merged into itself.
    NotAStore
        When one of the others is no store.
    """
    done = []
    near = {one.folder.resolve() for one in (store.catalogue, *store.catalogue.bases)}
    for other in others:
        if Path(other).resolve() == store.folder.resolve():
            msg = f"{other}: is the store itself: name another one to merge"
            raise InputError(msg)
        done.append(_merge(store, Path(other)))
        below = [base for base in settings_file.bases(Path(other)) if base not in near]
        done += [_merge(store, base, names=False) for base in below]
        near.update(below)
    return merging.total(done)


def _merge(store: Store, other: Path, *, names: bool = True) -> Merged:
    catalogue = Catalogue.open(other, create=False, base=True)
    try:
        return merging.merge(store.catalogue, catalogue, names=names)
    finally:
        catalogue.close()
