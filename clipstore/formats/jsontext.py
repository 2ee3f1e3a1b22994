"""JSON text -> Python values, strictly: duplicate keys, bad syntax and endless nesting are named.

One document or one object a line (JSONL); the text itself says which.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from clipstore.errors import BadFormat

_SHOWN = 5


class _DuplicateKeys(Exception):
    """One object holds a key twice."""


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeys(_name_duplicates(pairs))
    return found


def _name_duplicates(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for key, _ in pairs:
        if key in seen:
            twice[key] = None
        seen.add(key)
    names = ", ".join(repr(key) for key in list(twice)[:_SHOWN])
    return f"{len(twice):,} key{'s' if len(twice) > 1 else ''} twice in one object ({names})"


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def parse(text: str, name: str, line: int | None = None) -> Any:
    """Parse one JSON document.

    Parameters
    ----------
    text
        The document.
    name
        What messages call the file.
    line
        The line it stands on, for one line of JSONL.

    Raises
    ------
    BadFormat
        For bad syntax (line and column), a key that repeats in an object, or nesting without end.
    """
    try:
        return _DECODER.decode(text)
    except _DuplicateKeys as error:
        at = "" if line is None else f" line {line}"
        msg = f"{name}:{at} {error}: a JSON reader would keep only the last; remove or rename them"
        raise BadFormat(msg) from None
    except json.JSONDecodeError as error:
        _refuse(error, text, name, line)
    except RecursionError as error:
        msg = f"{name}: nested too deeply to be captions"
        raise BadFormat(msg) from error
    except ValueError as error:
        msg = f"{name}: not JSON that can be read: {error}"
        raise BadFormat(msg) from error


def _refuse(error: json.JSONDecodeError, text: str, name: str, line: int | None) -> NoReturn:
    ends = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    remedy = "the file ends early: is it still being written?" if ends else "mend it there or write the file again"
    shown = error.lineno if line is None else line
    msg = f"{name}: invalid JSON at line {shown}, column {error.colno}: {error.msg}; {remedy}"
    raise BadFormat(msg) from error


def is_lines(text: str) -> bool:
    """Return whether a text that starts with ``{`` holds one object a line rather than one document."""
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        first, _, rest = text.strip().partition("\n")
        return bool(rest.strip()) and first.rstrip().endswith("}") and rest.lstrip().startswith("{")
    return bool(text.lstrip()[end:].strip())


def parse_lines(text: str, name: str) -> tuple[list[Any], list[int]]:
    """Parse one JSON value a line; blank lines are skipped.

    Returns
    -------
        The values, and the line number of each (1 first).

    Raises
    ------
    BadFormat
        As :func:`parse`, with the line.
    """
    values, numbers = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            values.append(parse(line.strip(), name, number))
            numbers.append(number)
    return values, numbers
