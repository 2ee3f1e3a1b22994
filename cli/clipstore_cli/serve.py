"""``clipstore serve``: the pages of a saved eval set, live."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import webbrowser
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from clipstore.errors import InputError
from clipstore.significance import Settings as Testing
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from clipstore.store import Store

SetNames = Annotated[
    list[str] | None, typer.Option("-t", "--set", help="The saved eval set; else the only one.", metavar="SET")
]
Port = Annotated[int, typer.Option("-p", "--port", min=0, max=65535, help="0 takes a free one.")]
Host = Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for others, with a token.")]
Open = Annotated[bool, typer.Option("--open", help="Open the browser.")]
Token = Annotated[
    str | None, typer.Option("--token", help="What a browser must show once; made up where others can reach it.")
]
AllowHost = Annotated[
    list[str] | None, typer.Option("--allow-host", help="A name that requests may call this server by.", metavar="NAME")
]
Metrics = Annotated[list[str] | None, typer.Option("--metric", help="A metric, repeatable; the first is sorted by.")]
Baseline = Annotated[str | None, typer.Option("--baseline", help="The system that others are compared with.")]


@grouped
def serve(
    model: options.ModelOptions,
    common: options.Common,
    evalset_names: SetNames = None,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    browse: Open = False,
    token: Token = None,
    allow_host: AllowHost = None,
    metric: Metrics = None,
    baseline: Baseline = None,
) -> int:
    """Serve the pages of a saved eval set: leaderboard, pairs, images, search. Ctrl-C ends it.

    Only this machine can reach it unless --host says otherwise; then a token is asked for.
    """
    from clipstore.serve import Guarding, Live, application, run
    from clipstore.serve.live import check

    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token != ""):
        msg = "--token: give letters, digits and signs of ASCII, at least one; without the option one is made up"
        raise InputError(msg)
    with opening.open_store(common.store, settings, notes, create=False) as opened:
        name = _set_name(opened, inputs.one_set(evalset_names, "serve", "serve each on a port of its own (-p)"))
        listening = bound(host, port)
        with listening:
            live = Live(
                opened,
                name,
                lambda: inputs.space_of(model, opened, settings),
                metrics=metric,
                baseline=baseline,
                settings=Testing(),
            )
            inputs.say_warnings(check(live).comparison.warnings, notes)
            asked = token if token is not None or _loopback(host) else secrets.token_urlsafe(16)
            guarding = Guarding(frozenset([host, *(allow_host or [])]), not _loopback(host), asked)
            url = address(listening, host, asked)
            output.emit(f"{name} at {url}\n", None)
            notes.say("Ctrl-C ends it")
            if browse:
                webbrowser.open(url)
            run(application(live, guarding), [listening])
    return 0


def _set_name(store: Store, given: str | None) -> str:
    """Return the set that is served: the one named, or the only one.

    Raises
    ------
    InputError
        When none is named and there is not exactly one.
    """
    if given is not None:
        return given
    names = [one.name for one in store.sets()]
    if len(names) == 1:
        return names[0]
    there = f"there is: {', '.join(names)}" if names else "it has none yet: clipstore add -t SET makes one"
    msg = f"which eval set? name one with -t SET; {there}"
    raise InputError(msg)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises
    ------
    InputError
        When the port is taken or the address is none of this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # said, so that asyncio sends at once: 40 ms
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        msg = f"can't listen on {host}:{port}: {(error.strerror or str(error)).lower()}; choose another with -p PORT"
        raise InputError(msg) from error
    return made


def address(listening: socket.socket, host: str, token: str | None) -> str:
    """Return the address to open; of all addresses, this machine's own."""
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  what is printed, not what is bound
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + ("" if token is None else f"?token={quote(token, safe='')}")
