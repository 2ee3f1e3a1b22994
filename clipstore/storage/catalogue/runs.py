"""Runs: every score, rerank and compare that was asked, what it used and what it gave."""

from __future__ import annotations

import json
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clipstore.errors import Busy, CannotWrite
from clipstore.storage.catalogue.statements import Tx, first, rows, run

if TYPE_CHECKING:
    from clipstore.arrays import Ids
    from clipstore.storage.catalogue.catalogue import Catalogue


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunRow:
    """One run.

    Parameters
    ----------
    id
        Hash of the request, hex digits.
    verb
        ``score``, ``compare``, ...
    request, result
        JSON values.
    used_texts, used_images
        Ids of the texts and images that it used, int64 of shape (rows,).
    at
        Seconds since the epoch.
    """

    id: str
    verb: str
    request: dict[str, Any]
    result: dict[str, Any]
    used_texts: np.ndarray
    used_images: np.ndarray
    at: float


_DAY = 86_400.0  # seconds by which the time of a run that is asked again may be behind
_COLUMNS = "id, verb, request, result, used_texts, used_images, run_at"


def add(tx: Tx, row: RunRow) -> None:
    """Store a run; the same run again replaces its result and time."""
    values = (row.id, row.verb, json.dumps(row.request), json.dumps(row.result))
    run(
        tx,
        f"INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608  columns are ours
        "ON CONFLICT (id) DO UPDATE SET "
        "result = excluded.result, used_texts = excluded.used_texts, used_images = excluded.used_images, "
        "run_at = excluded.run_at",
        *values,
        _packed(row.used_texts),
        _packed(row.used_images),
        row.at,
    )


def get(tx: Tx, run_id: str) -> RunRow | None:
    """Return the run with this id, or None."""
    found = first(tx, f"SELECT {_COLUMNS} FROM runs WHERE id = ?", run_id)  # noqa: S608
    return None if found is None else _run(found)


def known(catalogue: Catalogue, run_id: str) -> bool:
    """Say whether there is a run with this id; one that is asked again after more than a day gets today's time.

    This waits for no lock: where the store is read-only or busy, the time stays.
    """
    with catalogue.read() as tx:
        found = first(tx, "SELECT run_at FROM runs WHERE id = ?", run_id)
    now = time.time()
    if found is not None and now - found[0] > _DAY and not catalogue.readonly:
        with suppress(Busy, CannotWrite), catalogue.write(patience=0) as tx:
            run(tx, "UPDATE runs SET run_at = ? WHERE id = ?", now, run_id)
    return found is not None


def all(tx: Tx) -> list[RunRow]:  # noqa: A001  read as runs.all
    """Return all runs, oldest first."""
    return [_run(row) for row in rows(tx, f"SELECT {_COLUMNS} FROM runs ORDER BY run_at, id")]  # noqa: S608


def _run(row: Any) -> RunRow:
    return RunRow(row[0], row[1], json.loads(row[2]), json.loads(row[3]), _unpacked(row[4]), _unpacked(row[5]), row[6])


def _packed(ids: Ids) -> bytes:
    return zlib.compress(np.ascontiguousarray(ids, dtype="<i8").tobytes())


def _unpacked(blob: bytes) -> Ids:
    return np.frombuffer(zlib.decompress(blob), dtype="<i8").astype(np.int64)
