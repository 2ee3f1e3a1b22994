"""Naming: which encoder a name stands for as a store remembers it, and whether its files are still the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clipstore import keys
from clipstore.errors import FingerprintMismatch, UnknownModel
from clipstore.storage.catalogue import spaces
from clipstore.storage.catalogue.spaces import AliasKey, AliasRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clipstore.encoders.names import ModelName
    from clipstore.encoders.protocol import Fingerprint, LoadOptions
    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.spaces import SpaceRow

    Stat = tuple[int | None, int | None, int | None]  # bytes, nanoseconds, number; None: there is no file

_BETWEEN = "\n"  # a folder and a weights file in one key
_LOADED = (".safetensors", ".bin", ".pt", ".pth", ".json", ".txt", ".model")
_DIGITS = 19  # of a digest in a note: ``sha256:`` and twelve more


def _places(name: ModelName) -> list[Path]:
    """Return the folder and the weights file on this machine that a name gives."""
    folder = [Path(name.architecture).expanduser()] if name.kind == "local-dir" else []
    return [place.resolve() for place in (*folder, *([] if name.weights is None else [Path(name.weights)]))]


def key_of(name: ModelName, options: LoadOptions) -> AliasKey:
    """Return what a store knows a name by: two paths to one file are one."""
    given = _BETWEEN.join(map(str, _places(name)))
    return AliasKey(name.shown, given, options.precision, options.preprocess, options.exif)


def stat_of(name: ModelName) -> Stat:
    """Return the stat of the files that a name loads; of several, one that changes with each of them."""
    places = _places(name)
    if not places or any(not place.exists() for place in places):
        return None, None, None
    files = [file for place in places for file in (_loaded(place) if place.is_dir() else [place])]
    stats = [(file.name, stat.st_size, stat.st_mtime_ns, stat.st_ino) for file in files for stat in [file.stat()]]
    if len(stats) == 1:
        return stats[0][1:]
    size, newest = sum(one[1] for one in stats), max((one[2] for one in stats), default=0)
    return size, newest, keys.text_id(repr(stats))


def _loaded(folder: Path) -> list[Path]:
    """Return the files of a model's folder that loading it may read."""
    return sorted(path for path in folder.iterdir() if path.suffix in _LOADED and path.is_file())


def is_changed(alias: AliasRow, now: Stat) -> bool:
    """Say whether files that are here are not those that the name loaded last."""
    return now[0] is not None and now != (alias.weights_size, alias.weights_mtime_ns, alias.weights_inode)


def recall(catalogues: Iterable[Catalogue], key: AliasKey, name: ModelName) -> tuple[AliasRow, SpaceRow] | None:
    """Return what a name stands for in the first store that knows it, None where none does.

    A file or folder that is neither here nor where it was when it was loaded, as in a store
    that moved without its weights, is known by its name alone.

    Raises
    ------
    UnknownModel
        When there is no such file, but one of its name where the store last loaded it.
    """
    known: list[tuple[AliasRow, SpaceRow]] = []
    for catalogue in catalogues:
        with catalogue.read() as tx:
            rows = {row.digest: row for row in spaces.all(tx)}
            known += [(alias, rows[alias.digest]) for alias in spaces.aliases(tx)]
    exact = next((pair for pair in known if pair[0].key == key), None)
    lost = _lost(name)
    if exact is not None or not lost:
        return exact
    alike = [pair for pair in known if _portable(pair[0].key) == _portable(key)]
    for alias, _ in alike:
        if all(Path(place).exists() for place in alias.key.weights.split(_BETWEEN)):
            _refuse(lost[0], alias)
    return alike[0] if len({alias.digest for alias, _ in alike}) == 1 else None


def _lost(name: ModelName) -> list[Path]:
    return [place for place in _places(name) if not place.exists()]


def _portable(key: AliasKey) -> tuple[object, ...]:
    """Return a key without the folders that its files lay in."""
    files = [Path(place).name for place in key.weights.split(_BETWEEN)]
    return key.model, files, key.precision, key.preprocess, key.exif


def _refuse(place: Path, alias: AliasRow) -> None:
    there = " and ".join(alias.key.weights.split(_BETWEEN))
    msg = f"{place}: no such file; {alias.key.model} was loaded from {there}: give that path, or correct this one"
    raise UnknownModel(msg)


def notes(name: ModelName, row: SpaceRow) -> tuple[str, ...]:
    """Return what is to be told of a space that a name stands for: that its weights were not looked at."""
    held = str(row.fields.get("weights", row.digest))[:_DIGITS]
    return tuple(
        f"weights taken on trust: {place.name} is not on this machine; the store's vectors are of digest {held}"
        for place in _lost(name)
    )


def mismatch(name: ModelName, known: Fingerprint, loaded: Fingerprint) -> FingerprintMismatch:
    """Return the error for a name that now loads another encoder: both, line by line, and the remedy."""
    lines = "\n  ".join(known.difference(loaded))
    msg = (
        f"{name.shown} now loads another encoder than the one this store was filled with "
        f"({known.digest} -> {loaded.digest}):\n  {lines}\n"
        "Use the earlier weights, or another --store for the new ones."
    )
    return FingerprintMismatch(msg)
