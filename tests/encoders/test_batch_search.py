"""The batch size under ``auto``."""

import pytest

from clipstore.encoders import batch_search, names, open_clip
from clipstore.encoders.protocol import LoadOptions


class Machine:
    """A machine with a clock: so many seconds a batch and an item, memory for so many items."""

    def __init__(self, fixed, each, room):
        self.now, self.fixed, self.each, self.room = 0.0, fixed, each, room

    def run(self, size):
        """Take the time, or fail."""
        if size > self.room:
            raise MemoryError
        self.now += self.fixed + self.each * size

    def found(self):
        """The size that is chosen on it."""
        return batch_search.search(self.run, (MemoryError,), lambda: self.now)


@pytest.mark.parametrize(
    ("fixed", "each", "room", "chosen"),
    [(0.0, 1.0, 10_000, 8), (1.0, 0.1, 10_000, 128), (1000.0, 0.1, 100, 64), (1.0, 1e-9, 10_000, 1024), (1, 1, 4, 8)],
    ids=["no gain", "gain ends", "memory ends", "largest", "no room at all"],
)
def test_doubling_ends_where_it_no_longer_pays(fixed, each, room, chosen):
    """The last size that gave 5 % more, never beyond the memory; the least where nothing fits."""
    assert Machine(fixed, each, room).found() == chosen


def test_auto_is_tried_once_and_changes_no_fingerprint(small, small_folder, monkeypatch):
    """The encoder asks for the size that the search found; the search runs once."""
    asked = []
    monkeypatch.setattr(batch_search, "search", lambda run, _: asked.append(run(2)) or 24)
    auto = open_clip.build(names.parse(f"local-dir:{small_folder}"), LoadOptions(device="cpu", batch_size="auto"))
    assert (auto.image_batch, auto.image_batch, len(asked)) == (24, 24, 1)
    assert auto.fingerprint == small.fingerprint
