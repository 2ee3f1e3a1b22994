"""kill -9 in the middle of indexing, then again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import drawn
import numpy as np
import pytest

from clipstore import Store
from clipstore.storage.check import check

COUNT, CHUNK = 60, 10
Run = Callable[..., object]

KILLED = """
import os, signal, sys
from clipstore.encoders.fake import FakeEncoder
from clipstore.storage import faults
from clipstore.store import writing
from clipstore_cli.main import call

step, times = sys.argv[1], int(sys.argv[2])
writing.ROWS = {chunk}
FakeEncoder.image_batch = property(lambda self: 5)
FakeEncoder.token_budget = property(lambda self: 60)

def die(reached):
    global times
    times -= reached == step
    if times == 0:
        os.kill(os.getpid(), signal.SIGKILL)

faults.install(die)
call(sys.argv[3:])
"""


def stored(folder: Path) -> tuple[int, int]:
    """Return how many image and text vectors a store has committed."""
    with Store.open(folder) as store:
        space = store.space("fake")
        return space.shelf("image").rows, space.shelf("text").rows


@pytest.mark.parametrize(
    ("step", "times"),
    [("file written", 3), ("folder synced", 4), ("row inserted", 9), ("file renamed", 13)],
    ids=["images: file written", "images: row missing", "texts: row inserted", "texts: file renamed"],
)
def test_a_killed_run_resumes(run: Run, desk: Path, step: str, times: int) -> None:
    """After kill -9 only the last chunk is encoded again; committed bytes stand; scores are an undisturbed run's."""
    drawn.draw(desk / "many", COUNT)
    drawn.write_json(desk / "caps.json", drawn.captions(COUNT))
    drawn.write_json(desk / "many.json", drawn.references(COUNT))
    words = ["score", "x=caps.json", "--images", "many", "--refs", "many.json", "--model", "fake", "--per-image"]
    code = KILLED.format(chunk=CHUNK)
    killed = subprocess.run(
        [sys.executable, "-c", code, step, str(times), *words, "no.json", "--store", "killed"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (desk / "no.json").exists()
    with Store.open("killed") as store:
        found = check(store.folder, store.catalogue)
        assert [one for one in found if one.severity == "damage"] == []
        committed = {
            row: data
            for row, data in drawn.segment_bytes(desk / "killed").items()
            if not any(row in one.where for one in found)
        }
    images, texts = stored(desk / "killed")
    assert 0 < images + texts < 4 * COUNT
    assert images % CHUNK == 0

    again = run(*words, "again.json", "--store", "killed")
    assert again.code == 0
    wanted = f"{COUNT} images: all cached" if images == COUNT else f"{COUNT} images: {COUNT - images} encoded"
    assert wanted in again.err
    assert stored(desk / "killed") == (COUNT, 3 * COUNT)
    after = drawn.segment_bytes(desk / "killed")
    assert committed
    assert all(after[name] == data for name, data in committed.items())

    run(*words, "undisturbed.json", "--store", "undisturbed")
    one, other = (json.loads((desk / f"{name}.json").read_text()) for name in ("again", "undisturbed"))
    assert list(one) == list(other)
    for metric in ("CLIPScore", "RefCLIPScore"):
        np.testing.assert_allclose(
            [one[key][metric] for key in one], [other[key][metric] for key in one], rtol=0, atol=1e-6
        )
