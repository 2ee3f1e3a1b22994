"""What an address asks for, read within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from clipstore import keys
from clipstore.errors import ClipstoreError
from clipstore.report.image_pages import State
from clipstore.report.order import SORTS

if TYPE_CHECKING:
    from collections.abc import Container

    from starlette.requests import Request

    from clipstore.report import Report

WORDS: Final = 300
"""Letters of a query that are read."""

_MOST: Final = 100_000


def text(request: Request, name: str, longest: int = WORDS) -> str:
    """Return a parameter's text without what can't be shown; empty where it is absent."""
    given = request.query_params.get(name, "")
    return "".join(letter for letter in given if letter.isprintable())[:longest].strip()


def page(request: Request) -> int:
    """Return the page that is asked for, from 1 on; what is no number is 1."""
    given = request.query_params.get("page", "1")
    return min(max(1, int(given)), _MOST) if given.isascii() and given.isdecimal() and len(given) < 7 else 1


def state(request: Request, report: Report) -> State:
    """Return what a grid shows; an unknown sort or system is as if it were not asked."""
    sort = text(request, "sort")
    row = {name: number for number, name in enumerate(report.names)}
    given = request.query_params.getlist("sys")[: len(report.names)]
    names = [part for one in given for part in ([one] if one in row else one.split(","))]
    systems = tuple(dict.fromkeys(row[name] for name in names if name in row))
    chosen = sort if sort in SORTS else State().sort
    return State(chosen, systems, text(request, "q"), text(request, "tag"), page(request))


def after(request: Request, start: str, *, decoded: bool = True) -> str:
    """Return what stands after ``start`` in the address as it was sent, so that a name may hold a slash."""
    path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
    rest = str(path[len(start) :])
    return unquote(rest) if decoded else rest


def ending(name: str, known: Container[str]) -> tuple[str, str]:
    """Return a name and the twin that is asked for; a name that ends in .json itself is meant as it is."""
    if name not in known:
        for twin in ("json", "csv"):
            if name.endswith(f".{twin}"):
                return name.removesuffix(f".{twin}"), twin
    return name, ""


def image_id(shown: str, report: Report) -> int | None:
    """Return the content id that 16 hex digits stand for; None unless it is an image of this set."""
    if len(shown) != keys.HEX_DIGITS or not shown.isalnum() or not shown.isascii():
        return None
    try:
        id_ = keys.from_hex(shown)
    except (ValueError, ClipstoreError):
        return None
    return id_ if id_ in report.first_row else None
