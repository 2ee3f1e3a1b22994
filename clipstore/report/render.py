"""Templates: the environment that escapes everything, and JSON that is safe inside a page."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from clipstore.report.visible import visible

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

    from clipstore.report.links import Links
    from clipstore.report.report import Report

_BESIDE = (
    "default-src 'none'; img-src 'self' file:; style-src 'self' file:; script-src 'self' file:; "
    "base-uri 'none'; form-action 'none'"
)  # of a folder's pages, opened from a disk or from a web server; a live server sends its own

_UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


@cache
def environment() -> jinja2.Environment:
    """Return the environment: every value is escaped, an unknown name is an error."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("clipstore.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["svg"] = _trusted
    made.filters["words"] = lambda name: name.replace("_", " ")
    return made


def _seen(value: object) -> object:
    """Show control characters of a text that a template writes; markup was made of such texts already."""
    return visible(value) if type(value) is str else value


def _trusted(markup: str) -> Markup:
    """Mark what :mod:`clipstore.report.svg` made, where all text was escaped."""
    from markupsafe import Markup

    return Markup(markup)  # noqa: S704  only for markup of our own


def page(template: str, report: Report, links: Links, title: str, **values: Any) -> str:
    """Return a whole page: a template's ``main`` inside the layout.

    Parameters
    ----------
    template
        Its name without ending.
    report
        Names the eval set and the reranks that the navigation shows.
    links
        Where things stand.
    title
        Of the page.
    values
        What the template shows.
    """
    made = environment().get_template("page.html")
    return made.render(report=report, links=links, title=title, here=template, prefix="", policy=_BESIDE, **values)


def fragment(template: str, report: Report, links: Links, prefix: str, **values: Any) -> str:
    """Return a page's ``main`` alone; ``prefix`` keeps its ids apart from those of other pages in one file."""
    made = environment().get_template(f"parts/{template}.html")
    return made.render(report=report, links=links, prefix=prefix, here=template, **values)


def asset(name: str) -> str:
    """Return a stylesheet or script of the package."""
    return resources.files("clipstore.report").joinpath("static", name).read_text(encoding="utf-8")


def safe_json(value: Any) -> str:
    """Return JSON that can stand in a page: no ``<``, ``>`` or ``&``, no control character, no line separator."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
