"""A process of the stress tests: writes, reads or compacts a store until it is done, or is killed.

    python worker.py STORE ROLE SEED SECONDS FIRST

It says ``ready``, waits for a line, and then prints what it has done: a line is printed only
after the call that did it has returned. ``CLIPSTORE_TEST_KILL_AT=STEP:N`` has the process kill
itself when it reaches a named step of a commit for the Nth time.
"""

from __future__ import annotations

import io
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import PIL.Image

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import Tokens
from clipstore.items import Image
from clipstore.storage import compact, faults, leftovers
from clipstore.store import Space

DIM = 16
TEXTS, IMAGES = 2000, 200
"""How many texts and images, from its first on, a ``write`` worker draws from."""

SHARED = 6000
"""Texts that all of the ``same`` writers are to encode."""

PREFIX = "A photo depicts "
MILLISECONDS = 5.0
"""What one text of the ``same`` writers costs: encoding must take longer than bookkeeping, as it does."""


class Slow(FakeEncoder):
    """The fake encoder as slow as a model, counting what it embeds."""

    def __init__(self) -> None:
        super().__init__(DIM)
        self.embedded = 0

    def embed_texts(self, texts: Sequence[Tokens]) -> np.ndarray:
        """Count, wait, embed."""
        self.embedded += len(texts)
        time.sleep(len(texts) * MILLISECONDS / 1000)
        return super().embed_texts(texts)


def text(number: int) -> str:
    """Return one of the texts that writers share."""
    return f"text number {number}"


def picture(number: int) -> bytes:
    """Return one of the images that writers share."""
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (4, 4), (number % 256, number // 256, 9)).save(buffer, "PNG")
    return buffer.getvalue()


def say(*words: object) -> None:
    """Print a line at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def kill_at(wanted: str) -> None:
    """Kill this process when it reaches a step for the Nth time."""
    step, _, number = wanted.rpartition(":")
    left = int(number)

    def hook(reached: str) -> None:
        nonlocal left
        left -= reached == step
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    faults.install(hook)


def write(store: Store, space: Space, dice: random.Random, over: Callable[[], bool], start: int) -> None:
    """Add overlapping texts and images, and compact now and then, deleting what was replaced at once."""
    while not over():
        first = start + dice.randrange(TEXTS)
        numbers = range(first, first + dice.randrange(1, 40))
        space.ensure_texts([text(number) for number in numbers], PREFIX)
        say("text", numbers.start, numbers.stop)
        first = start // (TEXTS // IMAGES) + dice.randrange(IMAGES)
        numbers = range(first, first + 4)
        space.ensure_images([Image(picture(number), str(number)) for number in numbers])
        say("image", numbers.start, numbers.stop)
        if dice.random() < 0.5:
            compact.compact(store.catalogue)
            leftovers.sweep_retired(store.catalogue, grace=0.0)
            say("compacted")


def share(space: Space, encoder: Slow, dice: random.Random) -> None:
    """Encode the same texts as every other writer, and say how many this one encoded."""
    numbers = list(range(SHARED))
    dice.shuffle(numbers)
    space.ensure_texts([text(number) for number in numbers], PREFIX)
    say("encoded", encoder.embedded)


def add(space: Space, dice: random.Random, over: Callable[[], bool]) -> None:
    """Add small overlapping groups of the shared texts, one call each."""
    while not over():
        first = dice.randrange(SHARED // 2)
        numbers = range(first, first + dice.randrange(1, 60))
        space.ensure_texts([text(number) for number in numbers], PREFIX)
        say("text", numbers.start, numbers.stop)


def read(space: Space, over: Callable[[], bool]) -> None:
    """Gather all that is there, again and again: each vector is right, and nothing that was there goes."""
    texts = [text(number) for number in range(SHARED)]
    keys = space.text_keys(texts, PREFIX)
    expected = FakeEncoder(DIM).encode_texts([PREFIX + one for one in texts])
    seen = np.zeros(len(keys), bool)
    rounds = 0
    while not over():
        there = space.has("text", keys)
        if (seen & ~there).any():
            sys.exit(f"{int((seen & ~there).sum())} texts that were there are gone")
        seen = there
        if seen.any() and not np.array_equal(space.gather_texts(keys[seen]), expected[seen]):
            sys.exit("a vector is not the encoder's")
        rounds += 1
    say("read", rounds)


def squeeze(store: Store, over: Callable[[], bool]) -> None:
    """Compact again and again, and delete what was replaced at once."""
    done = 0
    while not over():
        done += len(compact.compact(store.catalogue))
        leftovers.sweep_retired(store.catalogue, grace=0.0)
        time.sleep(0.05)
    say("compactions", done)


def main() -> None:
    """Do one role."""
    folder, role, seed, seconds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    dice, encoder = random.Random(seed), Slow()
    store = Store.open(folder)
    space = store.custom_space(encoder if role == "share" else FakeEncoder(DIM), "fake")
    wanted = os.environ.get("CLIPSTORE_TEST_KILL_AT")
    if wanted:
        kill_at(wanted)
    say("ready")
    sys.stdin.readline()
    end = time.monotonic() + seconds

    def over() -> bool:
        return time.monotonic() > end

    {
        "write": lambda: write(store, space, dice, over, int(sys.argv[5])),
        "share": lambda: share(space, encoder, dice),
        "add": lambda: add(space, dice, over),
        "read": lambda: read(space, over),
        "squeeze": lambda: squeeze(store, over),
    }[role]()
    store.close()
    say("done")


if __name__ == "__main__":
    main()
