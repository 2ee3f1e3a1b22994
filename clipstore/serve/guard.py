"""What every request passes: method, size, host, token; and the headers that every answer gets."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final, final
from urllib.parse import parse_qsl, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
COOKIE: Final = "clipstore-token"
LONGEST: Final = 4000
"""Bytes that an address may have."""

SENDING: Final = "/search"
"""The one place where a picture may be sent, to search by; nothing is changed by it."""
LARGEST: Final = 20_000_000
"""Bytes that such a request may have."""

_DIGITS: Final = 12

_HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]*?)\.?)(?::\d*)?")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@final
@dataclass(frozen=True, slots=True)
class Guarding:
    """Who may ask.

    Parameters
    ----------
    hosts
        Names that a request may call this server by, beside the loopback's.
    addresses
        Whether any address of digits will do: a rebound name is never one.
    token
        What a browser must show once; None: nothing.
    """

    hosts: frozenset[str] = frozenset()
    addresses: bool = False
    token: str | None = None

    def knows(self, host: str) -> bool:
        """Return whether a request by this Host header is answered; a rebound DNS name is not."""
        name = name_of(host)
        if name in _LOOPBACK or name in {name_of(one) for one in self.hosts}:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.addresses


def name_of(host: str) -> str:
    """Return the name or address in ``name``, ``name:port``, ``[address]:port`` or a bare IPv6 address, lower-case."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2] if found else host).lower()


@final
class Guard:
    """An ASGI application around another.

    Parameters
    ----------
    app
        What is guarded.
    guarding
        Who may ask.
    """

    def __init__(self, app: ASGIApp, guarding: Guarding) -> None:
        self._app = app
        self._guarding = guarding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refused = self._refusal(scope)
        await (self._app if refused is None else refused)(scope, receive, sealed)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = dict(scope["headers"])
        sending = scope["method"] == "POST" and scope["path"] == SENDING
        if scope["method"] not in {"GET", "HEAD"} and not sending:
            allow = "GET, HEAD, POST" if scope["path"] == SENDING else "GET, HEAD"
            return PlainTextResponse("only reading and searching are possible here", 405, {"allow": allow})
        if len(scope["query_string"]) + len(scope["raw_path"]) > LONGEST:
            return PlainTextResponse("the address is too long", 414)
        if not self._guarding.knows(headers.get(b"host", b"").decode("latin-1")):
            msg = "this host name is not served: open the address that clipstore serve printed, or start it with --host"
            return PlainTextResponse(msg, 421)
        return self._token_refusal(scope, headers) or (_sent_refusal(headers) if sending else None)

    def _token_refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> Response | None:
        token = self._guarding.token
        if token is None:
            return None
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in asked if name == "token"), None)
        if given is not None and _equal(given, token):
            rest = urlencode([(name, value) for name, value in asked if name != "token"])
            path = scope["raw_path"].decode("latin-1")
            answer = RedirectResponse(f"/{path.lstrip('/')}{'?' if rest else ''}{rest}", 303)
            # lax: a link in a mail leads here, and nothing can be changed here
            answer.set_cookie(_cookie_name(token), token, httponly=True, samesite="lax")
            return answer
        shown = _cookie(headers, _cookie_name(token))
        if shown is not None and _equal(shown, token):
            return None
        return PlainTextResponse("give the token: open the address that clipstore serve printed", 403)


def _sent_refusal(headers: dict[bytes, bytes]) -> Response | None:
    """Refuse a picture that a page of another site sends, or one that is too large or of unknown size."""
    origin, host = headers.get(b"origin"), headers.get(b"host", b"")
    foreign = origin is not None and origin.partition(b"://")[2] != host
    if foreign or headers.get(b"sec-fetch-site") in {b"cross-site", b"same-site"}:
        return PlainTextResponse("only a page of this server may send a picture", 403)
    size = headers.get(b"content-length", b"")
    if not headers.get(b"content-type", b"").lower().startswith(b"multipart/form-data"):
        return PlainTextResponse("send the picture as a form does: multipart/form-data", 415)
    if not size.isdigit() or b"transfer-encoding" in headers:
        return PlainTextResponse("say how large the picture is (Content-Length)", 411)
    if len(size) > _DIGITS or int(size) > LARGEST:
        return PlainTextResponse(f"the picture is larger than {LARGEST // 1_000_000} MB", 413, {"connection": "close"})
    return None


def _cookie_name(token: str) -> str:
    """Return the cookie's name, each server's own: cookies know no ports."""
    return f"{COOKIE}-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def _cookie(headers: dict[bytes, bytes], name: str) -> str | None:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return None
    return jar[name].value if name in jar else None


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
