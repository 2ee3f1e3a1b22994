"""What a store does on a disk that fills up, and in a folder that can't be written: run in a mount of its own.

    python hard_times.py full FOLDER
    python hard_times.py read-only FOLDER
    python hard_times.py as-nobody FOLDER

Asserts, and says ``well`` at the end.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import worker

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.errors import CannotWrite
from clipstore.storage.check import check
from clipstore.store import Space

STEP = 100
"""Texts added by one call."""


def texts(number: int) -> list[str]:
    """Return the texts of one call."""
    return [worker.text(one) for one in range(number * STEP, (number + 1) * STEP)]


def space_of(store: Store) -> Space:
    """Return the space of the fake encoder, with vectors of a real size."""
    return store.custom_space(FakeEncoder(512), "fake")


def holds(folder: Path, calls: int) -> None:
    """See that the store is sound and holds what so many calls added, bit for bit."""
    with Store.open(folder) as store:
        assert [finding for finding in check(folder, store.catalogue) if finding.severity != "note"] == []
        space = space_of(store)
        for number in range(calls):
            found = space.gather_texts(space.text_keys(texts(number)))
            assert np.array_equal(found, FakeEncoder(512).encode_texts(texts(number))), number


def full(folder: Path) -> None:
    """Fill the disk: a clear error, no half-written file, nothing lost; with space again, work goes on."""
    spare = folder / "spare"
    spare.write_bytes(bytes(1 << 20))
    store = Store.open(folder / "store")
    done = 0
    try:
        while done < 200:
            space_of(store).ensure_texts(texts(done))
            done += 1
    except CannotWrite as error:
        told = str(error)
    else:
        sys.exit("the disk never filled")
    assert done > 0
    assert "disk is full" in told, told
    assert "free some space" in told, told
    assert list(folder.rglob("*.tmp")) == []
    holds(folder / "store", done)
    spare.unlink()
    assert space_of(store).ensure_texts(texts(done)).encoded == STEP
    store.close()
    holds(folder / "store", done + 1)


def read_only(folder: Path) -> None:
    """Read a store that can't be written: what is there is served, anything new is refused with the reason."""
    with Store.open(folder) as store:
        assert store.catalogue.readonly
        space = space_of(store)
        assert space.ensure_texts(texts(0)).encoded == 0
        try:
            space.ensure_texts(texts(7))
        except CannotWrite as error:
            told = str(error)
        else:
            sys.exit("it was written")
        assert "read-only" in told or "permission" in told, told
    holds(folder, 1)


def as_nobody(folder: Path) -> None:
    """The same as an ordinary user; root may write anywhere."""
    with tempfile.TemporaryDirectory() as spare:  # loads what is loaded late, while this process may read it
        with Store.open(Path(spare) / "store") as store:
            space_of(store).ensure_texts(texts(0))
        holds(Path(spare) / "store", 1)
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    read_only(folder)


if __name__ == "__main__":
    {"full": full, "read-only": read_only, "as-nobody": as_nobody}[sys.argv[1]](Path(sys.argv[2]))
    worker.say("well")
