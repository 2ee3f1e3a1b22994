"""Eight writers, readers and a compactor on one store: nobody is told "locked", nothing is lost, little is done twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import postgresql
import pytest
import worker
from processes import Worker

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.storage import compact, leftovers
from clipstore.storage.catalogue import contents
from clipstore.storage.check import check

WRITERS = 8
TWICE = 0.10
"""Share of the items that eight writers of the same items may encode twice."""

DATABASES = [pytest.param(name, marks=pytest.mark.stress) for name in postgresql.DATABASES]


def _run(workers: list[Worker]) -> list[list[str]]:
    """Let workers go at once, wait for all, and return what each said; any that failed or complained is shown."""
    with ExitStack() as stack:
        for one in workers:
            stack.enter_context(one)
        for one in workers:
            one.wait_until_ready()
        for one in workers:
            one.go()
        ends = [one.end(240) for one in workers]
    for code, lines, errors in ends:
        assert (code, lines[-1:], errors) == (0, ["done"], ""), (code, lines[-3:], errors)
        assert "locked" not in errors
    return [lines for _, lines, _ in ends]


def _sound(folder: Path, wanted: set[int]) -> None:
    """Compact; then the store holds exactly the texts wanted, once each, with the encoder's own vectors."""
    with Store.open(folder) as store:
        compact.compact(store.catalogue)
        leftovers.sweep(store.catalogue, leftovers.find(store.catalogue, grace=0.0))
        assert check(folder, store.catalogue) == []
        texts = [worker.text(number) for number in sorted(wanted)]
        space = store.custom_space(FakeEncoder(worker.DIM), "fake")
        shelf = space.shelf("text")
        assert (shelf.rows, len(shelf.names)) == (len(wanted), 1)
        expected = FakeEncoder(worker.DIM).encode_texts([worker.PREFIX + one for one in texts])
        assert np.array_equal(space.gather_texts(space.text_keys(texts, worker.PREFIX)), expected)
        with store.catalogue.read() as tx:
            assert contents.text_count(tx) == len(wanted)


def _mixed(folder: Path, writers: int, readers: int, seconds: float) -> None:
    roles = ["add"] * writers + ["read"] * readers + ["squeeze"]
    said = _run([Worker(folder, role, seed, seconds) for seed, role in enumerate(roles)])
    spans = [line.split()[1:] for lines in said[:writers] for line in lines if line.startswith("text")]
    added = {number for start, stop in spans for number in range(int(start), int(stop))}
    assert all(any(line.startswith("text") for line in lines) for lines in said[:writers])
    assert all(int(lines[-2].split()[1]) > 0 for lines in said[writers:])  # rounds read, compactions done
    _sound(folder, added)


def test_some_writers_and_a_reader_while_it_is_compacted(new_store: Callable[[str], Path]) -> None:
    """Three writers, a reader and a compactor for two seconds: no error, no lost row, no missing file."""
    _mixed(new_store("sqlite"), 3, 1, 2.0)


@pytest.mark.parametrize("database", DATABASES)
def test_eight_writers_and_readers_while_it_is_compacted(new_store: Callable[[str], Path], database: str) -> None:
    """Eight writers of overlapping items, two readers and a compactor: no error, the exact count after compaction."""
    _mixed(new_store(database), WRITERS, 2, 20.0)


@pytest.mark.parametrize("database", DATABASES)
def test_eight_writers_of_the_same_items_share_the_work(new_store: Callable[[str], Path], database: str) -> None:
    """Eight processes that are all asked to encode the same texts encode under a tenth of them twice."""
    folder = new_store(database)
    said = _run([Worker(folder, "share", seed) for seed in range(WRITERS)])
    encoded = [int(line.split()[1]) for lines in said for line in lines if line.startswith("encoded")]
    again = sum(encoded) / worker.SHARED - 1
    assert again < TWICE, f"{again:.1%} of {worker.SHARED:,} texts were encoded twice: {encoded}"
    _sound(folder, set(range(worker.SHARED)))
