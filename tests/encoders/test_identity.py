"""What changes a vector changes the id or the fingerprint; what neither names changes nothing."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch
from contract import png

from clipstore import keys
from clipstore.encoders import images, in_memory, network
from clipstore.encoders.images import Preprocess
from clipstore.encoders.open_clip import OpenClipEncoder
from clipstore.errors import BadImage

TEXTS = ["a dog on a red bicycle", "two children", "a cat"]
ORIENTATION = 0x0112


@contextmanager
def medium_products() -> Iterator[None]:
    """What a training script switches on to be quick: products of float32 in fewer bits."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def autocast_products() -> Iterator[None]:
    """A training step under autocast."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        yield


@pytest.mark.parametrize("around", [autocast_products, medium_products])
def test_what_the_caller_switched_on_does_not_reach_float32(
    small: OpenClipEncoder, around: Callable[[], AbstractContextManager[None]]
) -> None:
    """Under autocast, or with coarse products allowed, images and texts get the vectors they always get, bit for bit."""
    pictures = [png(seed) for seed in range(3)]
    for place in (nullcontext, around):
        with place():
            small._text._start = None  # what texts share is computed anew
            texts, seen = small.encode_texts(TEXTS), small.encode_images(pictures)
        if place is nullcontext:
            expected = texts, seen
    np.testing.assert_array_equal(texts, expected[0])
    np.testing.assert_array_equal(seen, expected[1])


@pytest.mark.parametrize("precision", ["medium", "high", "highest"])
def test_full_float32_leaves_torch_as_it_was(precision: str) -> None:
    """Inside, nothing rounds float32 on any device; afterwards every setting is the caller's again."""

    def settings() -> tuple[object, ...]:
        backends = torch.backends
        old = (torch.get_float32_matmul_precision(), backends.cudnn.allow_tf32, torch.is_autocast_enabled("cpu"))
        new = (backends.cuda.matmul, backends.cudnn.conv, backends.mkldnn.matmul, backends.mkldnn.conv)
        return (*old, *(getattr(one, "fp32_precision", None) for one in new))

    at_first = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(precision)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            before = settings()
            with network.full_float32(torch.device("cpu")):
                inside = settings()
            assert settings() == before
        assert inside[:3] == ("highest", False, False)
        assert set(inside[3:]) <= {"ieee", None}
    finally:
        torch.set_float32_matmul_precision(at_first)


def turned(orientation: int | None) -> PIL.Image.Image:
    """A picture, read from a file whose EXIF says how it is to be turned."""
    exif = PIL.Image.Exif()
    if orientation is not None:
        exif[ORIENTATION] = orientation
    out = io.BytesIO()
    picture = PIL.Image.new("RGB", (6, 4), (200, 30, 40))
    picture.putpixel((0, 0), (0, 0, 255))
    picture.save(out, "PNG", exif=exif)
    return PIL.Image.open(out)


def test_pictures_that_exif_turns_otherwise_are_other_images() -> None:
    """Where ``exif=apply`` gives two pictures other pixels their ids differ; no orientation and 1 are one image."""
    how = Preprocess(size=(6, 6), mean=(0, 0, 0), std=(1, 1, 1), exif="apply", resize_mode="squash")
    ids, pixels = {}, {}
    for orientation in range(1, 9):
        ids[orientation] = keys.image_id(in_memory.content(turned(orientation)))
        pixels[orientation] = images.official(turned(orientation), how).pixels.tobytes()
    assert len(set(pixels.values())) == len(set(ids.values())) == 8
    assert keys.image_id(in_memory.content(turned(None))) == ids[1]


def test_the_id_of_a_plain_picture_is_what_it_was() -> None:
    """The bytes behind the id are mode, size, palette, transparency and pixels, as in stores that are filled."""
    plain = PIL.Image.new("L", (3, 2), 5)
    assert in_memory.content(plain) == keys.picture_bytes("L", (3, 2), None, None, b"\x05" * 6)
    palette = PIL.Image.new("P", (3, 2), 1)
    palette.putpalette([1, 2, 3] * 2)
    palette.info["transparency"] = 5
    assert in_memory.content(palette) == keys.picture_bytes("P", (3, 2), bytes([1, 2, 3] * 2), b"5", b"\x01" * 6)


def test_a_picture_that_can_not_be_read_is_a_bad_image(tmp_path: Path) -> None:
    """A picture opened lazily from a file that ends early has no id; the reason is said in a clause."""
    data = png(1)
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    with PIL.Image.open(tmp_path / "cut.png") as picture, pytest.raises(BadImage, match="can't be decoded"):
        in_memory.content(picture)
