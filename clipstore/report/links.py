"""Where a page stands: one file's anchors, a folder's files; a server has addresses of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from markupsafe import Markup

PAGES = ("board", "images", "plots", "suspects", "about")
"""The pages that every report has, in order."""


class Links(Protocol):
    """What templates ask for; None where a page or picture is not there."""

    live: bool
    """Whether a server answers: forms work, full-size images are there."""

    def page(self, name: str, **state: Any) -> str:
        """Return where one of :data:`PAGES` stands, or ``search``."""
        ...

    def image(self, row: int, **state: Any) -> str | None:
        """Return where an image's page stands."""
        ...

    def pair(self, a: int, b: int) -> str | None:
        """Return where the page of two systems stands."""
        ...

    def rerank(self, system: str) -> str | None:
        """Return where the page of a reranked system stands."""
        ...

    def thumb(self, row: int, alt: str) -> Markup:
        """Return the thumbnail as an element, or a word that there is none."""
        ...

    def full(self, row: int) -> str | None:
        """Return where the full-size image stands."""
        ...

    def asset(self, name: str) -> str:
        """Return where a stylesheet or script stands."""
        ...
