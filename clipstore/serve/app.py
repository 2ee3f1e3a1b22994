"""The application: routes, and how it is run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.routing import Route

from clipstore.errors import ClipstoreError
from clipstore.serve.answers import Answers
from clipstore.serve.guard import Guard, Guarding
from clipstore.serve.replies import refused
from clipstore.serve.searching import Searcher

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator

    from clipstore.serve.live import Live


def application(live: Live, guarding: Guarding | None = None) -> Guard:
    """Return the ASGI application of a live report.

    Parameters
    ----------
    live
        The report.
    guarding
        Who may ask; None: the loopback's names, without a token.
    """
    searcher = Searcher(live)
    answers = Answers(live, searcher)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        searcher.close()

    routes = [
        Route("/", answers.board),
        Route("/index{twin}", answers.board),
        Route("/images", answers.images),
        Route("/images{twin}", answers.images),
        Route("/image/{slug:path}", answers.image),
        Route("/pair/{names:path}", answers.pair),
        Route("/plots", answers.plots),
        Route("/plots{twin}", answers.plots),
        Route("/suspects", answers.suspects),
        Route("/suspects{twin}", answers.suspects),
        Route("/about", answers.about),
        Route("/about{twin}", answers.about),
        Route("/search", answers.search, methods=["GET"]),
        Route("/search", answers.picture, methods=["POST"]),
        Route("/search{twin}", answers.search),
        Route("/rerank/{system:path}", answers.rerank),
        Route("/thumb/{name}", answers.thumb),
        Route("/full/{name}", answers.full),
        Route("/static/{name}", answers.static),
    ]
    app = Starlette(routes=routes, lifespan=life, exception_handlers={ClipstoreError: refused})
    return Guard(app, guarding or Guarding())


def run(app: Guard, sockets: list[socket.socket], **settings: Any) -> None:
    """Serve on open sockets until interrupted.

    Parameters
    ----------
    app
        From :func:`application`.
    sockets
        Bound; opening them first shows a busy port before anything is loaded.
    settings
        Of uvicorn.
    """
    import uvicorn

    chosen: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False, "lifespan": "on"}
    server = uvicorn.Server(uvicorn.Config(app, **{**chosen, **settings}))
    server.run(sockets)
