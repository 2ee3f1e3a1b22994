"""The grid of images, and the page of one image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore import keys
from clipstore.compare.record import key_of, number
from clipstore.report.captions import lines, metrics
from clipstore.report.order import disagreement, matching, ordered, sorts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.report.report import Report

OF_A_PAGE: Final = 60
_TAGS: Final = 40  # values of tags that are offered


@final
@dataclass(frozen=True, slots=True)
class State:
    """What a grid shows: a sort, the systems that count, a query, a tag, a page from 1 on."""

    sort: str = "disagree"
    systems: tuple[int, ...] = ()
    query: str = ""
    tag: str = ""
    page: int = 1

    def rows(self, report: Report) -> list[int]:
        """Return all images that it shows, on any page, in order."""
        return matching(report, ordered(report, self.sort, self.systems), self.query, self.tag)

    def query_values(self, report: Report) -> dict[str, Any]:
        """Return what stands in an address; what is usual is left out, the page too."""
        out = {
            "sort": "" if self.sort == State().sort else self.sort,
            "sys": [report.names[one] for one in self.systems],
            "q": self.query,
            "tag": self.tag,
        }
        return {name: value for name, value in out.items() if value}


def grid(report: Report, state: State, rows: Sequence[int] | None = None, size: int = OF_A_PAGE) -> dict[str, Any]:
    """Return the values of a page of the grid.

    Parameters
    ----------
    report
        The report.
    state
        What is shown.
    rows
        The images, where the caller has chosen them; else those of the state.
    size
        How many stand on a page.
    """
    found = list(rows) if rows is not None else state.rows(report)
    pages = max(1, -(-len(found) // size))
    page = min(max(1, state.page), pages)
    chosen = list(state.systems) or list(range(len(report.names)))
    spread = disagreement(report, chosen)
    return {
        "cards": [_card(report, row, chosen, float(spread[row])) for row in found[(page - 1) * size : page * size]],
        "total": len(found),
        "of": len(report),
        "page": page,
        "pages": pages,
        "state": state,
        "query": state.query_values(report),
        "sorts": sorts(report),
        "systems": list(enumerate(report.names)),
        "tags": report.tags if len(report.tags) <= _TAGS else (),
        "metric": report.shown,
        "measure": "difference" if len(chosen) == 2 else "spread over systems",
    }


def _card(report: Report, row: int, chosen: Sequence[int], spread: float) -> dict[str, Any]:
    better = report.better[list(chosen), row]
    best = chosen[int(np.nan_to_num(better, nan=-np.inf).argmax())]
    shown = chosen[0] if len(chosen) == 1 else best
    return {
        "row": row,
        "slug": report.slugs[row],
        "alt": report.alt(row),
        "system": report.names[shown],
        "caption": report.caption(shown, row) or "(no caption)",
        "score": report.value(report.scores[shown, row]),
        "spread": report.value(spread),
    }


def image(report: Report, row: int, rows: Sequence[int]) -> dict[str, Any]:
    """Return the values of one image's page; its neighbours are those of ``rows``."""
    order = list(rows)
    place = order.index(row) if row in order else -1
    id_ = report.image_id(row)
    items = report.measured.items
    return {
        "row": row,
        "slug": report.slugs[row],
        "alt": report.alt(row),
        "image_id": None if id_ is None else keys.to_hex(id_),
        "file": items.sources[row] if items.sources else "",
        "tags": dict(items.tags[row]) if items.tags else {},
        "references": report.references(row),
        "lines": lines(report, row),
        "metrics": [report.measured.measures[name].shown for name in metrics(report)],
        "previous": order[place - 1] if place > 0 else None,
        "next": order[place + 1] if 0 <= place < len(order) - 1 else None,
        "place": place + 1,
        "total": len(order),
        "ranked": report.own_ranks is not None,
        "cut": bool(report.cuts[:, row].any()),
        "exact": report.length is not None,
    }


def image_dict(report: Report, row: int) -> dict[str, Any]:
    """Return one image as JSON values: the layout of ``clipstore show --json``."""
    id_ = report.image_id(row)
    items = report.measured.items
    return {
        "schema": 1,
        "image": items.keys[row],
        "file": (items.sources[row] if items.sources else "") or None,
        "image_id": None if id_ is None else keys.to_hex(id_),
        "references": list(report.references(row)),
        "systems": [
            {
                "name": one.system,
                "caption": one.caption,
                "metrics": {
                    key_of(name): number(float(report.measured.measures[name].per_item[one.row, row]))
                    for name in metrics(report)
                },
                "rank": one.rank,
                "best_reference": one.reference,
                "reference_similarity": one.similarity,
                "difference": "".join(_marked(kind, words) for kind, words in one.pieces).strip(),
                "cut": one.cut,
            }
            for one in lines(report, row)
        ],
        "signatures": report.comparison.signed,
    }


def _marked(kind: str, words: str) -> str:
    return {"only-best": f"[-{words}-] ", "only-here": f"{{+{words}+}} "}.get(kind, f"{words} ")
