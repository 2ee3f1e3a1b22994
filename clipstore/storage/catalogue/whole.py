"""The whole catalogue, table by table, for copies and merges: what the other modules look up by key, listed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import insert, select

from clipstore.storage import schema
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.storage.catalogue.files import FileRow
from clipstore.storage.catalogue.spaces import number_of
from clipstore.storage.catalogue.statements import Tx, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = 20_000
_SIGN = 1 << 64


class Captions(NamedTuple):
    """One version of a system's captions: set, name, hash, where from, current or not."""

    set_name: str
    name: str
    digest: str
    origin: dict[str, Any]
    current: bool


def images(tx: Tx) -> Iterator[ImageRow]:
    """Yield all images, by id."""
    last = -1
    columns = "id, sha256, byte_count, mode, width, height, flags"
    while page := rows(tx, f"SELECT {columns} FROM images WHERE id > ? ORDER BY id LIMIT {_PAGE}", last):  # noqa: S608
        for row in page:
            yield ImageRow(row[0], bytes(row[1]), row[2], row[3], row[4], row[5], tuple(json.loads(row[6])))
        last = page[-1][0]


def cuts(tx: Tx, digest: str) -> list[tuple[int, int, int]]:
    """Return (vector key, tokens, cut) of every text of a space that did not fit."""
    query = "SELECT vector_key, tokens, cut FROM cuts WHERE space_id = ? ORDER BY vector_key"
    return [(row[0], row[1], row[2]) for row in rows(tx, query, number_of(tx, digest))]


def files(tx: Tx) -> list[FileRow]:
    """Return all image files that are remembered, by folder and name."""
    query = (
        "SELECT r.path, f.name, f.size, f.mtime_ns, f.ctime_ns, f.inode, f.hashed_ns, f.image_id "
        "FROM image_files f JOIN image_roots r ON r.id = f.root_id ORDER BY r.path, f.name"
    )
    return [
        FileRow(
            os.fsdecode(os.path.join(bytes(row[0]), bytes(row[1]))),  # noqa: PTH118  bytes, as the system gave them
            row[2],
            row[3],
            row[4],
            row[5] % _SIGN,
            row[6],
            row[7],
        )
        for row in rows(tx, query)
    ]


def pairs(tx: Tx) -> Iterator[tuple[str, int, int, float]]:
    """Yield (scorer, context, text, score) of all pair scores."""
    for number, scorer in rows(tx, "SELECT id, fingerprint FROM scorers ORDER BY id"):
        last: tuple[int, int] = (-1, -1)
        query = (
            "SELECT context_id, text_id, score FROM pair_scores WHERE scorer_id = ? AND (context_id > ? "  # noqa: S608
            f"OR (context_id = ? AND text_id > ?)) ORDER BY context_id, text_id LIMIT {_PAGE}"
        )
        while page := rows(tx, query, number, last[0], last[0], last[1]):
            for context, text, score in page:
                yield scorer, context, text, score
            last = page[-1][0], page[-1][1]


def systems(tx: Tx) -> list[Captions]:
    """Return every version of every system, older ones first, current ones last."""
    query = (
        "SELECT e.name, s.name, s.digest, s.origin, s.is_current FROM systems s JOIN eval_sets e ON e.id = s.set_id "
        "ORDER BY s.is_current, s.id"
    )
    return [Captions(row[0], row[1], row[2], json.loads(row[3]), bool(row[4])) for row in rows(tx, query)]


def copy(source: Tx, target: Tx) -> None:
    """Copy every row of every table into an empty catalogue of the same schema."""
    for table in schema.metadata.sorted_tables:
        target.execute(table.delete())  # migrations put a first row into some
        result = source.execution_options(stream_results=True).execute(select(table))
        for page in result.partitions(_PAGE // 10):
            target.execute(insert(table), [row._asdict() for row in page])
