"""The number that ends a file's name, as a kind of key: only where all names share one pattern."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clipstore.formats.keytable import Resolved, resolve, stem, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.items import ItemKey

_NUMBER = re.compile(r"(?:^|(?<=[_-]))([0-9]+)$")
_DIGITS = re.compile(r"[0-9]+")


def by_number(ids: Sequence[ItemKey], names: Sequence[str], *, forced: bool) -> Resolved:
    """Resolve ids by the number that ends each stem.

    Without ``forced`` all stems must follow one pattern, and an id that is a string with leading
    zeros means only a number written the same: ``0001`` is not ``1``.

    Parameters
    ----------
    ids
        Whole numbers and strings of digits; where ``forced``, also names that end in a number.
    names
        The stem of each image.
    forced
        The user asked for it.
    """
    return resolve_numbers(ids, [as_number(key, forced=forced) for key in ids], names, forced=forced)


def resolve_numbers(
    ids: Sequence[ItemKey], wanted: Sequence[str | None], names: Sequence[str], *, forced: bool
) -> Resolved:
    """Resolve the numbers ``wanted`` for ids, without leading zeros, by those of stems; see :func:`by_number`."""
    split = [split_number(name) for name in names]
    found = resolve("number in file name", "number", wanted, [None if part is None else part[1] for part in split])
    if forced or not (found.count or found.ambiguous):
        return found
    odd = pattern_breaker(names, split)
    if odd is not None:
        return unresolved(f"file names do not share one pattern before the number ({odd})", len(ids))
    padded = {
        place for place, target in enumerate(found.targets)
        if target is not None and _is_padded(ids[place]) and not _ends_in(names[target], str(ids[place]))
    }  # fmt: skip
    if not padded:
        return found
    first = min(padded)
    target = found.targets[first]
    beside = f"{ids[first]!r} beside {names[target]!r}" if target is not None else ""
    why = f"{len(padded):,} differ from a file's number in leading zeros ({beside}); --id-key number pairs them"
    return replace(
        found, targets=[None if place in padded else one for place, one in enumerate(found.targets)], refused=why
    )


def unresolved(why: str, count: int) -> Resolved:
    """Return numbers as a kind that serves no id, and why."""
    return Resolved("number in file name", "number", [None] * count, refused=why)


def _is_padded(key: ItemKey) -> bool:
    return isinstance(key, str) and len(key) > 1 and key[0] == "0" and _DIGITS.fullmatch(key) is not None


def _ends_in(name: str, digits: str) -> bool:
    found = _NUMBER.search(name)
    return found is not None and found.group(1) == digits


def split_number(name: str) -> tuple[str, str, int] | None:
    """Return (what comes before, the number without leading zeros, its digits), or None.

    A number counts only at the end, after ``_``, ``-`` or the start.
    """
    found = _NUMBER.search(name)
    if found is None:
        return None
    digits = found.group(1)
    return name[: found.start()], digits.lstrip("0") or "0", len(digits)


def as_number(key: ItemKey, *, forced: bool) -> str | None:
    """Return an id as a number without leading zeros; None where it is none."""
    if type(key) is int:
        return str(key) if key >= 0 else None
    text = str(key)
    if _DIGITS.fullmatch(text):
        return text.lstrip("0") or "0"
    part = split_number(stem(tidy(text))) if forced else None
    return None if part is None else part[1]


def pattern_breaker(names: Sequence[str], parts: Sequence[tuple[str, str, int] | None]) -> str | None:
    """Return in words the first stem that does not follow the pattern of the first one; None: all share it.

    ``parts`` are the stems as :func:`split_number` takes them apart. They share what comes before
    the number, and either the count of digits or the lack of leading zeros: a number that ends some
    names by accident, as of random hex names, is no key.
    """
    prefixes = [None if part is None else part[0] for part in parts]
    if len(set(prefixes)) > 1 or None in prefixes:
        odd = next((row for row, prefix in enumerate(prefixes) if prefix is None or prefix != prefixes[0]), 0)
        return f"{names[odd]!r} beside {names[0]!r}" if odd else f"{names[0]!r}"
    widths = [0 if part is None else part[2] for part in parts]
    zeros = [row for row, part in enumerate(parts) if part is not None and len(part[1]) != part[2]]
    if len(set(widths)) > 1 and zeros:
        other = next(row for row, width in enumerate(widths) if width != widths[zeros[0]])
        return f"{names[zeros[0]]!r} beside {names[other]!r}"
    return None
