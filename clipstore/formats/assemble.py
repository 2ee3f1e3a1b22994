"""Table -> Captions or References: types are checked, repeats are merged, ranks are given.

Everything here walks columns, never makes an object a row: 500,000 captions take well under a second.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from clipstore.errors import BadFormat, InputError
from clipstore.formats.source import kind_of
from clipstore.formats.values import Captions, References, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.formats.values import Where
    from clipstore.items import ItemKey

_SHOWN = 5
_ID_TYPES = {str, int}


def captions(table: Table, source: str, title: str, *, num_candidates: int | None = None) -> Captions:
    """Return the captions of a table.

    Raises
    ------
    BadFormat
        When an id or caption has a wrong type, a caption can't be encoded as UTF-8, or there is none.
    InputError
        When images do not have ``num_candidates`` captions each.
    """
    check(table, source)
    if not table.texts:
        msg = f"{source}: {title}, but it holds no captions{''.join(f' ({note})' for note in table.notes)}"
        raise BadFormat(msg)
    table = _merge_repeats(table)
    ranks = _ranks(table)
    if num_candidates is not None:
        _check_count(table.ids, num_candidates, source)
    return Captions(
        source=source,
        format=title,
        ids=table.ids,
        texts=table.texts,
        ranks=ranks,
        scores=table.scores,
        score_kind=table.score_kind if table.scores is not None else None,
        score_kinds=table.score_kinds if table.scores is not None else None,
        notes=table.notes,
        where=table.where,
        id_kind=table.id_kind,
        file_names=table.file_names,
        without=_without(table),
    )


def _without(table: Table) -> tuple[ItemKey, ...]:
    known = set(table.ids)
    return tuple(key for key in table.images or () if key not in known)


def references(table: Table, source: str, title: str) -> References:
    """Return the references of a table: each image once, in file order.

    Raises
    ------
    BadFormat
        As :func:`captions`, and when no image is named.
    """
    check(table, source)
    ids = list(dict.fromkeys(table.ids)) if table.images is None else table.images
    if not ids:
        msg = f"{source}: {title}, but it names no image"
        raise BadFormat(msg)
    grouped: dict[ItemKey, list[str]] = {key: [] for key in ids}
    for key, text in zip(table.ids, table.texts, strict=True):
        grouped[key].append(text)
    return References(
        source=source,
        format=title,
        ids=ids,
        texts=[tuple(texts) for texts in grouped.values()],
        file_names=table.file_names,
        tags=None if table.tags is None else [table.tags.get(key, {}) for key in ids],
        alternate_ids=table.alternates,
        notes=table.notes,
        id_kind=table.id_kind,
    )


def check(table: Table, source: str) -> None:
    """Check the types of ids and captions and that every caption is valid Unicode.

    Raises
    ------
    BadFormat
        Naming the first row that is wrong.
    """
    if not set(map(type, table.ids)) <= _ID_TYPES:
        row = next(row for row, key in enumerate(table.ids) if type(key) not in _ID_TYPES)
        found: object = table.ids[row]
        shown = f"the number {found}" if isinstance(found, float) else kind_of(found)
        _refuse(source, table.where(row), f"the image id is {shown}, not a string or a whole number")
    odd = next((key for key in table.images or () if type(key) not in _ID_TYPES), None)
    if odd is not None or None in (table.images or ()):
        _refuse(source, "an image without captions", f"its id is {kind_of(odd)}, not a string or a whole number")
    if not set(map(type, table.texts)) <= {str}:
        row = next(row for row, text in enumerate(table.texts) if type(text) is not str)
        at = f"{table.where(row)} (image {table.ids[row]!r})"
        _refuse(source, at, f"the caption is {kind_of(table.texts[row])}, not a string")
    _check_unicode(source, table.where, table.texts, "caption")
    _check_unicode(source, table.where, [key for key in table.ids if type(key) is str], "image id")


def _check_unicode(source: str, where: Where, texts: Sequence[str], what: str) -> None:
    try:
        "\n".join(texts).encode()
    except UnicodeEncodeError:
        row = next(row for row, text in enumerate(texts) if _is_broken(text))
        shown = repr(texts[row].encode("utf-8", "backslashreplace").decode())
        _refuse(source, where(row), f"the {what} holds half of a character (a lone surrogate): {shown}")


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _refuse(source: str, at: str, what: str) -> NoReturn:
    msg = f"{source}: {at}: {what}"
    raise BadFormat(msg)


def _merge_repeats(table: Table) -> Table:
    """Drop rows that only repeat an image's one caption, as padded or concatenated shards leave them."""
    if table.nested or table.ranks is not None or len(set(table.ids)) == len(table.ids):
        return table
    first: dict[ItemKey, int] = {}
    for row, key in enumerate(table.ids):
        if table.texts[row] != table.texts[first.setdefault(key, row)]:
            return table
    keep = list(first.values())
    dropped = len(table.ids) - len(keep)
    note = f"{dropped:,} repeated row{'s' if dropped > 1 else ''} dropped (same image, same caption)"
    return select(table, keep, note)


def select(table: Table, keep: list[int], note: str) -> Table:
    """Return the rows ``keep`` of a table, with a note of why."""
    return replace(
        table,
        ids=[table.ids[row] for row in keep],
        texts=[table.texts[row] for row in keep],
        ranks=None if table.ranks is None else [table.ranks[row] for row in keep],
        scores=None if table.scores is None else [table.scores[row] for row in keep],
        score_kinds=None if table.score_kinds is None else [table.score_kinds[row] for row in keep],
        where=table.where.pick(keep),
        notes=(*table.notes, note),
    )


def _ranks(table: Table) -> list[int] | None:
    if len(set(table.ids)) == len(table.ids):
        return None
    if table.ranks is not None:
        return table.ranks
    seen: dict[ItemKey, int] = {}
    ranks = []
    for key in table.ids:
        rank = seen.get(key, 0)
        ranks.append(rank)
        seen[key] = rank + 1
    return ranks


def _check_count(ids: list[ItemKey], wanted: int, source: str) -> None:
    counts: dict[ItemKey, int] = {}
    for key in ids:
        counts[key] = counts.get(key, 0) + 1
    odd = [(key, count) for key, count in counts.items() if count != wanted]
    if odd:
        shown = ", ".join(f"{key!r}: {count}" for key, count in odd[:_SHOWN])
        msg = f"{source}: {len(odd):,} images do not have {wanted} captions (--num-candidates {wanted}): {shown}"
        raise InputError(msg)
