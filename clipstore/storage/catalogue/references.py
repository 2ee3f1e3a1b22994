"""References between rows: which texts and images something still names, and taking away what nothing does."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from clipstore.storage.catalogue.spaces import number_of
from clipstore.storage.catalogue.statements import Tx, number, rows, run, run_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clipstore.arrays import Ids

_PAGE = 20_000


def text_ids(tx: Tx, runs_since: float = 0.0) -> Ids:
    """Return the texts that references, candidates (old ones too) and runs name: sorted int64 of shape (ids,).

    Parameters
    ----------
    tx
        A transaction.
    runs_since
        Runs older than this do not count; seconds since the epoch.
    """
    named = rows(tx, "SELECT text_id FROM item_references UNION SELECT text_id FROM candidates")
    return _joined([row[0] for row in named], _used(tx, "used_texts", runs_since))


def image_ids(tx: Tx, runs_since: float = 0.0) -> Ids:
    """Return the images that items of eval sets and runs name: sorted int64 of shape (ids,)."""
    named = rows(tx, "SELECT DISTINCT image_id FROM eval_items WHERE image_id IS NOT NULL")
    return _joined([row[0] for row in named], _used(tx, "used_images", runs_since))


def _used(tx: Tx, column: str, since: float) -> Iterator[Ids]:
    for row in rows(tx, f"SELECT {column} FROM runs WHERE run_at >= ?", since):  # noqa: S608  the name is ours
        yield np.frombuffer(zlib.decompress(row[0]), dtype="<i8").astype(np.int64)


def _joined(named: list[int], used: Iterable[Ids]) -> Ids:
    return np.unique(np.concatenate([np.array(named, np.int64), *used]))


def all_texts(tx: Tx) -> Iterator[tuple[list[int], list[str]]]:
    """Yield ids and raw texts of all texts that are stored, a page at a time, by id."""
    last = -1
    while page := rows(tx, f"SELECT id, text FROM texts WHERE id > ? ORDER BY id LIMIT {_PAGE}", last):  # noqa: S608
        yield [row[0] for row in page], [row[1] for row in page]
        last = page[-1][0]


def all_images(tx: Tx) -> Ids:
    """Return the ids of all images that are stored: sorted int64 of shape (ids,)."""
    return np.array([row[0] for row in rows(tx, "SELECT id FROM images ORDER BY id")], np.int64)


def runs_before(tx: Tx, before: float) -> int:
    """Return how many runs are older than that."""
    return number(tx, "SELECT count(*) FROM runs WHERE run_at < ?", before)


def drop_runs(tx: Tx, before: float) -> int:
    """Take away the records of runs that are older; return how many."""
    return run(tx, "DELETE FROM runs WHERE run_at < ?", before)


def drop_texts(tx: Tx, ids: Ids) -> None:
    """Take away texts, and the pair scores of each."""
    run_in(tx, "DELETE FROM texts WHERE id IN ({marks})", ids.tolist())
    if number(tx, "SELECT count(*) FROM scorers"):
        run_in(tx, "DELETE FROM pair_scores WHERE text_id IN ({marks})", ids.tolist())


def drop_images(tx: Tx, ids: Ids) -> None:
    """Take away images, what is remembered of their files, and the scores of pairs that they are in."""
    run_in(tx, "DELETE FROM image_files WHERE image_id IN ({marks})", ids.tolist())
    run_in(tx, "DELETE FROM images WHERE id IN ({marks})", ids.tolist())
    if number(tx, "SELECT count(*) FROM scorers"):
        by_key = "DELETE FROM pair_scores WHERE scorer_id IN (SELECT id FROM scorers) AND context_id IN ({marks})"
        run_in(tx, by_key, ids.tolist())


def drop_cuts(tx: Tx, digest: str, vector_keys: Ids) -> None:
    """Take away what is remembered of texts that did not fit an encoder."""
    space = number_of(tx, digest)
    run_in(tx, "DELETE FROM cuts WHERE space_id = ? AND vector_key IN ({marks})", vector_keys.tolist(), space)
