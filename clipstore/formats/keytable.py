"""The key table: under which kinds of key an image may be named, and what each id means under each.

A kind is a column of the table: relative path, file name, stem, number in the name, ids of an
annotation file. :mod:`clipstore.formats.matching` chooses among them; nothing is chosen here.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from clipstore.formats.images import has_image_extension

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clipstore.items import ItemKey


@final
@dataclass(frozen=True, slots=True)
class Resolved:
    """What all ids mean under one kind of key.

    Parameters
    ----------
    title, flag
        The kind in words, and its word for ``--id-key``.
    targets
        The index of the image of each id; None where there is none, or not exactly one.
    ambiguous
        Place of an id -> the indices of the images that it fits, where those are several.
    folded
        Places of ids that fit only when case and Unicode form are ignored.
    refused
        Why a kind that could have served does not count.
    """

    title: str
    flag: str
    targets: list[int | None]
    ambiguous: dict[int, tuple[int, ...]] = field(default_factory=dict)
    folded: tuple[int, ...] = ()
    refused: str = ""

    @property
    def count(self) -> int:
        """How many ids mean exactly one image."""
        return len(self.targets) - self.targets.count(None)

    @property
    def complete(self) -> bool:
        """Whether every id means exactly one image."""
        return None not in self.targets


def base_name(path: str) -> str:
    """Return what follows the last slash."""
    return path.rsplit("/", 1)[-1]


def stem(path: str) -> str:
    """Return the base name without its last extension, as ``pathlib`` does."""
    name = base_name(path)
    dot = name.rfind(".")
    return name[:dot] if 0 < dot < len(name) - 1 else name


def tidy(path: str) -> str:
    r"""Return a path with ``/`` for ``\`` and without a leading ``./``."""
    path = path.replace("\\", "/")
    return path.removeprefix("./")


def fold(text: str) -> str:
    """Return a text without differences of case and Unicode form."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def resolve(title: str, flag: str, ids: Sequence[str | None], keys: Sequence[str | None]) -> Resolved:
    """Look up each id among the keys of the images: exactly, else without case and Unicode form.

    Parameters
    ----------
    title, flag
        Of the kind.
    ids
        Each id as a key of this kind; None: the id can't be one.
    keys
        The key of each image; None: it has none.
    """
    exact, twice = _index(keys)
    targets: list[int | None] = [exact.get(key) if key is not None else None for key in ids]
    ambiguous = {place: twice[key] for place, key in enumerate(ids) if key in twice} if twice else {}
    for place in ambiguous:
        targets[place] = None
    folded: list[int] = []
    if any(target is None and _has_letters(key) for target, key in zip(targets, ids, strict=True)):
        loose, loose_twice = _index([None if key is None else fold(key) for key in keys])
        for place, target in enumerate(targets):
            key = ids[place]
            if target is None and key is not None and place not in ambiguous:
                near = fold(key)
                if near in loose_twice:
                    ambiguous[place] = loose_twice[near]
                elif near in loose:
                    targets[place] = loose[near]
                    folded.append(place)
    return _without_shared(Resolved(title, flag, targets, ambiguous, tuple(folded)))


def _has_letters(key: str | None) -> bool:
    """Return whether a key can differ in case or Unicode form at all: numbers can't."""
    return key is not None and not key.isdigit()


def _index(keys: Iterable[str | None]) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    found: dict[str, int] = {}
    twice: dict[str, tuple[int, ...]] = {}
    for index, key in enumerate(keys):
        if key is not None:
            first = found.setdefault(key, index)
            if first != index:
                twice[key] = (*twice.get(key, (first,)), index)
    return found, twice


def _without_shared(resolved: Resolved) -> Resolved:
    """Unresolve ids that share an image with another id: two names of one image are a guess, not a match."""
    targets = resolved.targets
    taken = [target for target in targets if target is not None]
    if len(set(taken)) == len(taken):
        return resolved
    seen: set[int] = set()
    shared = {target for target in taken if target in seen or seen.add(target)}  # type: ignore[func-returns-value]
    for place, target in enumerate(targets):
        if target in shared and target is not None:
            resolved.ambiguous[place] = (target,)
            targets[place] = None
    return resolved


def by_path(ids: Sequence[ItemKey], paths: Sequence[str]) -> Resolved:
    """Resolve ids that are paths: equal, or one the tail of the other at a slash.

    So ``val2014/a.jpg`` meets ``a.jpg`` in the folder ``val2014``, and the other way round. Where
    one side alone ends like an image file, what is left without that end counts too: ``val2014/a``.
    """
    wanted = [tidy(key) if type(key) is str else None for key in ids]
    found = resolve("relative path", "path", wanted, paths)
    if found.complete or not any(key is not None and "/" in key for key in wanted):
        return found
    buckets: dict[str, list[int]] = {}
    for index, path in enumerate(paths):
        for name in dict.fromkeys((fold(base_name(path)), fold(base_name(bare(path))))):
            buckets.setdefault(name, []).append(index)
    folded = set(found.folded)
    for place, key in enumerate(wanted):
        if key is None or "/" not in key or found.targets[place] is not None or place in found.ambiguous:
            continue
        fits, is_folded = _tails(key, [(index, paths[index]) for index in buckets.get(fold(base_name(key)), ())])
        if not fits:
            near = [(index, paths[index]) for index in buckets.get(fold(base_name(bare(key))), ())]
            fits, is_folded = _bare_tails(key, near)
        folded |= {place} if is_folded and len(fits) == 1 else set()
        if len(fits) == 1:
            found.targets[place] = fits[0]
        elif fits:
            found.ambiguous[place] = tuple(fits)
    return _without_shared(replace(found, folded=tuple(sorted(folded))))


def _tails(key: str, near: Sequence[tuple[int, str]]) -> tuple[list[int], bool]:
    """Return the indices of the paths that end like the key, and whether only without case and Unicode form."""
    fits = [index for index, path in near if _is_tail(key, path)]
    return (fits, False) if fits else ([index for index, path in near if _is_tail(fold(key), fold(path))], True)


def _bare_tails(key: str, near: Sequence[tuple[int, str]]) -> tuple[list[int], bool]:
    """Do the same for paths of which the key, or which themselves, alone lack the end of an image file."""
    ends = has_image_extension(key)
    return _tails(bare(key), [(index, bare(path)) for index, path in near if has_image_extension(path) != ends])


def bare(path: str) -> str:
    """Return a path without its extension where it ends like an image file."""
    return path[: path.rindex(".")] if has_image_extension(path) else path


def _is_tail(key: str, path: str) -> bool:
    return key == path or key.endswith(f"/{path}") or path.endswith(f"/{key}")


def by_text(title: str, flag: str, ids: Sequence[ItemKey], keys: Sequence[str | None]) -> Resolved:
    """Resolve ids by their text."""
    return resolve(title, flag, [str(key) for key in ids], keys)


def by_annotation(
    ids: Sequence[ItemKey], paths: Sequence[str], names: Sequence[str], file_names: Mapping[ItemKey, str]
) -> Resolved:
    """Resolve ids through an annotation file's file names: by path, else by base name."""
    listed = {str(key): tidy(name) for key, name in file_names.items()}
    wanted = [listed.get(str(key)) for key in ids]
    title, flag = "ids of the annotation file", "annotation"
    paths_found = resolve(title, flag, wanted, paths)
    if paths_found.complete:
        return paths_found
    found = resolve(title, flag, [None if name is None else base_name(name) for name in wanted], names)
    return found if found.count > paths_found.count else paths_found
