"""Several devices: one process each, that fill one space together."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import drawn
import numpy as np
import pytest

from clipstore import Store, encoders
from clipstore.encoders import devices
from clipstore.encoders.names import ModelName
from clipstore.encoders.protocol import Encoder, LoadOptions
from clipstore.errors import EncoderError, InputError
from clipstore.items import Image
from clipstore.store import Space, fleet


def fail(space: Space, _texts: list[str], _prefix: str) -> None:
    """Refuse to work."""
    msg = f"{space.shown}: not today"
    raise InputError(msg)


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine have three devices, and let any work be worth a process."""
    monkeypatch.setattr(devices, "named", lambda wanted: ["cpu"] * 3 if wanted == devices.ALL else [wanted])
    monkeypatch.setattr(fleet, "WORTH", 1)


@pytest.mark.usefixtures("three")
def test_texts_are_encoded_by_all(store: Store) -> None:
    """What is asked is there afterwards, each once, whoever encoded it; the bar reaches its end."""
    texts = [f"text number {number}" for number in range(3000)]
    said: list[tuple[str, int, int]] = []
    space = store.space("fake", device=devices.ALL)
    done = space.ensure_texts(texts, "A photo depicts ", progress=lambda *one: said.append(one))
    assert (done.asked, done.encoded) == (3000, 3000)
    assert [one for one in said if one[0] == "texts"][-1] == ("texts", 3000, 3000)
    again = store.space("fake").ensure_texts(texts, "A photo depicts ", encode=False)
    assert (again.encoded, space.shelf("text").rows) == (0, 3000)


@pytest.mark.usefixtures("three")
def test_further_devices_do_their_part(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first device that is late finds work done, and commits only what was left."""
    store.space("fake").ensure_texts(["one that makes the space"])
    load = encoders.load

    def late(name: ModelName, options: LoadOptions) -> Encoder:
        end = time.monotonic() + 60
        while len(drawn.segment_bytes(store.folder)) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        return load(name, options)

    monkeypatch.setattr(encoders, "load", late)
    space = store.space("fake", device=devices.ALL)
    done = space.ensure_texts([f"text number {number}" for number in range(400)])
    assert (done.encoded, space.shelf("text").rows) == (400, 401)
    assert len(drawn.segment_bytes(store.folder)) >= 2


@pytest.mark.usefixtures("three")
def test_images_are_encoded_by_all(store: Store, tmp_path: Path) -> None:
    """Each once; one that can't be decoded is named once."""
    paths = sorted(drawn.draw(tmp_path / "images", 200).iterdir())
    paths[7].write_bytes(b"no image")
    space = store.space("fake", device=devices.ALL)
    done = space.ensure_images([Image(path, path.name) for path in paths])
    assert (done.asked, done.encoded, done.failed) == (200, 199, 1)
    assert [one.name for one in done.failures] == [paths[7].name]
    ids = np.array([one for one in done.ids if one is not None], np.int64)
    assert store.space("fake").gather_images(ids).shape == (199, 64)


@pytest.mark.usefixtures("three")
def test_what_a_failing_worker_leaves_is_done(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its device is named in a warning, and nothing is missing."""
    monkeypatch.setattr(fleet, "_texts", fail)
    with caplog.at_level(logging.WARNING, "clipstore.store"):
        done = store.space("fake", device=devices.ALL).ensure_texts([f"text {number}" for number in range(50)])
    assert done.encoded == 50
    warning = "cpu: its worker failed (exit code 1); the others did its part"
    assert [one.getMessage() for one in caplog.records] == [warning] * 2


class Worker:
    """A process that is interrupted in its first join without a limit, and then needs time to commit."""

    log: ClassVar[list[float | None]] = []

    def __init__(self, **_how: object) -> None:
        self.exitcode = 0

    def start(self) -> None:
        """Begin nothing."""

    def join(self, limit: float | None = None) -> None:
        """Note the wait; Ctrl-C comes in the first."""
        self.log.append(limit)
        if limit is None:
            raise KeyboardInterrupt

    def is_alive(self) -> bool:
        """Say that it came to its end within the limit."""
        return False


@pytest.mark.usefixtures("three")
def test_ctrl_c_while_others_are_waited_for_lets_them_commit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """When Ctrl-C comes this process is done and waits: each worker gets its time before it is left."""
    monkeypatch.setattr(Worker, "log", [])
    monkeypatch.setattr(fleet.multiprocessing, "get_context", lambda _kind: SimpleNamespace(Process=Worker))
    with pytest.raises(KeyboardInterrupt):
        store.space("fake", device=devices.ALL).ensure_texts(["a", "b"])
    assert Worker.log == [None, *[fleet._GRACE] * 2]


def test_little_work_is_done_by_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a thousand items no device is looked for beside the first."""
    monkeypatch.setattr(fleet.multiprocessing, "get_context", lambda _kind: pytest.fail("a process for a few texts"))
    store.space("fake", device="cpu").ensure_texts(["a", "b"])
    monkeypatch.setattr(devices, "named", lambda _wanted: ["cpu"] * 2)
    with pytest.raises(pytest.fail.Exception):
        store.space("fake", device=devices.ALL).ensure_texts([f"text {number}" for number in range(fleet.WORTH)])


def test_devices_of_an_option() -> None:
    """A device is itself; all of none is an error."""
    assert devices.named("cpu") == ["cpu"]
    import torch

    if torch.cuda.device_count():
        assert devices.named("cuda:all") == [f"cuda:{n}" for n in range(torch.cuda.device_count())]
    else:
        with pytest.raises(EncoderError, match="no CUDA device here for cuda:all"):
            devices.named("cuda:all")
