"""Plain SQL that runs on both databases, in batches that both accept.

The hot paths of the catalogue go through here: ``?`` marks a parameter, and ``({marks})``
the place of a list. Nothing here knows a table.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Tx = Connection
"""A transaction that :meth:`Catalogue.read` or :meth:`Catalogue.write` opened."""

BATCH = 900
"""Parameters in one statement: SQLite before 3.32 takes 999."""

_T = TypeVar("_T")


def batches(values: Iterable[_T], size: int = BATCH) -> Iterator[list[_T]]:
    """Cut ``values`` into lists of at most ``size``."""
    source = iter(values)
    while batch := list(islice(source, size)):
        yield batch


def _spelled(tx: Tx, sql: str) -> str:
    return sql if tx.dialect.paramstyle == "qmark" else sql.replace("?", "%s")


def run(tx: Tx, sql: str, *parameters: object) -> int:
    """Run one statement; return how many rows it changed."""
    return tx.exec_driver_sql(_spelled(tx, sql), parameters).rowcount


def run_many(tx: Tx, sql: str, rows: Sequence[tuple[object, ...]]) -> int:
    """Run one statement for each row of parameters; return how many rows changed in all."""
    if not rows:
        return 0
    return tx.exec_driver_sql(_spelled(tx, sql), list(rows)).rowcount


def rows(tx: Tx, sql: str, *parameters: object) -> list[Any]:
    """Return all rows of one query, as the driver's own tuples (SQLAlchemy's rows cost as much as the query)."""
    result = tx.exec_driver_sql(_spelled(tx, sql), parameters)
    cursor = result.cursor
    try:
        return [] if cursor is None else list(cursor.fetchall())
    finally:
        result.close()


def first(tx: Tx, sql: str, *parameters: object) -> Any | None:
    """Return the first row of one query, or None."""
    return tx.exec_driver_sql(_spelled(tx, sql), parameters).fetchone()


def number(tx: Tx, sql: str, *parameters: object) -> int:
    """Return the one integer that a query gives; 0 where it gives null or no row."""
    row = first(tx, sql, *parameters)
    return int(row[0] or 0) if row else 0


def rows_in(tx: Tx, sql: str, values: Iterable[object], *parameters: object, size: int = BATCH) -> Iterator[Any]:
    """Run a query that holds ``({marks})`` once for each batch of values; yield all rows.

    Other parameters stand before the list in the statement.
    """
    for batch in batches(values, size - len(parameters)):
        marks = ",".join("?" * len(batch))
        yield from rows(tx, sql.format(marks=marks), *parameters, *batch)


def run_in(tx: Tx, sql: str, values: Iterable[object], *parameters: object, size: int = BATCH) -> int:
    """Run a statement that holds ``({marks})`` once for each batch; return how many rows changed."""
    changed = 0
    for batch in batches(values, size - len(parameters)):
        marks = ",".join("?" * len(batch))
        changed += run(tx, sql.format(marks=marks), *parameters, *batch)
    return changed


def next_id(tx: Tx, table: str) -> int:
    """Return the number for the next row of ``table``: sound because writers take turns."""
    return number(tx, f"SELECT max(id) FROM {table}") + 1  # noqa: S608  the name is one of ours
