"""Where the server's pages stand: every state is in the address, so that links can be shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from clipstore import keys
from clipstore.report.visible import visible

if TYPE_CHECKING:
    from clipstore.report import Report

_PLACES = {
    "board": "/",
    "images": "/images",
    "plots": "/plots",
    "suspects": "/suspects",
    "about": "/about",
    "search": "/search",
}


@final
class Addresses:
    """Addresses of one report on the server.

    Parameters
    ----------
    report
        Gives the images' ids.
    """

    live = True

    def __init__(self, report: Report) -> None:
        self._report = report

    def page(self, name: str, **state: Any) -> str:
        """Return the address of a page with its state."""
        return _with(_PLACES[name], state)

    def image(self, row: int, **state: Any) -> str | None:
        """Return the address of an image's page."""
        return _with(f"/image/{quote(self._report.slugs[row], safe='')}", state)

    def pair(self, a: int, b: int) -> str | None:
        """Return the address of two systems' page."""
        first, second = (quote(self._report.names[one], safe="") for one in (a, b))
        return f"/pair/{first}/{second}"

    def rerank(self, system: str) -> str | None:
        """Return the address of a reranked system's page."""
        return f"/rerank/{quote(system, safe='')}"

    def thumb(self, row: int, alt: str) -> Markup:
        """Return the thumbnail; the browser asks for it when it comes into view."""
        id_ = self._report.image_id(row)
        pictures = self._report.pictures
        if id_ is None or id_ not in pictures:
            return Markup('<span class="nopicture">no picture</span>')
        width, height = pictures.size(id_)
        return Markup(  # noqa: S704  the words are escaped, the rest is numbers
            f'<img class="thumb" src="/thumb/{keys.to_hex(id_)}.webp" alt="{escape(visible(alt))}" '
            f'width="{width}" height="{height}" loading="lazy" decoding="async">'
        )

    def full(self, row: int) -> str | None:
        """Return the address of the full-size image."""
        id_ = self._report.image_id(row)
        return None if id_ is None or id_ not in self._report.pictures else f"/full/{keys.to_hex(id_)}"

    def asset(self, name: str) -> str:
        """Return the address of a stylesheet or script."""
        return f"/static/{name}"


def _with(path: str, state: dict[str, Any]) -> str:
    kept = {name: value for name, value in state.items() if value not in ("", None, [])}
    return f"{path}?{urlencode(kept, doseq=True)}" if kept else path
