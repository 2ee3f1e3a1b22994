"""A table as comma-separated values, by the standard library's writer."""

from __future__ import annotations

import csv as standard
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clipstore.tables.table import Table


def csv(table: Table) -> str:
    """Return header, rows, then each note as a row of one cell; quotes, commas and line ends are quoted.

    A group of columns stands before each of its headers, so that there is one line of them.
    """
    out = io.StringIO()
    writer = standard.writer(out, lineterminator="\n")
    writer.writerow([column.full for column in table.columns])
    writer.writerows(table.rows)
    writer.writerows([note] for note in table.notes)
    return out.getvalue()
