"""The words for ids that meet no image: examples, near misses, what both sides look like, what to try."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from clipstore.formats.keytable import base_name, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.formats.keytable import Resolved
    from clipstore.items import ItemKey

_EXAMPLES, _FIRST = 3, 5
_COMPARED = 2000
_SHAPES = (
    ("numbers", re.compile(r"[0-9]+")),
    ("COCO file names", re.compile(r"COCO_\w+_[0-9]{12}(\.\w+)?")),
    ("paths", re.compile(r".*/.*")),
    ("Flickr names", re.compile(r"[0-9]+_[0-9a-f]{10}(\.\w+)?")),
    ("hashes", re.compile(r"[0-9a-f]{8,}(\.\w+)?")),
)


def shape(values: Sequence[ItemKey]) -> str:
    """Return in words what most of the first values look like."""
    sample = [str(value) for value in values[:50]]
    for words, pattern in _SHAPES:
        if sum(bool(pattern.fullmatch(value)) for value in sample) * 2 > len(sample):
            return words
    return "names"


def nothing(kinds: Sequence[Resolved], ids: Sequence[ItemKey], keys: Sequence[ItemKey], source: str, what: str) -> str:
    """Say that no id meets anything, under any kind of key."""
    examples = ", ".join(map(repr, ids[:_EXAMPLES]))
    there = ", ".join(map(repr, keys[:_EXAMPLES])) or "nothing"
    tried = ", ".join(kind.title for kind in kinds)
    refused = "".join(f" Not by {kind.title}: {kind.refused}." for kind in kinds if kind.refused)
    word = "image" if what == "image" else "id of the eval set"
    return (
        f"{source}: none of {len(ids):,} ids has an {word}. Ids such as {examples} look like {shape(ids)}; "
        f"there is {there}: {shape(list(map(base_name, map(str, keys))))}. Tried: {tried}.{refused}"
        f"{_near_words(ids, keys)} {_remedy(ids, what, forced=bool(refused))}"
    )


def some(best: Resolved, ids: Sequence[ItemKey], keys: Sequence[ItemKey], source: str, what: str) -> str:
    """Say which ids meet nothing under the kind that was chosen."""
    left = [key for key, target in zip(ids, best.targets, strict=True) if target is None]
    first = ", ".join(map(repr, left[:_FIRST]))
    verb = "has" if len(left) == 1 else "have"
    word = "image" if what == "image" else "place in the eval set"
    refused = f" Of these {best.refused}." if best.refused else ""
    return (
        f"{source}: {len(left):,} of {len(ids):,} ids {verb} no {word} (first: {first}); ids = {best.title}.{refused}"
        f"{_near_words(left, keys)} Leave them out with --missing skip, or try another --id-key"
    )


def chance(best: Resolved, ids: Sequence[ItemKey], source: str, what: str) -> str:
    """Say that too few numbers fit to believe that they are the right ids."""
    word = "images" if what == "image" else "ids of the eval set"
    refused = f" Of the others {best.refused}." if best.refused else ""
    return (
        f"{source}: only {best.count:,} of {len(ids):,} ids are {word} by {best.title}, so few that these may be other "
        f"numbers, such as rows.{refused} Check which file belongs to which; if they are right, say "
        f"--id-key {best.flag}"
    )


def ambiguous(best: Resolved, ids: Sequence[ItemKey], keys: Sequence[ItemKey], source: str) -> str:
    """Say which ids fit several images, or share one, and name the files."""
    place, targets = next(iter(best.ambiguous.items()))
    files = " and ".join(repr(keys[target]) for target in targets[:_EXAMPLES])
    count = len(best.ambiguous)
    words = "id does" if count == 1 else "ids do"
    how = f"fits {files}" if len(targets) > 1 else f"shares {files} with another id"
    return (
        f"{source}: {count:,} {words} not name exactly one image under {best.title}: {ids[place]!r} {how}. "
        "Use the file's full name or path as the id (--id-key path or name), or remove the file that is not meant"
    )


def disagreement(
    best: Resolved, other: Resolved, place: int, ids: Sequence[ItemKey], keys: Sequence[ItemKey], source: str
) -> str:
    """Say that two kinds of key lead to different images."""
    one, two = (kind.targets[place] for kind in (best, other))
    meant = [repr(keys[target]) if target is not None else "nothing" for target in (one, two)]
    return (
        f"{source}: two readings of the ids disagree: {ids[place]!r} is {meant[0]} by {best.title} "
        f"but {meant[1]} by {other.title}. Say which with --id-key {best.flag} or --id-key {other.flag}"
    )


def _near_words(ids: Sequence[ItemKey], keys: Sequence[ItemKey]) -> str:
    names = list(dict.fromkeys(stem(str(key)) for key in keys[:_COMPARED]))
    pairs = []
    for key in ids[:_EXAMPLES]:
        near = difflib.get_close_matches(stem(str(key)), names, n=1, cutoff=0.7)
        pairs += [f"{key!r} ~ {near[0]!r}"] if near else []
    return f" Near: {', '.join(pairs)}." if pairs else ""


def _remedy(ids: Sequence[ItemKey], what: str, *, forced: bool) -> str:
    if forced:
        return "If the ids are these numbers all the same, say --id-key number; else give --annotations FILE"
    if what != "image":
        return "Give captions and references of the same images, or say what the ids are with --id-key"
    if shape(ids) == "numbers":
        return "Give the file that maps ids to file names (--annotations FILE), or say what the ids are with --id-key"
    return "Check --images, or say what the ids are with --id-key path, name, stem or number"
