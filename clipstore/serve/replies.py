"""Replies: a body with its ETag, and refusals in a sentence that names no folder."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse, Response

from clipstore.errors import InputError
from clipstore.report import board_page
from clipstore.report.visible import visible

if TYPE_CHECKING:
    from starlette.requests import Request

FOREVER: Final = "private, max-age=31536000, immutable"
_AGAIN: Final = "private, no-cache"


def tagged(request: Request, body: bytes, kind: str, cache: str = _AGAIN, mark: str = "") -> Response:
    """Return a body with its ETag; 304 where the browser has it."""
    etag = f'"{mark or hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"etag": etag, "cache-control": cache}
    known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    if etag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)


def refused(_request: Request, error: Exception) -> Response:
    """Answer what makes no sense: 400 and why; 503 where the store can't answer."""
    status = 400 if isinstance(error, InputError) else 503
    return PlainTextResponse(visible(board_page.bare(str(error))), status)


def missing(what: str) -> Response:
    """Answer 404: there is no such thing."""
    return PlainTextResponse(f"there is no such {what} here", 404)
