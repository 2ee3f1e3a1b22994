"""A folder for everything: a page a file, relative links, thumbnails shared by their hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, final

from markupsafe import Markup, escape

from clipstore.report import board_page, image_pages, pair_page, plots_page, rerank_page, suspects_page
from clipstore.report.onefile import Written, data_of
from clipstore.report.order import ordered, sorts
from clipstore.report.owned import Owned
from clipstore.report.render import asset, page
from clipstore.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clipstore.report.report import Report

_PAIRS: Final = 400  # pair pages of a folder


@final
@dataclass(eq=False)
class Beside:
    """Relative links between the files of a folder; ``up`` leads from a page to the folder itself."""

    report: Report
    owned: Owned
    pairs: frozenset[tuple[int, int]]
    up: str = ""
    written: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    live: bool = False

    def below(self) -> Beside:
        """Return the links of a page one folder down."""
        return Beside(self.report, self.owned, self.pairs, "../", self.written)

    def page(self, name: str, **state: Any) -> str:
        """Return the file of a page; a grid has one a sort and page number."""
        if name == "board":
            return f"{self.up}index.html"
        if name == "images":
            return f"{self.up}images-{state.get('sort') or 'disagree'}-{state.get('page', 1)}.html"
        return f"{self.up}{name}.html"

    def image(self, row: int, **_: Any) -> str | None:
        """Return the file of an image."""
        return f"{self.up}image/{row + 1}.html"

    def pair(self, a: int, b: int) -> str | None:
        """Return the file of a pair."""
        a, b = (a, b) if (a, b) in self.pairs else (b, a)
        return f"{self.up}pair/{a + 1}-{b + 1}.html" if (a, b) in self.pairs else None

    def rerank(self, system: str) -> str | None:
        """Return the file of a reranked system."""
        found = [number for number, one in enumerate(self.report.reranks, 1) if one.system == system]
        return f"{self.up}rerank-{found[0]}.html" if found else None

    def thumb(self, row: int, alt: str) -> Markup:
        """Return the thumbnail, written once however many images share it."""
        id_ = self.report.image_id(row)
        if id_ is None or id_ not in self.report.pictures:
            return Markup("")
        if id_ not in self.written:
            made = self.report.pictures.thumb(id_)
            if made is None:
                return Markup('<span class="nopicture">no picture</span>')
            name = f"{hashlib.sha256(made.data).hexdigest()[:24]}.webp"
            self.owned.put(f"thumbs/{name}", made.data)
            self.written[id_] = (name, made.width, made.height)
        name, width, height = self.written[id_]
        return Markup(  # noqa: S704  the words are escaped, the rest is ours
            f'<img class="thumb" src="{self.up}thumbs/{name}" alt="{escape(visible(alt))}" '
            f'width="{width}" height="{height}" loading="lazy" decoding="async">'
        )

    def full(self, row: int) -> str | None:
        """Return None: a folder holds thumbnails."""
        _ = row
        return None

    def asset(self, name: str) -> str:
        """Return where a stylesheet or script stands."""
        return f"{self.up}static/{name}"


def write_folder(report: Report, folder: Path) -> Written:
    """Write a report as a folder of pages, every image among them.

    Parameters
    ----------
    report
        The report.
    folder
        Made if absent. Of an older report there nothing is left; of other files none is touched.

    Raises
    ------
    CannotWrite
        When something can't be written.
    InputError
        When something else stands there under the name of a page.
    """
    owned = Owned(folder)
    if not any(id_ in report.pictures for id_ in report.measured.items.image_ids):
        owned.clear("thumbs/")  # first: they may be private
    pairs = frozenset(list(combinations(report.board.order, 2))[:_PAIRS])
    beside = Beside(report, owned, pairs)
    for name, content in _files(report, beside):
        owned.put(name, content.encode())
    size, files = owned.finish()
    return Written(size, files, len(beside.written), report.measured.of, {"all": len(report)}, report.seed)


def _files(report: Report, beside: Beside) -> Iterator[tuple[str, str]]:
    """Yield each file's name and content."""
    yield "static/style.css", asset("style.css")
    yield "static/pages.js", asset("pages.js")
    yield "comparison.json", json.dumps(data_of(report), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    yield "index.html", page("board", report, beside, "Leaderboard", v=board_page.view(report))
    yield from _grids(report, beside)
    yield "plots.html", page("plots", report, beside, "Plots", v=plots_page.view(report))
    yield "suspects.html", page("suspects", report, beside, "Suspects", v=suspects_page.view(report))
    for number, one in enumerate(report.reranks, 1):
        view = rerank_page.view(report, one)
        yield f"rerank-{number}.html", page("rerank", report, beside, f"Rerank {one.system}", v=view)
    about = page("about", report, beside, "About", facts=report.facts, signatures=report.comparison.signed)
    yield "about.html", about
    below = beside.below()
    for a, b in sorted(beside.pairs):
        view = pair_page.view(report, a, b, below.image)
        title = f"{report.names[a]} against {report.names[b]}"
        yield f"pair/{a + 1}-{b + 1}.html", page("pair", report, below, title, v=view)
    rows = ordered(report)
    for row in rows:
        view = image_pages.image(report, row, rows)
        yield f"image/{row + 1}.html", page("image", report, below, f"Image {report.slugs[row]}", v=view, state={})


def _grids(report: Report, beside: Beside) -> Iterator[tuple[str, str]]:
    for sort in sorts(report):
        rows = ordered(report, sort)
        pages = max(1, -(-len(rows) // image_pages.OF_A_PAGE))
        for number in range(1, pages + 1):
            shown = image_pages.grid(report, image_pages.State(sort=sort, page=number), rows)
            content = page("images", report, beside, "Images", v=shown, chosen={}, why="")
            yield f"images-{sort}-{number}.html", content
