"""What goes to stdout or ``-o FILE``: a table fitted to a terminal, tabs in a pipe, or JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clipstore.errors import CannotWrite
from clipstore.formats import save
from clipstore.tables import one_line, text, tsv

if TYPE_CHECKING:
    from clipstore.tables import Table


def dumps(value: object) -> str:
    """Return JSON with a final line end; NaN is never written."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def write_file(path: Path, content: str) -> None:
    """Write a text file whole or not at all.

    Raises
    ------
    CannotWrite
        When the folder is missing, the disk full or permission lacking.
    """
    save(path, content.encode())


def check(*paths: Path | None) -> None:
    """Refuse files that could not be written, before any work is done for them.

    Raises
    ------
    CannotWrite
        When a path is a folder, or its folder is missing or not writable.
    """
    for path in paths:
        if path is None:
            continue
        problem = None
        if path.is_dir():
            problem = "is a folder"
        elif not path.parent.is_dir():
            problem = "its folder does not exist"
        elif not os.access(path.parent, os.W_OK):
            problem = "its folder can't be written"
        if problem:
            msg = f"can't write {path}: {problem}"
            raise CannotWrite(msg)


def emit(content: str, out: Path | None) -> None:
    """Write a result to stdout, or to the file of ``-o``."""
    if out is not None:
        write_file(out, content)
    else:
        try:
            sys.stdout.write(content)
            sys.stdout.flush()
        except OSError as error:
            msg = f"can't write the result: {(error.strerror or str(error)).lower()}"
            raise CannotWrite(msg) from error


def emit_table(table: Table, out: Path | None) -> None:
    """Write a table: fitted to the width on a terminal, tab-separated in a pipe, aligned in a file."""
    if out is not None:
        emit(text(table), out)
    elif sys.stdout.isatty():
        _draw(table)
    else:
        emit(tsv(table), None)


def _draw(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    drawn = Drawn(box=None, pad_edge=False, header_style="bold")
    for column, header in zip(table.columns, _headers(table), strict=True):
        drawn.add_column(Text(header), justify=column.align, overflow="fold", no_wrap=column.align == "right")
    for row in table.rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    console.print(drawn)
    for note in table.notes:
        console.print(Text(note), style="dim", soft_wrap=True)


def _headers(table: Table) -> list[str]:
    """Return the header of each column; where columns have groups, below the group's name above its first."""
    if not any(column.group for column in table.columns):
        return [column.header for column in table.columns]
    starts = {sum(count for _, count in table.groups()[:number]) for number in range(len(table.groups()))}
    return [
        f"{one_line(column.group) if index in starts else ''}\n{column.header}"
        for index, column in enumerate(table.columns)
    ]
