"""Captions and their scores -> files: COCO results, official candidates, canonical JSONL, CSV, Parquet.

Ids go out as they came in. A file appears whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from clipstore.errors import CannotWrite, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clipstore.items import ItemKey, ScoreKind


_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One caption on its way out.

    Parameters
    ----------
    image
        The user's id of the image, as it came.
    caption
        The text, as it came.
    system
        Whose it is.
    rank
        Its place among the captions of its image.
    logprob, score_kind
        The captioner's own score and what it is.
    values
        Numbers by name, such as ``clip_s``; None where one is not defined.
    """

    image: ItemKey
    caption: str
    system: str | None = None
    rank: int = 0
    logprob: float | None = None
    score_kind: ScoreKind | None = None
    values: Mapping[str, float | None] = field(default_factory=dict)


def write(path: Path, rows: Sequence[Row], to: str) -> None:
    """Write captions in a format.

    Parameters
    ----------
    path
        Where; written under another name in the same folder, then moved into place.
    rows
        What, in the order of the file.
    to
        One of :data:`WRITERS`: ``coco-results``, ``official``, ``canonical``, ``csv``, ``tsv``,
        ``parquet``. CSV and Parquet hold ids of one type: a mix of numbers and strings becomes strings.

    Raises
    ------
    InputError
        When there is no such format, or ids that differ only in type would meet in one file.
    CannotWrite
        When the folder can't be written.
    """
    save(path, dumps(rows, to))


def dumps(rows: Sequence[Row], to: str) -> bytes:
    """Return captions in a format: see :func:`write`."""
    writer = WRITERS.get(to)
    if writer is None:
        msg = f"can't write {to!r}: one of {', '.join(WRITERS)}"
        raise InputError(msg)
    return writer(rows)


def save(path: Path, data: bytes) -> None:
    """Put bytes into a file, whole or not at all.

    Raises
    ------
    CannotWrite
        When the folder can't be written.
    """
    try:
        if path.exists() and not path.is_file():  # a device or a pipe, such as /dev/null, is written to, not replaced
            path.write_bytes(data)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        msg = f"can't write {path}: {error.strerror}: nothing was changed"
        raise CannotWrite(msg) from error


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _coco_results(rows: Sequence[Row]) -> bytes:
    ids = [row.image for row in rows]
    if all(isinstance(one, str) and _NUMBER.fullmatch(one) for one in ids):  # an image_id of COCO is a number
        ids = [int(one) for one in ids]
    return _json([{"image_id": id_, "caption": row.caption, **_extra(row)} for id_, row in zip(ids, rows, strict=True)])


def _official(rows: Sequence[Row]) -> bytes:
    """Write an object of id -> caption, or of id -> captions where an image has several."""
    grouped: dict[str, list[str]] = {}
    seen: dict[str, ItemKey] = {}
    for row in rows:
        key = str(row.image)
        if seen.setdefault(key, row.image) != row.image:
            msg = f"ids {row.image!r} and {seen[key]!r} are one key of a JSON object: write another format"
            raise InputError(msg)
        grouped.setdefault(key, []).append(row.caption)
    several = any(len(texts) > 1 for texts in grouped.values())
    return _json({key: texts if several else texts[0] for key, texts in grouped.items()})


def _canonical(rows: Sequence[Row]) -> bytes:
    lines = (json.dumps(_record(row), ensure_ascii=False, allow_nan=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _csv(rows: Sequence[Row], delimiter: str = ",") -> bytes:
    names, records = _table(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([record.get(name) for name in names] for record in records)
    return text.getvalue().encode()


def _parquet(rows: Sequence[Row]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        msg = "writing Parquet needs the package pyarrow: install it, or write another format"
        raise InputError(msg) from error
    names, records = _table(rows)
    if len({type(row.image) for row in rows}) > 1:
        records = [{**record, "image": str(record["image"])} for record in records]
    sink = io.BytesIO()
    pq.write_table(pa.table({name: [record.get(name) for record in records] for name in names}), sink)
    return sink.getvalue()


def _table(rows: Sequence[Row]) -> tuple[list[str], list[dict[str, Any]]]:
    records = [_record(row) for row in rows]
    names = dict.fromkeys(["image", "system", "rank", "caption"])
    for record in records:
        names.update(dict.fromkeys(record))
    return list(names), records


def _record(row: Row) -> dict[str, Any]:
    """Return the canonical row."""
    system = {} if row.system is None else {"system": row.system}
    return {"image": row.image, **system, "rank": row.rank, "caption": row.caption, **_extra(row)}


def _extra(row: Row) -> dict[str, Any]:
    score = {} if row.logprob is None else {"logprob": row.logprob}
    kind = {} if row.score_kind is None else {"score_kind": row.score_kind}
    return {**score, **kind, **{name: _finite(value) for name, value in row.values.items()}}


def _finite(value: float | None) -> float | None:
    return None if value is None or value != value else float(value)  # noqa: PLR0124  NaN is not itself


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()


WRITERS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "coco-results": _coco_results,
    "official": _official,
    "canonical": _canonical,
    "csv": _csv,
    "tsv": lambda rows: _csv(rows, "\t"),
    "parquet": _parquet,
}
"""What can be written, by name."""
