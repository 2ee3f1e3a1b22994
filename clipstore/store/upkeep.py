"""Upkeep: a store's maintenance, where it needs more than storage. Verify and mend, collect, relink, remove.

What storage can't know of encoders is given to it here: which vector key a text has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from clipstore.encoders import canonical
from clipstore.encoders.protocol import Fingerprint
from clipstore.errors import Damaged, EncoderError, InputError
from clipstore.storage import collect, halves
from clipstore.storage.catalogue import Catalogue, files, sets
from clipstore.storage.check import check
from clipstore.storage.finding import Finding
from clipstore.storage.repair import rebuild, repair
from clipstore.store.text_keys import text_keys

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from clipstore.arrays import Ids
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.collect import Plan
    from clipstore.store.store import Store


def vector_keys(space: SpaceRow, prefixes: Sequence[str], texts: Sequence[str]) -> Ids | None:
    """Return the vector keys of raw texts under each prefix: int64 of shape (prefixes x texts,), prefix by prefix.

    None where the space's cleaning is not known: after its catalogue was lost, or to a newer clipstore.
    """
    if not space.fields:
        return None
    try:
        clean = canonical.cleaner(Fingerprint(space.fields).cleaning)
    except EncoderError:
        return None
    return text_keys(clean(prefix + text) for prefix in prefixes for text in texts)


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification found, and what a repair did."""

    found: tuple[Finding, ...]
    done: tuple[Finding, ...] = ()

    @property
    def damaged(self) -> bool:
        """Whether anything is not as it was committed."""
        return any(finding.severity == "damage" for finding in self.found)


def verify(path: str | os.PathLike[str], *, mend: bool = False) -> Verified:
    """Read every byte of a store and compare it with what was committed; mend it where that is asked.

    Parameters
    ----------
    path
        The store's folder.
    mend
        Mend what can be mended and set aside what can't; ``found`` is then what is left.

    Raises
    ------
    NotAStore
        When there is no store.
    CannotWrite
        When it is to be mended and can't be written.
    """
    folder = Path(path)
    done: list[Finding] = []
    try:
        catalogue = Catalogue.open(folder, create=False)
    except Damaged as error:
        if _is_open(folder):
            remedy = "run `clipstore store verify --repair --store` on the base that is named"
            return Verified((Finding("base", folder.name, str(error), remedy, "damage"),))
        if not mend:
            remedy = "run `clipstore store verify --repair`: it rebuilds the catalogue from the segments"
            return Verified((Finding("catalogue", folder.name, str(error), remedy, "damage"),))
        catalogue, done = rebuild(folder)
    try:
        found = check(folder, catalogue)
        if not mend or not (found or done):
            return Verified(tuple(found), tuple(done))
        if any(finding.kind == "catalogue" and "rebuild" in finding.remedy for finding in found):
            catalogue.close()
            catalogue, rebuilt = rebuild(folder)
            done += rebuilt
        else:
            done += repair(folder, catalogue)
        return Verified(tuple(check(folder, catalogue)), tuple(done))
    finally:
        catalogue.close()


def _is_open(folder: Path) -> bool:
    """Say whether a store's own catalogue can be read, whatever is wrong with its bases."""
    try:
        Catalogue.open(folder, create=False, base=True).close()
    except Damaged:
        return False
    return True


def unused(store: Store, *, unused_for: float = 90.0, forget_runs: float | None = None) -> Plan:
    """Return what nothing in a store refers to and was not used for so many days; nothing is taken away.

    Parameters
    ----------
    store
        The store.
    unused_for
        Days.
    forget_runs
        Days after which a run's record no longer holds what it used; None keeps all.

    Raises
    ------
    CannotWrite
        When the store is marked as a base.
    """
    return collect.plan(store.catalogue, vector_keys, unused_for=unused_for, forget_runs=forget_runs)


def relink(store: Store, old: str, new: str) -> int:
    """Say that a folder of images, with all below it, now lies elsewhere; return how many files that moves.

    Raises
    ------
    InputError
        When there is no such folder now, or the store knows no image file in the old one.
    """
    if not Path(new).is_dir():
        msg = f"{new}: there is no such folder: give the one in which the images of {old} lie now"
        raise InputError(msg)
    with store.catalogue.write() as tx:
        moved = files.relink(tx, str(Path(old).absolute()), str(Path(new).absolute()))
        known = files.roots(tx)
    if not moved:
        msg = f"{old}: no image file is known there; the store knows {', '.join(known) or 'none at all'}"
        raise InputError(msg)
    return moved


def remove(store: Store, set_name: str, system: str | None = None) -> None:
    """Take away an eval set with its systems, or one system of it; vectors stay until they are collected.

    Raises
    ------
    NotStored
        When there is no such set or system.
    """
    with store.catalogue.write() as tx:
        if system is None:
            sets.remove(tx, set_name)
        else:
            sets.remove_system(tx, set_name, system)


def sets_with(store: Store, system: str) -> list[str]:
    """Return the names of the eval sets that have a system of this name."""
    with store.catalogue.read() as tx:
        names = [summary.name for summary in sets.names(tx)]
        return [name for name in names if any(row.name == system for row in sets.systems(tx, name))]


def half_errors(store: Store) -> list[tuple[str, float]]:
    """Return, for each space that is stored as float16, how much a cosine was seen to move by it at most."""
    with store.catalogue.read() as tx:
        return sorted(halves.errors(tx).items())
