"""Worker processes, one a device, that fill one store together."""

from __future__ import annotations

from pathlib import Path

import drawn
import numpy as np
import pytest

from clipstore import Store
from clipstore.encoders import workers
from clipstore.errors import EncoderError
from clipstore.items import Image


def encode_share(device: str, share: list[tuple[str, str]]) -> None:
    """Encode a share of images into a store: what a worker does."""
    with Store.open(share[0][0]) as store:
        store.space("fake", device=device).ensure_images([Image(Path(path), path) for _, path in share])


def fail_on_second(device: str, share: list[str]) -> None:
    """Fail on one device."""
    if device == "cpu:1":
        raise SystemExit(3)
    Path(share[0]).write_text(device, encoding="utf-8")


def test_each_worker_writes_its_own_segments(store: Store, tmp_path: Path) -> None:
    """Two processes encode ten images once each; the parent finds every vector and encodes nothing."""
    paths = sorted(drawn.draw(tmp_path / "images", 10).iterdir())
    workers.run(encode_share, [(str(store.folder), str(path)) for path in paths], ["cpu", "cpu"])
    space = store.space("fake")
    done = space.ensure_images([Image(path, path.name) for path in paths], encode=False)
    assert (done.asked, done.encoded) == (10, 0)
    assert space.gather_images(np.array(done.ids, np.int64)).shape == (10, 64)
    assert len(drawn.segment_bytes(store.folder)) == 2


def test_a_failing_worker_is_named_and_the_others_finish(tmp_path: Path) -> None:
    """The message says which device; what the others did stays."""
    places = [str(tmp_path / "a"), str(tmp_path / "b")]
    with pytest.raises(EncoderError, match=r"1 of 2 workers failed: cpu:1 \(exit code 3\); run again"):
        workers.run(fail_on_second, places, ["cpu:0", "cpu:1"])
    assert (tmp_path / "a").read_text(encoding="utf-8") == "cpu:0"


def test_shares_are_dealt_in_turn() -> None:
    """Every item once, sizes that differ by one at most."""
    assert workers.shares(range(7), 3) == [[0, 3, 6], [1, 4], [2, 5]]


def test_devices_of_an_option() -> None:
    """A device is itself; all of none is an error."""
    assert workers.devices("cpu") == ["cpu"]
    import torch

    if torch.cuda.device_count():
        assert workers.devices("cuda:all") == [f"cuda:{n}" for n in range(torch.cuda.device_count())]
    else:
        with pytest.raises(EncoderError, match="no CUDA device here for cuda:all"):
            workers.devices("cuda:all")
