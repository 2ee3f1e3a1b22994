"""One file that can be sent: every page a section, pictures embedded once, no address outside it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, final

from markupsafe import Markup, escape

from clipstore.formats.writing import save
from clipstore.report import board_page, image_pages, pair_page, plots_page, rerank_page, suspects_page
from clipstore.report.order import CAP, selection
from clipstore.report.render import asset, environment, fragment, safe_json
from clipstore.report.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.report.report import Report

LARGE: Final = 20_000_000
"""Bytes above which a file is called large."""

_PAIRS: Final = 100  # pair pages of one file
_LINKED: Final = 80  # dots of a scatter that lead to their image


@final
@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Parameters
    ----------
    size, files
        Bytes in all, and how many files.
    images
        Distinct pictures.
    of
        Images that the set has.
    chosen
        Why -> how many images were chosen so.
    seed
        Of those at random.
    """

    size: int
    files: int
    images: int
    of: int
    chosen: dict[str, int]
    seed: int


@final
@dataclass(eq=False)
class Inside:
    """Anchors inside one file."""

    report: Report
    images: dict[int, str]
    pairs: dict[tuple[int, int], str]
    used: dict[int, tuple[int, int, str]] = field(default_factory=dict)
    live: bool = False

    def page(self, name: str, **_: Any) -> str:
        """Return the anchor of a page."""
        return f"#{name}"

    def image(self, row: int, **_: Any) -> str | None:
        """Return the anchor of an image that the file holds."""
        return f"#image-{row + 1}" if row in self.images else None

    def pair(self, a: int, b: int) -> str | None:
        """Return the anchor of a pair."""
        found = self.pairs.get((a, b)) or self.pairs.get((b, a))
        return f"#{found}" if found else None

    def rerank(self, system: str) -> str | None:
        """Return the anchor of a reranked system."""
        found = [number for number, one in enumerate(self.report.reranks, 1) if one.system == system]
        return f"#rerank-{found[0]}" if found else None

    def thumb(self, row: int, alt: str) -> Markup:
        """Return a use of the thumbnail, which stands in the file once."""
        id_ = self.report.image_id(row)
        if id_ is None or row not in self.images:
            return Markup("")
        if id_ not in self.used:
            made = self.report.pictures.thumb(id_)
            if made is None:
                return Markup('<span class="nopicture">no picture</span>')
            self.used[id_] = (made.width, made.height, base64.b64encode(made.data).decode())
        width, height, _ = self.used[id_]
        return Markup(  # noqa: S704  the words are escaped, the rest is numbers
            f'<svg class="thumb" role="img" aria-label="{escape(visible(alt))}" width="{width}" height="{height}">'
            f'<use href="#{_name(self.report, id_)}"/></svg>'
        )

    def full(self, row: int) -> str | None:
        """Return None: one file holds thumbnails."""
        _ = row
        return None

    def asset(self, name: str) -> str:
        """Return nothing: style and script stand in the file."""
        return f"#{name}"


def write_file(report: Report, path: Path, *, cap: int = CAP) -> Written:
    """Write a report as one file, whole or not at all.

    Parameters
    ----------
    report
        The report.
    path
        Where.
    cap
        How many images at most: those with most disagreement, the worst, and some at random.

    Raises
    ------
    CannotWrite
        When the file can't be written.
    """
    images = selection(report, cap)
    order = report.board.order
    pairs = list(combinations(order, 2))[:_PAIRS]
    inside = Inside(report, images, {(a, b): f"pair-{a + 1}-{b + 1}" for a, b in pairs})
    data = _whole(report, inside).encode()
    save(path, data)
    counts: dict[str, int] = {}
    for why in images.values():
        counts[why] = counts.get(why, 0) + 1
    return Written(len(data), 1, len(inside.used), report.measured.of, counts, report.seed)


def _name(report: Report, image_id: int) -> str:
    """Return what the file calls a thumbnail: short, since it stands there often."""
    return f"t{report.first_row[image_id] + 1}"


def _whole(report: Report, inside: Inside) -> str:
    style, script = asset("style.css"), asset("pages.js")
    sections = _sections(report, inside)
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'"
    )
    return (
        environment()
        .get_template("onefile.html")
        .render(
            report=report,
            links=inside,
            sections=[(anchor, Markup(main)) for anchor, main in sections],  # noqa: S704  rendered by our templates
            thumbs=[(_name(report, id_), *one) for id_, one in inside.used.items()],
            style=Markup(style),  # noqa: S704  our own
            script=Markup(script),  # noqa: S704  our own
            policy=policy,
            title=report.title,
            data=Markup(safe_json(data_of(report))),  # noqa: S704  no < inside
            prefix="",
        )
    )


def data_of(report: Report) -> dict[str, Any]:
    """Return the comparison as JSON values, no warning naming a folder."""
    made = report.comparison.to_dict()
    return {**made, "warnings": [board_page.bare(one) for one in made["warnings"]]}


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _sections(report: Report, inside: Inside) -> list[tuple[str, str]]:
    """Return each page's anchor and content, the first page first."""
    rows = list(inside.images)
    state = image_pages.State()
    why = "" if len(rows) == len(report) else f"seed {report.seed}"
    shown = image_pages.grid(report, state, rows, size=max(1, len(rows)))

    def part(anchor: str, template: str, **values: Any) -> tuple[str, str]:
        return anchor, fragment(template, report, inside, f"{anchor}-", **values)

    out = [
        part("board", "board", v=board_page.view(report)),
        part("images", "images", v=shown, chosen=inside.images, why=why),
        part("plots", "plots", v=plots_page.view(report)),
        part("suspects", "suspects", v=suspects_page.view(report)),
    ]
    out += [
        part(f"rerank-{number}", "rerank", v=rerank_page.view(report, one))
        for number, one in enumerate(report.reranks, 1)
    ]
    out.append(part("about", "about", facts=report.facts, signatures=report.comparison.signed))
    for (a, b), anchor in inside.pairs.items():
        out.append(part(anchor, "pair", v=pair_page.view(report, a, b, inside.image, _LINKED)))
    for row in rows:
        out.append(part(f"image-{row + 1}", "image", v=image_pages.image(report, row, rows), state={}))
    return out
