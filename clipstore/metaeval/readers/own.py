"""Ratings and pairs of your own: CSV, TSV, JSONL or Parquet, one row a rating or a pair.

``ratings``: image, caption, rating (or rating_1, rating_2, ...), and references, judge, system where there are.
``pairs``: image, a, b, label (a or b, 0 or 1, tie), and references, category where there are.
This also serves alt texts, personality captions and news captions as their authors publish them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.errors import BadFormat, InputError
from clipstore.metaeval.protocols import Pairs, Ratings
from clipstore.metaeval.readers.files import column, joined, number, records
from clipstore.metaeval.readers.polaris import texts

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.metaeval.protocols import References

_IMAGE: Final = ("image", "image_id", "imgid", "filename", "file_name")
_CAPTION: Final = ("caption", "candidate", "mt", "hyp", "text")
_REFERENCES: Final = ("references", "refs", "reference")
_RATING: Final = re.compile(r"(?:rating|score|judge)[ _-]?\d+", re.IGNORECASE)
_LABELS: Final = {"a": 0, "0": 0, "first": 0, "b": 1, "1": 1, "second": 1, "tie": -1, "-1": -1, "": -1}


def _table(path: Path) -> list[dict[str, Any]]:
    if path.is_dir():
        msg = f"{path} is a folder: ratings and pairs of your own are one file: CSV, TSV, JSONL or Parquet"
        raise InputError(msg)
    rows = records(path)
    if not rows:
        msg = f"{path.name}: holds no rows"
        raise BadFormat(msg)
    return rows


def _references(row: dict[str, Any], path: Path, at: int) -> References:
    value = next((row[name] for name in _REFERENCES if row.get(name)), None)
    return () if value is None else texts(value, path, at)


def ratings(path: Path) -> Ratings:
    """Read ratings; several rows of one (image, caption, system) are several judges.

    Parameters
    ----------
    path
        A file with a header.

    Raises
    ------
    BadFormat
        Naming the first row that lacks a field or holds no number.
    """
    found: dict[tuple[str, str, str], list[float]] = {}
    references: dict[tuple[str, str, str], References] = {}
    empty = 0
    for at, row in enumerate(_table(path), 1):
        image, caption = str(column(row, _IMAGE, path, at)), joined(str(column(row, _CAPTION, path, at)))
        key = (image, caption, str(row.get("system") or ""))
        many = [name for name in row if _RATING.fullmatch(name)]
        cells = [row[name] for name in many] if many else [column(row, ("rating", "score", "human"), path, at)]
        own = [value for cell in cells if cell not in (None, "") and not np.isnan(value := number(cell, path, at))]
        empty += len(cells) - len(own)
        found.setdefault(key, []).extend(own)
        references.setdefault(key, _references(row, path, at))
    judges = max(map(len, found.values()))
    table = np.full((len(found), judges), np.nan)
    for at, own in enumerate(found.values()):
        table[at, : len(own)] = own
    systems = tuple(key[2] for key in found)
    return Ratings(
        "ratings",
        tuple(key[0] for key in found),
        tuple(key[1] for key in found),
        tuple(references.values()),
        table,
        "tau_c",
        {"empty rating": empty},
        systems if any(systems) else (),
    )


def pairs(path: Path) -> Pairs:
    """Read pairs; a row without references has none, a row without category is of category ``all``.

    Parameters
    ----------
    path
        A file with a header.

    Raises
    ------
    BadFormat
        Naming the first row that lacks a field or whose label is none.
    """
    rows = _table(path)
    labels = []
    for at, row in enumerate(rows, 1):
        if not {"label", "winner", "choice"} & row.keys():
            column(row, ("label", "winner", "choice"), path, at)
        said = str(row.get("label", row.get("winner", row.get("choice")))).strip().lower()
        if said not in _LABELS:
            msg = f"{path.name}: row {at}: label {said!r} is none of a, b, 0, 1, tie"
            raise BadFormat(msg)
        labels.append(_LABELS[said])
    numbered = list(enumerate(rows, 1))
    return Pairs(
        "pairs",
        tuple(str(column(row, _IMAGE, path, at)) for at, row in numbered),
        tuple(joined(str(column(row, ("a", "caption_a", "first"), path, at))) for at, row in numbered),
        tuple(joined(str(column(row, ("b", "caption_b", "second"), path, at))) for at, row in numbered),
        (tuple(_references(row, path, at) for at, row in numbered),),
        np.array(labels, np.int64),
        tuple(str(row.get("category") or "all") for row in rows),
        {"tied label (a coin)": labels.count(-1)},
    )
