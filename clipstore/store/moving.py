"""Moving: vectors out of a store and into one, as Parquet or NumPy files, from other stores and other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clipstore.errors import BadFormat, InputError
from clipstore.storage.catalogue import Catalogue, segments, spaces
from clipstore.storage.exchange import arrays, clip_retrieval, full, manifest, merging, parquet
from clipstore.storage.exchange.intake import Taken
from clipstore.storage.exchange.listing import Listing
from clipstore.store.upkeep import vector_keys

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from clipstore.storage.exchange.full import Copied
    from clipstore.storage.exchange.merging import Merged
    from clipstore.store.store import Store

Format = Literal["parquet", "npy"]

_WRITERS = {"parquet": parquet.write, "npy": arrays.write}


def export(store: Store, folder: str | os.PathLike[str], kind: Format = "parquet") -> list[tuple[Path, int]]:
    """Write every vector with what it is of, one file a space and modality; return paths and numbers of vectors.

    Raises
    ------
    InputError
        When the store holds no vectors, or pyarrow is missing.
    CannotWrite
        When the disk is full or the folder can't be written.
    """
    catalogue = store.catalogue
    with catalogue.read() as tx:
        known = {space.digest: space for space in spaces.all(tx)}
        groups = sorted({(row.digest, row.modality) for row in segments.all(tx)})
        names = list(manifest.pack_names(tx))
    if not groups:
        msg = f"{store.folder}: holds no vectors, so there is nothing to export"
        raise InputError(msg)
    done = []
    for digest, modality in groups:
        listing = Listing(catalogue, known[digest], modality, vector_keys)
        mine = [record for record in names if digest in record]
        done.append((_WRITERS[kind](listing, Path(folder), mine), len(listing)))
    return done


def export_full(store: Store, folder: str | os.PathLike[str], *, link: bool = True) -> Copied:
    """Copy the whole store, soundly while writers work; see :func:`clipstore.storage.exchange.full.export`."""
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

    Raises
    ------
    InputError
        When an eval set or a system has other content under the same name here, or a store is merged into itself.
    NotAStore
        When one of the others is no store.
    """
    done = []
    for other in others:
        if Path(other).resolve() == store.folder.resolve():
            msg = f"{other}: is the store itself: name another one to merge"
            raise InputError(msg)
        catalogue = Catalogue.open(Path(other), create=False, base=True)
        try:
            done.append(merging.merge(store.catalogue, catalogue))
        finally:
            catalogue.close()
    return merging.total(done)
