"""Columns -> Table: which column holds ids, captions and scores, and what a cell may be.

The formats whose rows are records (JSON rows, CSV, Parquet) share this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

from clipstore.errors import BadFormat, InputError
from clipstore.formats.roles import EXTRA, SCORES, Chosen, choose, guess
from clipstore.formats.source import kind_of
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.formats.source import Content
    from clipstore.items import ItemKey, ScoreKind

_KINDS = ("mean", "sum", "unknown")
_TEXT_FIELDS = ("caption", "raw", "text", "content", "generated_text", "sentence")
_LOOKED_AT = 20


def from_rows(content: Content, hints: Hints, chosen: Chosen | None = None) -> Table:
    """Read rows of JSON objects.

    Raises
    ------
    BadFormat
        Naming the first row that lacks a field or holds a wrong value.
    """
    rows, where = content.rows, content.where
    names = list(dict.fromkeys(name for row in rows[:_LOOKED_AT] for name in row))
    chosen = chosen or choose(names, hints, content.name)
    columns = {name: field_of(rows, name, content.name, where) for name in (chosen.image, chosen.caption)}
    extra = {*EXTRA, chosen.score, chosen.file} - columns.keys()
    for name in names:
        if name in extra:
            columns[name] = [row.get(name) for row in rows]
    return build(columns, chosen, hints, content.name, where)


def field_of(rows: Sequence[Mapping[str, Any]], name: str, source: str, where: Where) -> list[Any]:
    """Return one field of every row.

    Raises
    ------
    BadFormat
        Naming the first row that lacks it.
    """
    try:
        return [row[name] for row in rows]
    except KeyError:
        row = next(row for row, value in enumerate(rows) if name not in value)
        msg = f"{source}: {where(row)} has no {name!r} (it has: {', '.join(map(str, rows[row])) or 'nothing'})"
        raise BadFormat(msg) from None


def build(columns: dict[str, list[Any]], chosen: Chosen, hints: Hints, source: str, where: Where) -> Table:
    """Make a table of columns of equal length; cells may be strings, lists of strings or objects with a text."""
    _refuse_systems(columns.get("system"), source)
    columns, where = _keep_split(columns, hints, source, where)
    ids, cells = columns[chosen.image], columns[chosen.caption]
    scores = columns.get(chosen.score or "")
    flat = spread(ids, cells, scores, source, where)
    scored = numbers(flat.scores, source, flat.where)
    kinds = _kinds(columns.get("score_kind"), chosen.score, flat, scored)
    ranks = columns.get("rank")
    images = list(dict.fromkeys(ids)) if flat.spread and not _unhashable(ids) else None
    return Table(
        ids=flat.ids,
        texts=flat.texts,
        ranks=ranks if ranks and not flat.spread and set(map(type, ranks)) == {int} else None,
        scores=scored,
        score_kind=kinds if isinstance(kinds, str) else "unknown" if kinds else None,
        score_kinds=kinds if isinstance(kinds, list) else None,
        where=flat.where,
        nested=flat.nested,
        images=images,
        file_names=_by_id(ids, columns.get(chosen.file)) if chosen.file else None,
        tags=_tags(ids, columns.get("domain")),
        alternates=_alternates(columns, chosen, ids),
    )


def _refuse_systems(column: list[Any] | None, source: str) -> None:
    systems = list(dict.fromkeys(map(str, column or ())))
    if len(systems) > 1:
        msg = f"{source}: holds {len(systems)} systems ({', '.join(systems[:5])}): give one file for each"
        raise InputError(msg)


def _keep_split(
    columns: dict[str, list[Any]], hints: Hints, source: str, where: Where
) -> tuple[dict[str, list[Any]], Where]:
    splits = columns.get("split")
    if hints.split is None or splits is None:
        return columns, where
    wanted = hints.split.split(",")
    keep = [row for row, split in enumerate(splits) if split in wanted]
    if not keep:
        msg = f"{source}: no row is of split {hints.split!r} (splits: {', '.join(sorted(map(str, set(splits))))})"
        raise InputError(msg)
    return {name: [column[row] for row in keep] for name, column in columns.items()}, where.pick(keep)


@final
@dataclass(frozen=True, slots=True)
class Flat:
    """Cells spread to one caption a row; ``rows`` is the cell of each, None where each is its own."""

    ids: list[ItemKey]
    texts: list[str]
    scores: list[Any] | None
    where: Where
    rows: list[int] | None = None
    spread: bool = False
    nested: bool = False


def spread(ids: list[Any], cells: list[Any], scores: list[Any] | None, source: str, where: Where) -> Flat:
    """Spread cells that hold several captions; a list of one is that caption.

    Raises
    ------
    BadFormat
        When a row's list of scores is not as long as its list of captions.
    """
    if set(map(type, cells)) == {str}:
        return Flat(ids, cells, scores, where)
    rows: list[int] = []
    texts: list[str] = []
    flat: list[Any] | None = None if scores is None else []
    nested = False
    for row, cell in enumerate(cells):
        found = texts_of(cell)
        nested = nested or len(found) > 1
        texts += found
        rows += [row] * len(found)
        if scores is not None and flat is not None:
            flat += _scores_of(scores[row], len(found), source, where, row)
    if flat is None:
        flat = _inner_scores(cells)
    return Flat([ids[row] for row in rows], texts, flat, where.pick(rows), rows, spread=True, nested=nested)


def texts_of(cell: Any) -> list[Any]:
    """Return the captions of one cell; what is no caption comes back as it is, to be named later."""
    if isinstance(cell, (list, tuple)):
        return [text_of(value) for value in cell]
    return [text_of(cell)]


def text_of(value: Any) -> Any:
    """Return the text inside an object such as ``{"caption": "a man"}``; anything else as it is."""
    if isinstance(value, Mapping):
        return next((value[name] for name in _TEXT_FIELDS if name in value), value)
    return value


def _scores_of(value: Any, count: int, source: str, where: Where, row: int) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value] * (count if value is None else 1)
    if len(values) != count:
        msg = f"{source}: {where(row)} has {count} captions but {len(values)} scores"
        raise BadFormat(msg)
    return values


def _inner_scores(cells: list[Any]) -> list[Any] | None:
    """Return the scores inside cells that are lists of objects with a text and a score."""
    objects = [value for cell in cells for value in (cell if isinstance(cell, (list, tuple)) else [cell])]
    first = next((value for value in objects if isinstance(value, Mapping)), None)
    name = None if first is None else guess(first, tuple(SCORES))
    if name is None:
        return None
    return [value.get(name) if isinstance(value, Mapping) else None for value in objects]


def numbers(values: list[Any] | None, source: str, where: Where) -> list[float | None] | None:
    """Return scores as floats, None where a row has none; None for all when no row has one.

    Raises
    ------
    BadFormat
        Naming the first row whose score is no finite number.
    """
    if values is None:
        return None
    cells = [None if isinstance(value, str) and not value.strip() else value for value in values]
    if not any(cell is not None for cell in cells):
        return None
    return [None if cell is None else _number(cell, source, where, row) for row, cell in enumerate(cells)]


def _number(value: Any, source: str, where: Where, row: int) -> float:
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if math.isfinite(found):
        return found
    shown = value if isinstance(value, (float, str)) else kind_of(value)
    msg = f"{source}: {where(row)}: the score is {shown}, not a finite number; write null where there is none"
    raise BadFormat(msg)


def _kinds(
    column: list[Any] | None, name: str | None, flat: Flat, scores: list[float | None] | None
) -> ScoreKind | list[ScoreKind] | None:
    """Return what the scores are: one kind, or where a column says several the kind of each row."""
    if scores is None:
        return None
    usual: ScoreKind = SCORES.get((name or "").strip().casefold(), "unknown")
    if not column:
        return usual
    said = column if flat.rows is None else [column[row] for row in flat.rows]
    kinds = [cast("ScoreKind", kind) if kind in _KINDS else usual for kind in said]
    there = {kind for kind, score in zip(kinds, scores, strict=True) if score is not None}
    return there.pop() if len(there) == 1 else kinds


def _unhashable(ids: list[Any]) -> bool:
    return not set(map(type, ids)) <= {str, int}


def _by_id(ids: list[Any], values: list[Any] | None) -> dict[ItemKey, str] | None:
    if values is None or _unhashable(ids):
        return None
    found = {key: value for key, value in zip(ids, values, strict=True) if isinstance(value, str)}
    return found or None


def _tags(ids: list[Any], domains: list[Any] | None) -> dict[ItemKey, dict[str, str]] | None:
    named = _by_id(ids, domains)
    return None if named is None else {key: {"domain": value} for key, value in named.items()}


def _alternates(columns: dict[str, list[Any]], chosen: Chosen, ids: list[Any]) -> dict[str, list[ItemKey]]:
    found: dict[str, list[ItemKey]] = {}
    for name in {"cocoid", "imgid"} - {chosen.image}:
        column = columns.get(name)
        if column and not _unhashable(column) and not _unhashable(ids):
            found[name] = list(dict(zip(ids, column, strict=True)).values())
    return found
