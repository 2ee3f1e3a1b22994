"""The audit: stored vectors against fresh ones."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import drawn
import numpy as np
import pytest

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import Prepared
from clipstore.errors import InputError
from clipstore.items import Image
from clipstore.store import Space
from clipstore.store.audit import HALF, audit
from clipstore.store.founding import found

PREFIX = "A photo depicts "


class Drifted(FakeEncoder):
    """The fake encoder after an update that moved images a little, on another machine."""

    environment: Mapping[str, str] = {"device": "other", "library": "2"}

    def embed_images(self, images: Sequence[Prepared]) -> np.ndarray:
        """Embed, then turn."""
        moved = super().embed_images(images)
        moved[:, 0] += 0.02
        return moved / np.linalg.norm(moved, axis=1, keepdims=True)


@pytest.fixture
def filled(store: Store, tmp_path: Path) -> Space:
    """Twelve images and eight texts, encoded by the fake."""
    paths = sorted(drawn.draw(tmp_path / "images", 12).iterdir())
    space = store.custom_space(FakeEncoder(), "fake")
    space.ensure_images([Image(path, path.name) for path in paths])
    space.ensure_texts([f"text {number}" for number in range(8)], PREFIX)
    return space


def test_a_sound_store_comes_out_as_it_is_stored(filled: Space) -> None:
    """No gap, nothing changed; the sample is as large as asked."""
    found = audit(filled, 5)
    assert (found.images, found.texts, found.unread) == (5, 5, 0)
    assert found.gap is not None
    assert found.gap < 1e-6
    assert found.sound
    assert found.changed == ()
    whole = audit(filled)
    assert (whole.images, whole.texts) == (12, 8)


@pytest.mark.parametrize("kind", ["images", "texts"])
def test_one_kind_alone_is_audited(store: Store, tmp_path: Path, kind: str) -> None:
    """A space that holds images and no text, or texts and no image, is compared all the same."""
    space = store.custom_space(FakeEncoder(), "fake")
    if kind == "images":
        paths = drawn.draw(tmp_path / "images", 3).iterdir()
        space.ensure_images([Image(path, path.name) for path in paths])
    else:
        space.ensure_texts(["a", "b", "c"], PREFIX)
    found = audit(space)
    assert {"images": found.images, "texts": found.texts} == {"images": 0, "texts": 0, kind: 3}
    assert found.sound


def test_a_drift_is_found_with_what_changed(filled: Space, store: Store) -> None:
    """An encoder of the same fingerprint that computes something else: the gap, the item, the environments."""
    found = audit(store.custom_space(Drifted(), "fake"), 20)
    assert not found.sound
    assert found.gap is not None
    assert found.gap > 1e-5
    assert found.worst.endswith(".png")
    assert found.changed == ("device: fake -> other", "library: (absent) -> 2")


def test_files_that_changed_are_left_out(filled: Space, tmp_path: Path) -> None:
    """A file that is gone, and one that holds another image now, are counted and not compared."""
    first, second, *_ = sorted((tmp_path / "images").iterdir())
    first.unlink()
    drawn.picture(99).save(second)
    found = audit(filled)
    assert (found.images, found.unread) == (10, 2)
    assert found.sound


@pytest.mark.parametrize("gone", ["images", "copies"])
def test_images_are_read_where_they_still_are(filled: Space, tmp_path: Path, gone: str) -> None:
    """Of two folders that held the images one is gone: all are compared with what the other holds."""
    shutil.copytree(tmp_path / "images", tmp_path / "copies")
    filled.ensure_images([Image(path, path.name) for path in sorted((tmp_path / "copies").iterdir())])
    shutil.rmtree(tmp_path / gone)
    found = audit(filled)
    assert (found.images, found.unread, found.sound) == (12, 0, True)


def test_an_audit_writes_nothing(filled: Space, store: Store) -> None:
    """The segments are byte for byte as before, and there are no new ones."""
    before = drawn.segment_bytes(store.folder)
    audit(filled)
    assert drawn.segment_bytes(store.folder) == before


def test_an_empty_space_can_not_be_audited(store: Store) -> None:
    """There is nothing to encode again."""
    with pytest.raises(InputError, match="nothing of fake can be encoded again"):
        audit(store.custom_space(FakeEncoder(), "fake"))


def test_what_the_base_holds_is_encoded_again_too(filled: Space, store: Store, tmp_path: Path) -> None:
    """A store without vectors of its own is audited by those that it rests on, with what they were made in."""
    with found(tmp_path / "above", bases=[store.folder]) as above:
        sound = audit(above.custom_space(FakeEncoder(), "fake"))
        assert (sound.images, sound.texts, sound.sound) == (12, 8, True)
        drifted = audit(above.custom_space(Drifted(), "fake"))
        assert not drifted.sound
        assert drifted.changed == ("device: fake -> other", "library: (absent) -> 2")


def test_a_base_in_half_precision_is_held_to_its_own_limit(tmp_path: Path) -> None:
    """Its vectors are as sound in a store above them as in their own."""
    with found(tmp_path / "half", dtype="float16") as below:
        below.custom_space(FakeEncoder(), "fake").ensure_texts(["a text"])
    with found(tmp_path / "above", bases=[tmp_path / "half"]) as above:
        assert audit(above.custom_space(FakeEncoder(), "fake")).limit == HALF
