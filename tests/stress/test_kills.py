"""Writers killed at random instants and at every named step: the store opens, is sound, and lost nothing."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import worker
from processes import Worker

from clipstore import Store, keys
from clipstore.encoders.fake import FakeEncoder
from clipstore.storage import faults, segments
from clipstore.storage.catalogue import contents
from clipstore.storage.check import check
from clipstore.storage.lookup import Shelf
from clipstore.store import Space

LITTER = {"unreferenced file", "unfinished file"}
"""All that a killed writer may leave: files that no reader sees."""

SOME = [
    *[("sqlite", step) for step in ("file written", "folder synced", "row inserted", "committing", "file deleting")],
    ("sqlite", None),
    ("postgresql", "committing"),
    ("postgresql", None),
]
IDS = [f"{database}-{step or 'any instant'}" for database, step in SOME]


FORWARD = 200
"""How far each pair of writers stands ahead of the last, in texts, so that there is always something to write."""


@pytest.mark.parametrize(("database", "step"), SOME, ids=IDS)
def test_a_killed_writer_loses_nothing(new_store: Callable[[str], Path], database: str, step: str | None) -> None:
    """SIGKILL at a step, or wherever it stands: what it had said is there bit for bit, and the store is sound."""
    folder = new_store(database)
    said = _killed(folder, random.Random(f"{database} {step}"), [step], 0)
    _Known().examine(folder, said)


@pytest.mark.stress
@pytest.mark.parametrize(("database", "kills"), [("sqlite", 200), ("postgresql", 44)])
def test_many_killed_writers_lose_nothing(new_store: Callable[[str], Path], database: str, kills: int) -> None:
    """Pairs of writers on one store, half killed at a named step, half at any instant; after each pair all is well."""
    folder = new_store(database)
    dice = random.Random(os.urandom(8))
    half = kills // 2
    steps: list[str | None] = [*(faults.STEPS * (half // len(faults.STEPS) + 1))[:half], *[None] * (kills - half)]
    dice.shuffle(steps)
    known = _Known()
    said: list[str] = []
    for start in range(0, kills, 2):
        said += _killed(folder, dice, steps[start : start + 2], start // 2 * FORWARD)
        known.examine(folder, said)


def _killed(folder: Path, dice: random.Random, steps: list[str | None], first: int) -> list[str]:
    """Run writers at once, each to its violent end; return what they said."""
    with ExitStack() as stack:
        workers = []
        for step in steps:
            kill_at = None if step is None else f"{step}:{dice.randrange(1, 4)}"
            worker_ = Worker(folder, "write", dice.randrange(1 << 30), first=first, kill_at=kill_at)
            workers.append(stack.enter_context(worker_))
        for one in workers:
            one.wait_until_ready()
        for one in workers:
            one.go()
        for one, step in zip(workers, steps, strict=True):
            if step is None:
                time.sleep(dice.uniform(0, 0.5))
                one.kill()
        ends = [one.end() for one in workers]
    for code, lines, errors in ends:
        assert code == -signal.SIGKILL, f"it was to be killed and ended with {code} after {lines[-3:]}: {errors}"
        assert not errors
    return [line for _, lines, _ in ends for line in lines]


class _Known:
    """Every text and picture that workers may have stored so far, with its id and the encoder's own vector."""

    def __init__(self) -> None:
        self.encoder = FakeEncoder(worker.DIM)
        self.texts: list[str] = []
        self.text_vectors = self.image_vectors = np.empty((0, worker.DIM), np.float32)
        self.text_keys = self.image_ids = np.empty(0, np.int64)

    def _grow(self, space: Space, texts: int, images: int) -> None:
        fresh = [worker.text(number) for number in range(len(self.texts), texts)]
        if fresh:
            vectors = self.encoder.encode_texts([worker.PREFIX + one for one in fresh])
            self.text_vectors = np.concatenate([self.text_vectors, vectors])
            self.text_keys = np.concatenate([self.text_keys, space.text_keys(fresh, worker.PREFIX)])
            self.texts += fresh
        pictures = [worker.picture(number) for number in range(len(self.image_ids), images)]
        if pictures:
            self.image_vectors = np.concatenate([self.image_vectors, self.encoder.encode_images(pictures)])
            self.image_ids = np.concatenate([self.image_ids, [keys.image_id(one) for one in pictures]])

    def examine(self, folder: Path, said: list[str]) -> None:
        """Open the store, check it, compare each vector with the encoder's, and look for each that was said."""
        spans = [(kind, int(start), int(stop)) for kind, start, stop in (one.split() for one in said if " " in one)]
        with Store.open(folder) as store:
            found = check(folder, store.catalogue)
            assert {finding.kind for finding in found} <= LITTER, found
            space = store.custom_space(self.encoder, "fake")
            self._grow(
                space,
                max((stop for kind, _, stop in spans if kind == "text"), default=0) + 2 * worker.TEXTS,
                max((stop for kind, _, stop in spans if kind == "image"), default=0) + 2 * worker.IMAGES,
            )
            texts = _same(space.shelf("text"), self.text_keys, self.text_vectors)
            images = _same(space.shelf("image"), self.image_ids, self.image_vectors)
            self._has_contents(store, texts, images)
        for kind, start, stop in spans:
            assert (texts if kind == "text" else images)[start:stop].all(), (kind, start, stop)

    def _has_contents(self, store: Store, texts: np.ndarray, images: np.ndarray) -> None:
        raw = [self.texts[row] for row in np.flatnonzero(texts)]
        with store.catalogue.read() as tx:
            assert set(contents.images(tx, self.image_ids[images])) == set(self.image_ids[images].tolist())
            assert contents.texts(tx, keys.text_ids(raw)) == dict(zip(keys.text_ids(raw), raw, strict=True))


def _same(shelf: Shelf, wanted: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Say which ids are there, and see that nothing else is, and that each vector is as it was encoded."""
    there = shelf.contains(wanted)
    ids = [segments.open(row.path(shelf._root), row).ids for row in shelf._rows]
    assert len(np.unique(np.concatenate([*ids, np.empty(0, np.int64)]))) == there.sum()
    if there.any():
        assert np.array_equal(shelf.gather(wanted[there]), expected[there])
    return there
