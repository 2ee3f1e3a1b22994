"""Founding: a new store with its settings. Where its catalogue is, how vectors are stored, which stores it rests on."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clipstore.errors import ClipstoreError, InputError, NotAStore
from clipstore.storage import durable, settings_file, spool
from clipstore.storage.catalogue import Catalogue, settings, spaces
from clipstore.storage.exchange import manifest
from clipstore.storage.location import CATALOGUE, SETTINGS, locate
from clipstore.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

Dtype = Literal["float32", "float16"]


def found(
    path: str | os.PathLike[str],
    *,
    catalogue: str | None = None,
    dtype: Dtype | None = None,
    bases: Sequence[str | os.PathLike[str]] = (),
    is_base: bool | None = None,
) -> Store:
    """Make a store, or give settings to one that is there; return it open.

    Parameters
    ----------
    path
        The store's folder.
    catalogue
        URL of a PostgreSQL catalogue, without password; for a new store only.
    dtype
        How vectors of spaces to come are stored.
    bases
        Stores to rest on: their vectors are read first, their eval sets and model names are taken over now.
        Where one rests on others itself, so will this store; of names, those count that the one itself knows.
    is_base
        Mark this store as one that others rest on.

    Raises
    ------
    InputError
        When the store is there and its catalogue lies elsewhere, or has spaces of another ``dtype``.
    NotAStore
        When the folder, or a base, is no store.
    BadFormat
        When ``catalogue`` is no PostgreSQL URL, or holds a password.
    """
    folder = Path(path)
    if folder.exists():
        locate(folder, create=False)  # refuses a folder of other things, before a setting makes it look like a store
    wanted = settings_file.read(folder)
    before = dict(wanted)
    if catalogue is not None and wanted.get("catalogue") != catalogue:
        _refuse_moving(folder, wanted)
        wanted["catalogue"] = catalogue
    below: set[Path] = set()
    if bases:
        wanted["bases"], below = _named(folder, bases, wanted.get("bases", []))
    if is_base is not None:
        wanted["base"] = is_base
    _write(folder, before, wanted)
    try:
        opened = Catalogue.open(folder)
    except ClipstoreError:
        _write(folder, wanted, before)
        raise
    try:
        if dtype is not None:
            _set_dtype(opened, dtype)
        _take_names(opened, below)
    except BaseException:
        opened.close()
        raise
    return Store(opened)


def _refuse_moving(folder: Path, known: dict[str, object]) -> None:
    if known.get("catalogue") is not None or (folder / CATALOGUE).exists():
        msg = f"{folder}: this store has its catalogue elsewhere already: make a new store, then `store merge` this one"
        raise InputError(msg)


def _named(folder: Path, bases: Sequence[str | os.PathLike[str]], known: Sequence[str]) -> tuple[list[str], set[Path]]:
    """Return the bases to write down, each after those that it rests on itself, and which are only so underneath."""
    here = folder.resolve()
    named, below = list(known), set[Path]()
    asked = [Path(base).resolve() for base in bases]
    for base, place in zip(bases, asked, strict=True):
        if not place.is_dir():
            msg = f"{base}: there is no store here to rest on: check the path of --base"
            raise NotAStore(msg)
        for one in (*settings_file.bases(place), place):
            if one == here:
                way = "" if one == place else f" by way of {base}"
                msg = f"{folder}: a store can't rest on itself{way}: name another --base"
                raise InputError(msg)
            relative = os.path.relpath(one, here)
            if relative not in named and str(one) not in named:
                named.append(relative)
                if one not in asked:
                    below.add(one)
    return named, below


def _write(folder: Path, before: dict[str, object], wanted: dict[str, object]) -> None:
    if wanted == before:
        return
    if wanted:
        settings_file.write(folder, wanted)
    else:
        durable.discard(folder / SETTINGS)


def _set_dtype(catalogue: Catalogue, dtype: Dtype) -> None:
    with catalogue.write() as tx:
        other = [space.digest for space in spaces.all(tx) if space.dtype != dtype]
        if other:
            msg = f"{catalogue.folder}: {len(other)} spaces here are not stored as {dtype}: it is chosen at creation"
            raise InputError(msg)
        settings.set(tx, "dtype", dtype)


def _take_names(catalogue: Catalogue, below: Collection[Path]) -> None:
    """Take over the eval sets, systems and model names of the bases, so that they are known by name here.

    Those ``below`` a base are passed by: what counts of their names the base took over itself.

    Raises
    ------
    InputError
        When a name stands for other content here.
    """
    for base in catalogue.bases:
        if base.folder in below:
            continue
        with base.read() as tx:
            records = [*manifest.pack_names(tx), *manifest.pack_sets(tx)]
        manifest.refuse_clashes(catalogue, records, str(base.folder))
        with catalogue.write() as tx:
            manifest.put(tx, records)


@contextmanager
def spooling(path: str | os.PathLike[str]) -> Iterator[Store]:
    """Give a store on this host alone that rests on the one at ``path``; at the end all that it got goes to the spool.

    Where that one rests on others, so does this.

    Nothing is spooled when the block raises.

    Raises
    ------
    NotAStore
        When there is no store at ``path``.
    CannotWrite
        When the spool can't be written.
    """
    scratch = Path(tempfile.mkdtemp(prefix="clipstore-spool-"))
    place = scratch / "store"
    try:
        found(place, dtype=_dtype_of(Path(path)), bases=[path]).close()
        with Store.open(place) as store:
            yield store
            spool.deliver(store.catalogue, Path(path))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _dtype_of(folder: Path) -> Dtype | None:
    catalogue = Catalogue.open(folder, create=False, base=True)
    try:
        with catalogue.read() as tx:
            return "float16" if settings.get(tx, "dtype") == "float16" else None
    finally:
        catalogue.close()
