"""Plain rows to strings: text for a terminal, TSV for a pipe, Markdown, LaTeX and CSV. Nothing here prints."""

from collections.abc import Callable
from typing import Final

from clipstore.tables.comma import csv as csv
from clipstore.tables.latex import latex as latex
from clipstore.tables.markdown import markdown as markdown
from clipstore.tables.table import Column as Column
from clipstore.tables.table import Table as Table
from clipstore.tables.table import one_line as one_line
from clipstore.tables.table import text as text
from clipstore.tables.table import tsv as tsv

FORMS: Final[dict[str, Callable[[Table], str]]] = {
    "table": text,
    "md": markdown,
    "latex": latex,
    "csv": csv,
    "tsv": tsv,
}
"""What ``--format`` accepts, and the function that gives it."""
