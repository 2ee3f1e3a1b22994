"""A comparison as rows, JSON text, Parquet and HTML."""

from __future__ import annotations

import html as standard
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clipstore.compare.record import key_of, number
from clipstore.errors import CannotWrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clipstore.compare.parts import Part
    from clipstore.tables import Table


def json_text(value: dict[str, Any]) -> str:
    """Return JSON with a final line end; NaN is never written."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def per_item(part: Part) -> Iterator[dict[str, Any]]:
    """Yield one row an item and system, item by item; None where a metric has no number."""
    measured = part.measured
    columns = {
        key_of(metric): measure.per_item.astype(float)
        for metric, measure in measured.measures.items()
        if measure.per_item.shape[1] == len(measured.items.keys) and measure.aggregate != "value"
    }
    for item, key in enumerate(measured.items.keys):
        for row, system in enumerate(measured.systems):
            yield {
                "set": measured.set_name,
                "image": key,
                "system": system.name,
                "rank": 0,
                "caption": system.texts[item] if system.texts else None,
                **{metric: number(float(values[row, item])) for metric, values in columns.items()},
            }


def parquet(rows: Sequence[dict[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write rows as a Parquet file, whole or not at all; image ids are text there.

    Raises
    ------
    CannotWrite
        When the file can't be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [str(row[name]) if name == "image" else row.get(name) for row in rows] for name in names}
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        try:
            pq.write_table(pa.table(columns), temporary)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        msg = f"can't write {target}: {(error.strerror or str(error)).lower()}"
        raise CannotWrite(msg) from error


def html(tables: Sequence[Table], lines: Sequence[str]) -> str:
    """Return tables as HTML with real headers, and the lines below; everything is escaped."""
    parts = [_html_table(table) for table in tables]
    below = "".join(f"<li>{standard.escape(line)}</li>" for line in lines)
    return f'<div class="clipstore">{"".join(parts)}<ul>{below}</ul></div>'


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{standard.escape(column.full)}</th>' for column in table.columns)
    body = []
    for place, row in enumerate(table.rows):
        cells = []
        for column, cell in enumerate(row):
            inner = standard.escape(cell)
            inner = f"<b>{inner}</b>" if (place, column) in table.bold else inner
            header = table.columns[column].header == "system"
            cells.append(f'<th scope="row">{inner}</th>' if header else f"<td>{inner}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
