"""What an address asks for, read within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from clipstore import keys
from clipstore.errors import ClipstoreError, InputError
from clipstore.report.image_pages import State
from clipstore.report.order import sorts

if TYPE_CHECKING:
    from collections.abc import Collection, Container

    from starlette.requests import Request

    from clipstore.report import Report

WORDS: Final = 300
"""Letters of a query that are read."""

_DIGITS: Final = 7  # of a page's number, and one more
_SHOWN: Final = 80


def text(request: Request, name: str, longest: int = WORDS) -> str:
    """Return a parameter's text without what can't be shown; empty where it is absent.

    Raises
    ------
    InputError
        When it is longer than that.
    """
    given = request.query_params.get(name, "")
    if len(given) > longest:
        msg = f"{name} is {len(given):,} letters long, {longest} are read: ask for less"
        raise InputError(msg)
    return "".join(letter for letter in given if letter.isprintable()).strip()


def one_of(request: Request, name: str, known: Collection[str], usual: str) -> str:
    """Return a parameter that is one of a few words; ``usual`` where it is absent.

    Raises
    ------
    InputError
        When it is none of them; the message names them.
    """
    given = text(request, name)
    if given and given not in known:
        msg = f"{name}={given}: there is no such {name} here; there is: {', '.join(known)}"
        raise InputError(msg)
    return given or usual


def content_id(request: Request, name: str) -> int | None:
    """Return a content id in hexadecimal digits; None where it is absent.

    Raises
    ------
    InputError
        When it is none.
    """
    given = text(request, name)
    try:
        return keys.from_hex(given) if given else None
    except ValueError as error:
        msg = f"{name}={given[:_SHOWN]}: is no content id"
        raise InputError(msg) from error


def page(request: Request) -> int:
    """Return the page that is asked for, from 1 on; 1 where none is.

    Raises
    ------
    InputError
        When it is no number from 1 on.
    """
    given = text(request, "page") or "1"
    if not (given.isascii() and given.isdecimal() and int(given[:_DIGITS]) > 0 and len(given) < _DIGITS):
        msg = f"page={given}: give a number from 1 on"
        raise InputError(msg)
    return int(given)


def state(request: Request, report: Report) -> State:
    """Return what a grid shows.

    Raises
    ------
    InputError
        When there is no such sort or system, or the page is no number.
    """
    row = {name: number for number, name in enumerate(report.names)}
    given = request.query_params.getlist("sys")[: len(report.names)]
    names = [part for one in given for part in ([one] if one in row else one.split(","))]
    unknown = [name for name in names if name and name not in row]
    if unknown:
        msg = f"sys={unknown[0][:_SHOWN]}: there is no such system here; there is: {', '.join(row)}"
        raise InputError(msg)
    systems = tuple(dict.fromkeys(row[name] for name in names if name))
    return State(
        one_of(request, "sort", sorts(report), State().sort),
        systems,
        text(request, "q"),
        text(request, "tag"),
        page(request),
    )


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
