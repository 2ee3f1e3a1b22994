"""Input -> Captions or References: opens it, asks the registry, reads, joins shards, assembles."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clipstore.errors import BadFormat, InputError
from clipstore.formats import assemble, lines, llava, registry, source, tabular, tokens
from clipstore.formats.values import NO_HINTS, Captions, Hints, References, Table, Where

if TYPE_CHECKING:
    from clipstore.formats.format import Format
    from clipstore.formats.source import Content
    from clipstore.items import ItemKey, ScoreKind

Source = str | Path | bytes | Mapping[Any, Any] | Iterable[Any]
"""A path, ``-`` for standard input, a glob, a folder of shards, bytes, a mapping of id -> captions, or rows."""

_TEXT_FORMATS = frozenset({lines.FORMAT.name, tabular.FORMAT.name, tokens.FORMAT.name})
_WILD = frozenset("*?[")


def read_captions(given: Source, hints: Hints = NO_HINTS) -> Captions:
    """Read one system's captions, or a pool of them.

    Parameters
    ----------
    given
        See :data:`Source`.
    hints
        What the user said about it.

    Raises
    ------
    InputError
        When a file is missing, or something that the format needs was not given.
    BadFormat
        When the content can't be read as captions; the message names the place.
    """
    name, contents = open_source(given, hints)
    format_, table = _read(name, contents, hints)
    return assemble.captions(table, name, format_.shown(references=False), num_candidates=hints.num_candidates)


def read_references(given: Source, hints: Hints = NO_HINTS) -> References:
    """Read references or annotations; arguments and errors as :func:`read_captions`."""
    if not hints.shared:
        name, contents = open_source(given, hints)
        format_, table = _read(name, contents, hints)
        return assemble.references(table, name, format_.shown(references=True))
    recognised = replace(hints, input_format=None, num_candidates=None, score_col=None)
    plain = replace(recognised, image_col=None, caption_col=None)
    name, contents = open_source(given, recognised)
    refused: dict[Hints, InputError] = {}
    for attempt in dict.fromkeys(other for one in (recognised, plain, hints) for other in (one, _without_rows(one))):
        try:
            format_, table = _read(name, contents, attempt)
            return assemble.references(table, name, format_.shown(references=True))
        except InputError as error:
            refused[attempt] = error
    raise refused[plain]


def _without_rows(hints: Hints) -> Hints:
    return replace(hints, id_key=None) if hints.id_key == "row" else hints


def _read(name: str, contents: list[Content], hints: Hints) -> tuple[Format, Table]:
    formats = [registry.recognise(content, hints) for content in contents]
    odd = next((index for index, format_ in enumerate(formats) if format_ is not formats[0]), None)
    if odd is not None:
        first, other = contents[0].name, contents[odd].name
        msg = f"{name}: shards differ: {first} is {formats[0].title}, {other} is {formats[odd].title}"
        raise BadFormat(msg)
    tables = [formats[0].read(content, hints) for content in contents]
    table = tables[0] if len(tables) == 1 else join(tables, [content.name for content in contents])
    return formats[0], _by_row(table, hints, formats[0], name)


def _by_row(table: Table, hints: Hints, format_: Format, name: str) -> Table:
    """Put the ids of ``--order`` where the file's own are row numbers (``--id-key row``)."""
    if hints.id_key != "row" or format_ in {lines.FORMAT, llava.FORMAT}:
        return table
    if hints.order is None:
        msg = f"{name}: --id-key row needs the images in the order of the rows: give --order FILE"
        raise InputError(msg)
    ids = lines.by_row(table, hints.order, name)
    return replace(table, ids=ids, images=None, file_names=None, alternates={})


def open_source(given: Source, hints: Hints) -> tuple[str, list[Content]]:
    """Open what was given: its shown name, and one content a shard."""
    as_text = hints.input_format in _TEXT_FORMATS
    if isinstance(given, bytes):
        return "bytes", [source.open_bytes(given, "bytes", as_text=as_text)]
    if isinstance(given, (str, Path)):
        return _open_named(given, as_text=as_text)
    if not isinstance(cast("object", given), Iterable):
        msg = f"captions come as a path, a mapping, rows or bytes, not {type(given).__name__}"
        raise InputError(msg)
    name = "dict" if isinstance(given, Mapping) else "rows"
    return name, [source.open_value(dict(given) if isinstance(given, Mapping) else given, name)]


