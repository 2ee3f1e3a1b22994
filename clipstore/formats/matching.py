"""Ids meet images, or the keys of an eval set: chooses one kind of key for all ids, or refuses.

A wrong pairing is worse than none. A kind is taken only when every id means exactly one image
under it; two such kinds that disagree are an error; where no kind serves every id, the best one
is taken only when no other kind contradicts it, and what it leaves is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from clipstore.errors import InputError, Unpaired
from clipstore.formats import keytable, nearmiss, numbers
from clipstore.formats.images import has_image_extension
from clipstore.formats.keytable import Resolved
from clipstore.formats.matched import Matched, MatchedKeys
from clipstore.formats.values import NO_HINTS, Hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clipstore.items import ItemKey

ID_KEYS = ("id", "path", "name", "stem", "number", "annotation", "cocoid", "imgid", "row")
"""The words that ``--id-key`` accepts."""

_FROM_FILE = frozenset({"annotation", "cocoid", "imgid"})
_ALTERNATES = {"annotation": "ids of the annotation file"}


def match(
    ids: Sequence[ItemKey],
    files: Sequence[str],
    *,
    hints: Hints = NO_HINTS,
    file_names: Mapping[ItemKey, str] | None = None,
    missing: Literal["error", "skip"] = "error",
    source: str = "captions",
) -> Matched:
    """Match ids with image files.

    Parameters
    ----------
    ids
        As they came; repeats are fine.
    files
        Relative POSIX paths, as :func:`clipstore.formats.image_files` gives them.
    hints
        ``id_key`` fixes the kind of key.
    file_names
        Id -> file name, from an annotation file.
    missing
        ``error``: an id without an image raises; ``skip``: it is in ``unmatched``. How a kind is
        chosen does not depend on it.
    source
        What messages call the ids.

    Raises
    ------
    InputError
        When no id has an image, an id fits several, or two kinds of key disagree.
    Unpaired
        When some ids have no image and ``missing`` is ``error``.
    """
    distinct = list(dict.fromkeys(ids))
    kinds = _file_kinds(distinct, files, hints, file_names)
    best = choose(kinds, distinct, list(files), source, "image")
    _refuse_missing(best, distinct, files, source, missing, "image")
    paths = [None if target is None else files[target] for target in best.targets]
    return Matched(best.title, best.flag, distinct, paths, _warnings(best, distinct, files))


def match_keys(
    ids: Sequence[ItemKey],
    keys: Sequence[ItemKey],
    *,
    hints: Hints = NO_HINTS,
    file_names: Mapping[ItemKey, str] | None = None,
    alternates: Mapping[str, Sequence[ItemKey]] | None = None,
    missing: Literal["error", "skip"] = "error",
    source: str = "captions",
) -> MatchedKeys:
    """Match ids with the keys of an eval set; ``"391895"`` meets ``391895``.

    Parameters
    ----------
    ids, hints, missing, source
        As in :func:`match`.
    keys
        The keys of the eval set, each once.
    file_names
        Key -> file name of its image.
    alternates
        Other ids of each key by name, in the order of ``keys``.

    Raises
    ------
    InputError, Unpaired
        As :func:`match`.
    """
    distinct = list(dict.fromkeys(ids))
    same = _same(distinct, keys)
    if same.complete and not alternates and hints.id_key in {None, "row"}:
        best = same
    else:
        best = choose(_key_kinds(distinct, keys, hints, file_names, alternates or {}), distinct, keys, source, "key")
    _refuse_missing(best, distinct, keys, source, missing, "key")
    found = [None if target is None else keys[target] for target in best.targets]
    return MatchedKeys(best.title, best.flag, distinct, found, _warnings(best, distinct, keys))


def _file_kinds(
    ids: list[ItemKey], files: Sequence[str], hints: Hints, file_names: Mapping[ItemKey, str] | None
) -> list[Resolved]:
    wanted = _wanted(hints)
    names = [keytable.base_name(path) for path in files]
    stems = [keytable.stem(name) for name in names]
    as_names, as_stems = _said(ids, wanted)
    makers: dict[str, Callable[[], Resolved]] = {
        "name": lambda: keytable.by_text("file name", "name", as_names, names),
        "path": lambda: keytable.by_path(ids, files),
        "stem": lambda: keytable.by_text("stem of file name", "stem", as_stems, stems),
        "annotation": lambda: keytable.by_annotation(ids, files, names, file_names or {}),
        "number": lambda: numbers.by_number(ids, stems, forced=wanted == "number"),
    }
    if not file_names:
        del makers["annotation"]
    if wanted in _FROM_FILE:
        if not file_names:
            msg = f"--id-key {wanted} needs a file that says which image an id is: give --annotations"
            raise InputError(msg)
        wanted = "annotation"
    wanted = None if wanted == "id" else wanted  # ids of an eval set; files have none
    return [make() for flag, make in makers.items() if wanted in {None, flag}]


def _said(ids: list[ItemKey], wanted: str | None) -> tuple[list[ItemKey], list[ItemKey]]:
    """Return ids as names and as stems: as they are, or where the user says so what is left of a path or file name."""
    names: list[ItemKey] = [keytable.base_name(keytable.tidy(str(key))) for key in ids] if wanted == "name" else ids
    stems: list[ItemKey] = [_bare(str(key)) for key in ids] if wanted == "stem" else ids
    return names, stems


def _key_kinds(
    ids: list[ItemKey],
    keys: Sequence[ItemKey],
    hints: Hints,
    file_names: Mapping[ItemKey, str] | None,
    alternates: Mapping[str, Sequence[ItemKey]],
) -> list[Resolved]:
    wanted = _wanted(hints)
    others = [
        keytable.by_text(_ALTERNATES.get(name, f"{name} of the references"), name, ids, list(map(str, values)))
        for name, values in alternates.items()
    ]
    named = [kind for kind in others if kind.flag == wanted]
    if not named and wanted in _FROM_FILE:
        named = [kind for kind in others if kind.flag == "annotation"]
    if named:
        return named
    same = _same(ids, keys)
    if wanted in _FROM_FILE or wanted == "id":
        return [same]
    if same.complete and wanted is None:
        return [same, *others]
    kinds = _name_kinds(ids, [keytable.tidy(_file_of(key, file_names)) for key in keys], forced=wanted == "number")
    return [kind for kind in kinds if kind.flag == wanted] if wanted else [same, *kinds, *others]


def _name_kinds(ids: list[ItemKey], paths: list[str], *, forced: bool) -> list[Resolved]:
    """Resolve ids by the names that they and the keys are, or stand for."""
    texts = [keytable.tidy(str(key)) for key in ids]
    names, bases = list(map(keytable.base_name, texts)), list(map(keytable.base_name, paths))
    return [
        keytable.by_path(ids, paths),
        keytable.by_text("file name", "name", names, bases),
        keytable.by_text("stem of file name", "stem", list(map(_bare, texts)), list(map(_bare, paths))),
        _by_numbers(ids, paths, forced=forced),
    ]


def _file_of(key: ItemKey, file_names: Mapping[ItemKey, str] | None) -> str:
    return str(key) if file_names is None else file_names.get(key, str(key))


def _bare(name: str) -> str:
    """Return a name's stem where it ends like an image's, else the base name itself."""
    name = keytable.base_name(keytable.tidy(name))
    return keytable.stem(name) if has_image_extension(name) else name


def _by_numbers(ids: list[ItemKey], paths: list[str], *, forced: bool) -> Resolved:
    """Resolve by number where either side may be a name that ends in one; each side follows one pattern."""
    names, bases = list(map(_bare, map(str, ids))), list(map(_bare, paths))
    parts = [numbers.split_number(name) for name in names]
    wanted = [None if part is None else part[1] for part in parts]
    if forced:
        return numbers.resolve_numbers(ids, wanted, bases, forced=True)
    numbered = [(name, part) for name, part in zip(names, parts, strict=True) if part]
    odd = numbers.pattern_breaker([name for name, _ in numbered], [part for _, part in numbered])
    odd = odd or _two_words(names, bases)
    if odd is not None:
        return numbers.unresolved(f"names do not share one pattern before the number ({odd})", len(ids))
    return numbers.resolve_numbers(ids, wanted, bases, forced=False)


def _two_words(names: list[str], bases: list[str]) -> str | None:
    """Return in words that both sides have names that differ before the number: ``cat_1`` is not ``dog_1``."""
    one, two = _first_word(names), _first_word(bases)
    return None if one is None or two is None or one[0] == two[0] else f"{one[1]!r} beside {two[1]!r}"


def _first_word(names: list[str]) -> tuple[str, str] | None:
    """Return the word before the number of the first name that has both, and the name."""
    parts = ((numbers.split_number(name), name) for name in names)
    return next(((part[0], name) for part, name in parts if part is not None and part[0]), None)


def _same(ids: list[ItemKey], keys: Sequence[ItemKey]) -> Resolved:
    """Resolve ids that are the keys themselves, as they are or as text."""
    index = {key: place for place, key in enumerate(keys)}
    targets = [index.get(key) for key in ids]
    if None in targets:
        return keytable.by_text("the same ids", "id", ids, list(map(str, keys)))
    return Resolved("the same ids", "id", targets)


def _wanted(hints: Hints) -> str | None:
    if hints.id_key is not None and hints.id_key not in ID_KEYS:
        msg = f"no id key {hints.id_key!r}: one of {', '.join(ID_KEYS)}"
        raise InputError(msg)
    return None if hints.id_key == "row" else hints.id_key


def choose(kinds: list[Resolved], ids: Sequence[ItemKey], keys: Sequence[ItemKey], source: str, what: str) -> Resolved:
    """Choose one kind of key for all ids.

    Raises
    ------
    InputError
        When none serves, an id fits several images, or two kinds disagree.
    """
    complete = [kind for kind in kinds if kind.complete]
    if complete:
        best = min(complete, key=lambda kind: len(kind.folded))
        _refuse_disagreement(best, complete, ids, keys, source)
        return best
    best = max(kinds, key=lambda kind: (kind.count, len(kind.ambiguous)))
    if best.ambiguous:
        raise InputError(nearmiss.ambiguous(best, ids, keys, source))
    if best.count == 0:
        raise InputError(nearmiss.nothing(kinds, ids, keys, source, what))
    _refuse_disagreement(best, kinds, ids, keys, source)
    if len(kinds) > 1 and _by_chance(best, ids, keys):
        raise InputError(nearmiss.chance(best, ids, source, what))
    return best


def _by_chance(best: Resolved, ids: Sequence[ItemKey], keys: Sequence[ItemKey]) -> bool:
    """Return whether so few numbers fit that they may be row numbers that meet other ids by chance."""
    found = [str(key) for key, target in zip(ids, best.targets, strict=True) if target is not None]
    numeric = sum(key.isdigit() for key in found) * 2 > len(found)
    return numeric and len(found) * 2 <= min(len(ids), len(keys))


def _refuse_disagreement(
    best: Resolved, kinds: list[Resolved], ids: Sequence[ItemKey], keys: Sequence[ItemKey], source: str
) -> None:
    for other in kinds:
        pairs = enumerate(zip(best.targets, other.targets, strict=True))
        odd = next((place for place, (one, two) in pairs if two is not None and one != two), None)
        if odd is not None:
            raise InputError(nearmiss.disagreement(best, other, odd, ids, keys, source))


def _refuse_missing(
    best: Resolved, ids: Sequence[ItemKey], keys: Sequence[ItemKey], source: str, missing: str, what: str
) -> None:
    if missing == "error" and not best.complete:
        raise Unpaired(nearmiss.some(best, ids, keys, source, what))


def _warnings(best: Resolved, ids: Sequence[ItemKey], keys: Sequence[ItemKey]) -> tuple[str, ...]:
    if not best.folded:
        return ()
    place = best.folded[0]
    count, target = len(best.folded), best.targets[place]
    if target is None:
        return ()
    words = "id matches" if count == 1 else "ids match"
    first = f"first: {ids[place]!r} -> {keys[target]!r}"
    return (f"{count:,} {words} only without regard to case or Unicode form ({first})",)
