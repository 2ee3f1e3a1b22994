"""A table of tags -> the items of an eval set: named facts to slice by."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clipstore.errors import BadFormat

if TYPE_CHECKING:
    import os

    from clipstore.evalset import EvalSet
    from clipstore.formats import Hints


def tagged(evalset: EvalSet, path: str | os.PathLike[str], hints: Hints | None = None) -> EvalSet:
    """Return the set with the tags of a CSV or TSV file: image ids in the first column, a field in each other.

    Images that the file does not name keep the tags that they have; ids that are no image of
    the set are left alone.

    Raises
    ------
    BadFormat
        When the file can't be read, has no header with fields, or names an image twice.
    InputError
        When no id is an image of the set.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        msg = f"can't read {file}: {(error.strerror or str(error)).lower()}"
        raise BadFormat(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{file.name}: can't be read as text: {error}"
        raise BadFormat(msg) from error
    dialect = "excel-tab" if "\t" in text.partition("\n")[0] else "excel"
    header, *rows = [row for row in csv.reader(text.splitlines(), dialect) if row] or [[]]
    wrong = [place for place, row in enumerate(rows, 2) if len(row) != len(header)]
    if len(header) < 2 or wrong:
        where = f"line {wrong[0]} has another number of cells" if wrong else "the first line must name an id and fields"
        msg = f"{file.name}: {where}: tags are a table, id,FIELD,..."
        raise BadFormat(msg)
    ids: list[str | int] = [row[0] for row in rows]
    if len(set(ids)) < len(ids):
        msg = f"{file.name}: some image has two rows: give each one row"
        raise BadFormat(msg)
    met = evalset.rows_of(ids, file.name, hints, missing="skip")
    tags = {
        key: dict(zip(header[1:], row[1:], strict=True))
        for key, row in zip(met.keys, rows, strict=True)
        if key is not None
    }
    items = tuple(replace(item, tags={**item.tags, **tags.get(item.key, {})}) for item in evalset.items)
    return replace(evalset, items=items)