def _open_named(given: str | Path, *, as_text: bool) -> tuple[str, list[Content]]:
    if str(given) == "-":
        return source.STDIN, [source.open_stdin(as_text=as_text)]
    path = Path(given)
    shards = _shards(path)
    if shards is None:
        return path.name, [source.open_path(path, as_text=as_text)]
    shown = f"{path.name or path.resolve().name} ({len(shards)} shard{'s' if len(shards) > 1 else ''})"
    return shown, [source.open_path(shard, as_text=as_text) for shard in shards]


def _shards(path: Path) -> list[Path] | None:
    """Return the files of a folder or a glob, sorted; None for a single file."""
    try:
        if path.is_dir():
            return _of_folder(path)
        if not _WILD.intersection(str(path)) or path.exists():
            return None
        names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207  patterns may be absolute
    except (OSError, ValueError) as error:
        msg = f"can't read {path}: {error}"
        raise InputError(msg) from error
    files = [Path(name) for name in names if Path(name).is_file()]
    if not files:
        msg = f"no file matches {path}"
        raise InputError(msg)
    return files


def _of_folder(path: Path) -> list[Path]:
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
    metadata = [file for file in files if file.stem == "metadata"]
    tars = [file for file in files if ".tar" in file.suffixes]
    chosen = metadata or tars or files
    if not chosen:
        msg = f"{path} is a folder without a file of captions in it"
        raise InputError(msg)
    return chosen


def join(tables: list[Table], names: list[str]) -> Table:
    """Join the tables of shards, in order."""
    parts, start = [], 0
    for table, name in zip(tables, names, strict=True):
        parts.append((start, name, table.where))
        start += len(table.ids)
    scored = any(table.scores is not None for table in tables)
    ranked = all(table.ranks is not None for table in tables)
    kinds = {table.score_kind for table in tables if table.scores is not None}
    mixed = len(kinds) > 1 or any(table.score_kinds is not None for table in tables)
    return replace(
        tables[0],
        ids=[key for table in tables for key in table.ids],
        texts=[text for table in tables for text in table.texts],
        ranks=[rank for table in tables for rank in table.ranks or ()] if ranked else None,
        scores=[score for table in tables for score in table.scores or [None] * len(table.ids)] if scored else None,
        score_kind=kinds.pop() if len(kinds) == 1 else ("unknown" if scored else None),
        score_kinds=[kind for table in tables for kind in _score_kinds(table)] if mixed else None,
        where=Where(parts=tuple(parts)),
        notes=tuple(f"{name}: {note}" for table, name in zip(tables, names, strict=True) for note in table.notes),
        nested=any(table.nested for table in tables),
        images=_images(tables),
        file_names=_merged([table.file_names for table in tables]),
        tags=_merged([table.tags for table in tables]),
        alternates=_alternates(tables),
    )


def _score_kinds(table: Table) -> list[ScoreKind]:
    return table.score_kinds or [table.score_kind or "unknown"] * len(table.ids)


def _images(tables: list[Table]) -> list[ItemKey] | None:
    if all(table.images is None for table in tables):
        return None
    keys = (key for table in tables for key in (table.ids if table.images is None else table.images))
    return list(dict.fromkeys(key for key in keys if isinstance(key, (str, int))))


def _merged(values: list[dict[ItemKey, Any] | None]) -> dict[ItemKey, Any] | None:
    if all(value is None for value in values):
        return None
    return {key: entry for value in values if value is not None for key, entry in value.items()}


def _alternates(tables: list[Table]) -> dict[str, list[ItemKey]]:
    found: dict[str, list[ItemKey]] = {}
    for name in tables[0].alternates:
        pairs: dict[ItemKey, ItemKey] = {}
        for table in tables:
            keys = list(dict.fromkeys(table.ids)) if table.images is None else table.images
            pairs |= dict(zip(keys, table.alternates.get(name, ()), strict=False))
        found[name] = list(pairs.values())
    return found
