"""An answer to each address: a page, its JSON or its CSV, or an image by its id."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from clipstore import keys
from clipstore.errors import Busy, InputError
from clipstore.report import board_page, image_pages, pair_page, plots_page, rerank_page, suspects_page
from clipstore.report.onefile import data_of
from clipstore.report.render import asset, page
from clipstore.serve import asked, twins
from clipstore.serve.addresses import Addresses
from clipstore.serve.guard import LARGEST
from clipstore.serve.replies import FOREVER, missing, tagged

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from clipstore.report import Report
    from clipstore.serve.live import Live
    from clipstore.serve.searching import Searcher

    Maker = Callable[[], Any]

_KINDS: Final = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
_RECEIVED: Final = 8  # pictures at once
_STATIC: Final = {
    "style.css": "text/css; charset=utf-8",
    "pages.js": "text/javascript; charset=utf-8",
    "htmx.js": "text/javascript; charset=utf-8",
}


@final
class Answers:
    """The answers of one live report; plain functions, which Starlette runs in threads.

    Parameters
    ----------
    live
        The report.
    searcher
        Answers searches.
    """

    def __init__(self, live: Live, searcher: Searcher) -> None:
        self._live = live
        self._searcher = searcher
        self._receiving = 0

    def _report(self) -> Report:
        return self._live.report()

    def _answer(self, request: Request, twin: str, html: Maker, plain: Maker, comma: Maker | None) -> Response:
        """Return the page, or the twin that the address asks for."""
        if twin == "":
            return tagged(request, html().encode(), "text/html; charset=utf-8")
        if twin == "json":
            body = json.dumps(plain(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
            return tagged(request, body.encode(errors="replace"), _KINDS["json"])
        if twin == "csv" and comma is not None:
            return tagged(request, comma().encode(errors="replace"), _KINDS["csv"])
        return missing("page")

    @staticmethod
    def _twin(request: Request) -> str:
        given = str(request.path_params.get("twin", ""))
        return given[1:] if given.startswith(".") else given and "?"

    def board(self, request: Request) -> Response:
        """Answer the first page."""
        report = self._report()

        def html() -> str:
            given = asked.text(request, "sort", 60)
            sort = board_page.sort_name(given.removeprefix("-"), report)
            view = board_page.view(report, sort, ascending=given.startswith("-"))
            return page("board", report, Addresses(report), "Leaderboard", v=view)

        return self._answer(
            request, self._twin(request), html, lambda: data_of(report), lambda: twins.board_csv(report)
        )

    def images(self, request: Request) -> Response:
        """Answer the grid of images."""
        report = self._report()
        state = asked.state(request, report)

        def html() -> str:
            view = image_pages.grid(report, state)
            return page("images", report, Addresses(report), "Images", v=view, chosen={}, why="")

        return self._answer(
            request,
            self._twin(request),
            html,
            lambda: twins.images_dict(report, state),
            lambda: twins.images_csv(report, state),
        )

    def image(self, request: Request) -> Response:
        """Answer one image's page."""
        report = self._report()
        slug, twin = asked.ending(asked.after(request, "/image/"), report.row_of)
        row = report.row_of.get(slug)
        if row is None:
            return missing("image")
        state = asked.state(request, report)

        def html() -> str:
            view = image_pages.image(report, row, state.rows(report))
            kept = state.query_values(report)
            return page("image", report, Addresses(report), f"Image {slug}", v=view, state=kept)

        return self._answer(
            request, twin, html, lambda: image_pages.image_dict(report, row), lambda: twins.image_csv(report, row)
        )

    def pair(self, request: Request) -> Response:
        """Answer the page of two systems."""
        report = self._report()
        first, _, rest = asked.after(request, "/pair/", decoded=False).partition("/")
        row = {name: number for number, name in enumerate(report.names)}
        second, twin = asked.ending(unquote(rest), row)
        a, b = row.get(unquote(first)), row.get(second)
        if a is None or b is None or a == b:
            return missing("pair of systems")

        def html() -> str:
            links = Addresses(report)
            names = [report.names[a], report.names[b]]
            view = pair_page.view(report, a, b, lambda one: links.image(one, sys=names))
            return page("pair", report, links, f"{names[0]} against {names[1]}", v=view)

        return self._answer(
            request, twin, html, lambda: twins.pair_dict(report, a, b), lambda: twins.pair_csv(report, a, b)
        )

    def plots(self, request: Request) -> Response:
        """Answer the page of plots."""
        report = self._report()
        return self._answer(
            request,
            self._twin(request),
            lambda: page("plots", report, Addresses(report), "Plots", v=plots_page.view(report)),
            lambda: twins.plots_dict(report),
            lambda: twins.plots_csv(report),
        )

    def suspects(self, request: Request) -> Response:
        """Answer the page of suspects."""
        report = self._report()

        def comma() -> str:
            rows = twins.suspects_rows(report)
            return twins.comma(
                ("kind", "image", "system", "score", "reason", "caption"), [[*one.values()] for one in rows]
            )

        return self._answer(
            request,
            self._twin(request),
            lambda: page("suspects", report, Addresses(report), "Suspects", v=suspects_page.view(report)),
            lambda: twins.suspects_dict(report),
            comma,
        )

    def about(self, request: Request) -> Response:
        """Answer how the numbers were made."""
        report = self._report()
        counts = self._live.store.counts()
        facts = (*report.facts, ("store", f"{counts.images:,} images, {counts.texts:,} texts, {counts.sets:,} sets"))
        signed = report.comparison.signed
        return self._answer(
            request,
            self._twin(request),
            lambda: page("about", report, Addresses(report), "About", facts=facts, signatures=signed),
            lambda: {"schema": 1, "facts": dict(facts), "signatures": signed},
            lambda: twins.comma(("name", "value"), facts),
        )

    def rerank(self, request: Request) -> Response:
        """Answer the page of a reranked system."""
        report = self._report()
        by_name = {one.system: one for one in report.reranks}
        name, twin = asked.ending(asked.after(request, "/rerank/"), by_name)
        found = by_name.get(name)
        if found is None:
            return missing("reranked system")

        def html() -> str:
            view = rerank_page.view(report, found)
            return page("rerank", report, Addresses(report), f"Rerank {name}", v=view)

        def comma() -> str:
            points = (found.gain or {}).get("curve", [])
            parts = ("picked", "oracle", "random")
            return twins.comma(("n", *parts), [(one["n"], *(one[part]["mean"] for part in parts)) for one in points])

        plain = {"schema": 1, "system": name, "origin": rerank_page.view(report, found)["origin"], "gain": found.gain}
        return self._answer(request, twin, html, lambda: plain, comma)

    def search(self, request: Request) -> Response:
        """Answer a search by words, by an image of the set, or by a picture that was sent."""
        report = self._report()
        query, slug = asked.text(request, "q"), asked.text(request, "like")
        like = report.row_of.get(slug)
        if slug and like is None:
            return missing("image")
        kind: Any = asked.one_of(request, "kind", ("images", "captions"), "images")
        picture = asked.content_id(request, "picture")
        found = self._searcher.search(report, kind, query, like, picture)
        view = {
            "query": query,
            "kind": kind,
            "like": slug if like is not None and not query else "",
            "picture": keys.to_hex(picture) if picture is not None and not query else "",
            "megabytes": LARGEST // 1_000_000,
            "hits": found.hits,
            "message": found.message,
        }
        refresh = "1" if found.again else ""
        columns = ("row", "image", "words", "cosine") if kind == "images" else ("cosine", "caption")
        rows = [dict(zip(columns, one, strict=True)) for one in found.hits]
        return self._answer(
            request,
            self._twin(request),
            lambda: page("search", report, Addresses(report), "Search", v=view, refresh=refresh),
            lambda: {"schema": 1, "query": query, "message": found.message, "again": found.again, "hits": rows},
            lambda: twins.comma(columns, found.hits),
        )

    async def picture(self, request: Request) -> Response:
        """Take a picture to search by, which is encoded and not kept; the answer is where its search stands."""
        if self._receiving >= _RECEIVED:
            msg = "too many pictures are being sent: send it again in a while"
            raise Busy(msg)
        self._receiving += 1  # all of this runs on the one event loop
        try:
            async with request.form(max_files=1, max_fields=4) as form:
                given, kind = form.get("picture"), form.get("kind")
                data = b"" if given is None or isinstance(given, str) else await given.read()
        finally:
            self._receiving -= 1
        if not data:
            msg = "no image was sent: choose a file"
            raise InputError(msg)
        id_ = await run_in_threadpool(lambda: self._searcher.shown(self._report(), data))
        more = "&kind=captions" if kind == "captions" else ""
        return RedirectResponse(f"/search?picture={keys.to_hex(id_)}{more}", 303)

    def thumb(self, request: Request) -> Response:
        """Answer a thumbnail, by the content id of an image of the set."""
        report = self._report()
        id_ = asked.image_id(str(request.path_params["name"]).removesuffix(".webp"), report)
        made = None if id_ is None else report.pictures.thumb(id_)
        if id_ is None or made is None:
            return missing("image")
        return tagged(request, made.data, "image/webp", FOREVER, f"{keys.to_hex(id_)}-{len(made.data)}")

    def full(self, request: Request) -> Response:
        """Answer a full-size image, by the content id of an image of the set."""
        report = self._report()
        id_ = asked.image_id(str(request.path_params["name"]), report)
        found = None if id_ is None else report.pictures.full(id_)
        if id_ is None or found is None:
            return missing("image")
        return tagged(request, found[0], found[1], FOREVER, keys.to_hex(id_))

    def static(self, request: Request) -> Response:
        """Answer a stylesheet or script."""
        name = str(request.path_params["name"])
        if name not in _STATIC:
            return missing("file")
        if name == "htmx.js":
            body = resources.files("clipstore.serve").joinpath("static", "htmx.min.js").read_bytes()
        else:
            body = asset(name).encode()
        return tagged(request, body, _STATIC[name])
