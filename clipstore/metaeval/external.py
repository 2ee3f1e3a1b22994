"""Scores that another program made: a file with one number a caption, matched by image and caption."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore.errors import BadFormat, InputError, Unpaired
from clipstore.metaeval.pictures import image_key
from clipstore.metaeval.readers.files import joined, number, read_text, records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.metaeval.protocols import Numbers
    from clipstore.metaeval.scoring import Rows

_IMAGE: Final = ("image", "image_id", "imgid", "image_path", "filename", "file_name", "img")
_CAPTION: Final = ("caption", "mt", "hyp", "candidate", "text")
_FIELD: Final = re.compile(r"\s*(image file|caption|[a-z ]*score)\s*:\s?(.*)")

_Key = tuple[str, str]


def _key(image: object, caption: object) -> _Key:
    return image_key(str(image)), joined(str(caption)).casefold()


@final
@dataclass(frozen=True, eq=False)
class External:
    """Scores of one metric.

    Parameters
    ----------
    name
        What the table calls it.
    scores
        (Image, caption) -> its scores in the order of the file; a pair that repeats takes them in turn.
    column
        Scores without image and caption, in the order of the benchmark's rows; None where they have them.
    """

    name: str
    scores: Mapping[_Key, Sequence[float]]
    column: tuple[float, ...] | None = None

    @classmethod
    def read(cls, name: str, given: str) -> External:
        """Read ``FILE[,FILE...][:COLUMN]``: CSV, TSV, JSONL, Parquet, or FLEUR's text files.

        Raises
        ------
        InputError, BadFormat
            When a file is missing or holds no scores.
        """
        head, colon, tail = given.rpartition(":")
        whole = not colon or Path(given).exists()
        paths, field = (given, None) if whole else (head, tail)
        found: dict[_Key, list[float]] = {}
        column: list[float] = []
        for one in paths.split(","):
            _read(name, Path(one), field, found, column)
        if found and column:
            msg = f"{name}: some files have images and captions, others have scores alone: give one kind"
            raise BadFormat(msg)
        return cls(name, found, tuple(column) if column else None)

    def of(self, rows: Rows) -> tuple[Numbers, str]:
        """Return the score of each row, float64, NaN where the file has none; and a note if some are missing.

        Raises
        ------
        Unpaired
            When no row has a score, or a bare column has another length.
        """
        if self.column is not None:
            if len(self.column) != len(rows):
                msg = f"{self.name}: {len(self.column):,} scores for {len(rows):,} captions; give image and caption too"
                raise Unpaired(msg)
            return np.array(self.column, np.float64), ""
        taken: dict[_Key, int] = {}
        values = np.full(len(rows), np.nan)
        for row, pair in enumerate(zip(rows.images, rows.captions, strict=True)):
            key = _key(*pair)
            own = self.scores.get(key)
            if own is not None:
                turn = taken[key] = taken.get(key, -1) + 1
                values[row] = own[turn % len(own)]
        missing = int(np.isnan(values).sum())
        if missing == len(rows):
            msg = f"{self.name}: none of its {len(self.scores):,} captions is one of the benchmark's {len(rows):,}"
            raise Unpaired(msg)
        return values, f"{self.name}: {missing:,} captions have no score and are left out" if missing else ""


def _read(name: str, path: Path, field: str | None, found: dict[_Key, list[float]], column: list[float]) -> None:
    if path.suffix == ".txt":
        text = read_text(path)
        rows: list[dict[str, Any]] = _labelled(text) if _FIELD.match(text) else []
        if not rows:
            column += [number(line, path, at) for at, line in enumerate(text.split(), 1)]
            return
    else:
        rows = records(path)
    if not rows:
        msg = f"{path.name}: holds no scores"
        raise BadFormat(msg)
    image, caption = (_present(rows[0], names) for names in (_IMAGE, _CAPTION))
    wanted = field or _score_column(name, rows[0], path)
    if wanted not in rows[0]:
        msg = f"{path.name}: no column {wanted!r}; there is: {', '.join(rows[0])}"
        raise InputError(msg)
    for at, row in enumerate(rows, 1):
        score = number(row[wanted], path, at)
        if image and caption:
            found.setdefault(_key(row[image], row[caption]), []).append(score)
        else:
            column.append(score)


def _present(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in row), None)


def _score_column(name: str, row: Mapping[str, Any], path: Path) -> str:
    """Return the column that holds the scores: of the metric's name, or the last one called a score."""
    if name in row:
        return name
    called = [one for one in row if "score" in one.lower()]
    if not called:
        msg = f"{path.name}: no column is called {name!r} or a score; name it: --scores {name}={path.name}:COLUMN"
        raise InputError(msg)
    return called[-1]


def _labelled(text: str) -> list[dict[str, Any]]:
    """Read FLEUR's layout: ``image file : ...``, then ``caption : ...`` and its scores, blank lines between."""
    rows: list[dict[str, Any]] = []
    image = ""
    for line in text.splitlines():
        found = _FIELD.fullmatch(line)
        if found is None:
            continue
        label, value = found.groups()
        if label == "image file":
            image = value
        elif label == "caption":
            rows.append({"image": image, "caption": value})
        elif rows:
            rows[-1][label.strip()] = value
    return rows
