"""Several processes on one store at once: writers lose nothing, readers never miss what was committed."""

from __future__ import annotations

import time

import numpy as np
from small_stores import DIGEST, commit, in_children, unit_vectors

from clipstore.storage.catalogue import Catalogue, contents, segments
from clipstore.storage.check import check
from clipstore.storage.lookup import Shelf

WRITERS, ROUNDS, ROWS = 4, 6, 25
VECTORS = unit_vectors(WRITERS * ROUNDS * ROWS)


def _shelf(catalogue):
    with catalogue.read() as tx:
        return Shelf(catalogue.folder, segments.all(tx, DIGEST, "text"))


def _write(catalogue, number):
    """Commit this writer's own vectors, and texts that all writers share, round by round."""
    for step in range(ROUNDS):
        start = (number * ROUNDS + step) * ROWS
        commit(catalogue, np.arange(start, start + ROWS), VECTORS[start : start + ROWS])
        with catalogue.write() as tx:
            contents.add_texts(tx, list(range(step, step + 50)), [f"text {key}" for key in range(step, step + 50)])


def _read(catalogue):
    """Gather all that is there, again and again, until all writers are done."""
    deadline = time.monotonic() + 60
    seen = 0
    while seen < len(VECTORS) and time.monotonic() < deadline:
        shelf = _shelf(catalogue)
        there = np.flatnonzero(shelf.contains(np.arange(len(VECTORS))))
        assert len(there) == shelf.rows >= seen
        assert np.array_equal(shelf.gather(there), VECTORS[there]) or not len(there)
        seen = len(there)
    assert seen == len(VECTORS)


def test_writers_and_readers_at_once(folder):
    """Four writers and two readers: every vector and text arrives, no reader sees less than before or a wrong vector."""
    Catalogue.open(folder).close()

    def work(number):
        catalogue = Catalogue.open(folder)
        _write(catalogue, number) if number < WRITERS else _read(catalogue)
        catalogue.close()

    assert in_children(WRITERS + 2, work) == [0] * (WRITERS + 2)
    catalogue = Catalogue.open(folder)
    assert np.array_equal(_shelf(catalogue).gather(np.arange(len(VECTORS))), VECTORS)
    with catalogue.read() as tx:
        assert contents.text_count(tx) == ROUNDS + 49
    assert [finding.kind for finding in check(folder, catalogue)] == ["text changed"]  # made-up ids, told as such
    catalogue.close()
