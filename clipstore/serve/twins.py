"""The same as JSON and CSV: what the command line gives; a spreadsheet must not run a caption."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.compare.record import number
from clipstore.report import image_pages, pair_page, suspects_page
from clipstore.report.plots_page import drawings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.report import Report
    from clipstore.report.image_pages import State


_HARMLESS: Final = re.compile(r"-|[-+]?[0-9.]+(e[-+]?[0-9]+)?(%|\*{1,3})?|-inf")
"""Of what begins like a formula: nothing, and numbers, with stars too."""


def guarded(cell: object) -> str:
    """Return a cell that no spreadsheet takes for a formula; numbers stay as they are."""
    shown = "" if cell is None else str(cell)
    if shown[:1] in {"=", "+", "-", "@", "\t", "\r"} and not _HARMLESS.fullmatch(shown):
        return f"'{shown}"
    return shown


def comma(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV, cells guarded against formulas."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([guarded(one) for one in header])
    writer.writerows([guarded(cell) for cell in row] for row in rows)
    return out.getvalue()


def board_csv(report: Report) -> str:
    """Return what ``clipstore compare --format csv`` gives."""
    header, *rows = csv.reader(io.StringIO(report.comparison.form("csv")))
    return comma(header, rows)


def images_dict(report: Report, state: State) -> dict[str, Any]:
    """Return a page of the grid: each image with every system's score."""
    shown = image_pages.grid(report, state)
    return {
        "schema": 1,
        "total": shown["total"],
        "page": shown["page"],
        "pages": shown["pages"],
        "metric": report.measure.metric.replace("-", "_"),
        "images": [
            {
                "image": report.measured.items.keys[card["row"]],
                "scores": {name: number(float(report.scores[one, card["row"]])) for one, name in shown["systems"]},
            }
            for card in shown["cards"]
        ],
        "signatures": report.comparison.signed,
    }


def images_csv(report: Report, state: State) -> str:
    """Return all images of a grid, on any page: a row a caption."""
    rows = (
        (report.slugs[row], name, _plain(report.scores[one, row]), report.caption(one, row))
        for row in state.rows(report)
        for one, name in enumerate(report.names)
    )
    return comma(("image", "system", report.shown, "caption"), rows)


def _plain(value: float) -> str:
    return "" if np.isnan(value) else f"{float(value):.6f}"


def image_csv(report: Report, row: int) -> str:
    """Return every system's caption of an image."""
    found = image_pages.image_dict(report, row)["systems"]
    metrics = list(found[0]["metrics"]) if found else []
    header = ("rank", "system", *metrics, "best_reference", "reference_similarity", "caption")
    body = (
        (
            one["rank"],
            one["name"],
            *one["metrics"].values(),
            one["best_reference"],
            one["reference_similarity"],
            one["caption"],
        )
        for one in found
    )
    return comma(header, body)


def pair_csv(report: Report, a: int, b: int) -> str:
    """Return every image with both systems' scores and captions, the largest difference first."""
    gap = report.scores[a] - report.scores[b]
    order = np.argsort(-np.nan_to_num(np.abs(gap), nan=-1.0), kind="stable").tolist()
    rows = (
        (
            report.slugs[row],
            _plain(report.scores[a, row]),
            _plain(report.scores[b, row]),
            _plain(gap[row]),
            report.caption(a, row),
            report.caption(b, row),
        )
        for row in order
    )
    first, second = report.names[a], report.names[b]
    return comma(("image", first, second, "difference", f"caption {first}", f"caption {second}"), rows)


def pair_dict(report: Report, a: int, b: int) -> dict[str, Any]:
    """Return a pair as JSON values."""
    return pair_page.pair_dict(report, a, b)


def plots_dict(report: Report) -> dict[str, Any]:
    """Return each plot's numbers as rows."""
    return {
        "schema": 1,
        "plots": [
            {
                "name": one.name,
                "title": one.title,
                "columns": [column.header for column in one.table.columns],
                "rows": [list(row) for row in one.table.rows],
            }
            for one in drawings(report)
        ],
        "signatures": report.comparison.signed,
    }


def plots_csv(report: Report) -> str:
    """Return each plot's numbers, the plot's name in the first column."""
    rows = [
        (one.name, *cells)
        for one in drawings(report)
        for cells in ([column.header for column in one.table.columns], *one.table.rows)
    ]
    return comma(("plot",), rows)


def suspects_dict(report: Report) -> dict[str, Any]:
    """Return every reason with its count, or why nobody looked, and the suspects that the page lists."""
    shown = suspects_page.view(report)
    reasons = [
        {
            "kind": one["name"],
            "title": one["title"],
            "count": one["count"],
            "listed": len(one["rows"]),
            "not_looked_for": one["missing"] or None,
        }
        for one in shown["reasons"]
    ]
    return {"schema": 1, "reasons": reasons, "suspects": suspects_rows(report)}


def suspects_rows(report: Report) -> list[dict[str, Any]]:
    """Return every suspect that the page lists."""
    found = suspects_page.view(report)["reasons"]
    return [
        {"kind": reason["name"], **{name: row[name] for name in ("slug", "system", "score", "reason", "caption")}}
        for reason in found
        for row in reason["rows"]
    ]
