"""Every format, the surest signature first: the only list of them.

A format is one module with a ``FORMAT``; adding one means that module and its name here.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from clipstore.errors import BadFormat, InputError
from clipstore.formats import (
    batch,
    beams,
    blobs,
    canonical,
    coco_annotations,
    coco_results,
    imagefolder,
    karpathy,
    lines,
    llava,
    nocaps,
    official,
    parquet,
    predictions,
    roles,
    rows,
    tabular,
    tars,
    tokens,
    vizwiz,
)

if TYPE_CHECKING:
    from clipstore.formats.format import Format
    from clipstore.formats.source import Content
    from clipstore.formats.values import Hints

FORMATS: tuple[Format, ...] = tuple(
    module.FORMAT for module in (
        karpathy, vizwiz, nocaps, coco_annotations, blobs, batch, llava, canonical, coco_results, imagefolder,
        predictions, beams, rows, official, tokens, tabular, lines, parquet, tars,
    )
)  # fmt: skip

COLUMNAR = frozenset(format_.title for format_ in FORMATS if format_.columns)
"""Titles of formats that hear which columns the user names."""

_SHOWN = 8


def format_names() -> tuple[str, ...]:
    """Return the names that ``--input-format`` accepts."""
    return tuple(format_.name for format_ in FORMATS)


def by_name(name: str) -> Format:
    """Return the format of a name.

    Raises
    ------
    InputError
        With the names that there are.
    """
    found = next((format_ for format_ in FORMATS if format_.name == name), None)
    if found is None:
        near = difflib.get_close_matches(name, format_names(), n=1)
        guess = f" (did you mean {near[0]}?)" if near else ""
        msg = f"no input format {name!r}{guess}: one of {', '.join(format_names())}"
        raise InputError(msg)
    return found


def recognise(content: Content, hints: Hints) -> Format:
    """Return the format of a content: the user's word, else the first that knows it.

    Raises
    ------
    BadFormat
        When none knows it, or the content can't be of the format that the user named.
    InputError
        When the user named no known format.
    """
    if hints.input_format is not None:
        wanted = by_name(hints.input_format)
        _check_kind(wanted, content)
        return wanted
    for format_ in FORMATS:
        if _may_be(format_, content) and format_.recognise(content, hints):
            return format_
    _refuse_columns(content, hints)
    remedy = "name it with --input-format, or the columns with --image-col and --caption-col"
    if content.kind == "text":
        remedy += "; for plain captions, one a line, give their ids with --order FILE"
    msg = f"{content.name}: {_seen(content)}: no known format; {remedy}"
    raise BadFormat(msg)


def _refuse_columns(content: Content, hints: Hints) -> None:
    """Refuse columns that the user named and the content lacks, with those that it has."""
    if hints.image_col or hints.caption_col or hints.score_col:
        names = tabular.first_cells(content.text) if content.kind == "text" else list(content.first_row())
        if names:
            roles.choose(names, hints, content.name)


def _may_be(format_: Format, content: Content) -> bool:
    return content.kind in format_.kinds or (content.kind == "object" and "rows" in format_.kinds)


def _check_kind(format_: Format, content: Content) -> None:
    if not _may_be(format_, content):
        msg = f"{content.name}: {_seen(content)}, which can't be {format_.title} (--input-format {format_.name})"
        raise BadFormat(msg)


def _seen(content: Content) -> str:
    if content.kind in {"rows", "object"}:
        keys = list(content.first_row())
        shown = ", ".join(map(str, keys[:_SHOWN])) + (", ..." if len(keys) > _SHOWN else "")
        return f"{'a list of objects' if content.kind == 'rows' else 'an object'} with {shown or 'nothing in it'}"
    words = {"strings": "a list of strings", "text": "lines of text", "parquet": "Parquet", "tar": "a tar archive"}
    return words[content.kind]
