"""Pictures by content: what is shown of an image, whatever its format."""

import io

import numpy as np
import PIL.Image
import pytest

from clipstore import keys
from clipstore.report.thumbs import Pictures

PIXELS = np.arange(60 * 90 * 3, dtype=np.uint8).reshape(60, 90, 3)


def pictures(folder, form, pixels=PIXELS):
    """Write one image; return it by content, and its id."""
    path = folder / f"one.{form}"
    PIL.Image.fromarray(pixels).save(path)
    id_ = keys.image_id(path.read_bytes())
    return Pictures({id_: [str(path)]}, {}), id_


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("png", "image/png"), ("jpg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp"), ("bmp", "image/bmp"),
        ("avif", "image/avif"), ("tif", "image/png"), ("ppm", "image/png"),
    ],
)  # fmt: skip
def test_every_image_that_is_scored_is_shown(tmp_path, form, kind):
    """What a browser shows is sent as it is; TIFF and its like as PNG; all have a thumbnail."""
    held, id_ = pictures(tmp_path, form)
    data, sent = held.full(id_)
    assert sent == kind
    assert PIL.Image.open(io.BytesIO(data)).size == (90, 60)
    assert (data == (tmp_path / f"one.{form}").read_bytes()) == (form not in {"tif", "ppm"})
    thumb = held.thumb(id_)
    assert PIL.Image.open(io.BytesIO(thumb.data)).format == "WEBP"
    assert (thumb.width, thumb.height) == (90, 60)


@pytest.mark.parametrize("form", ["tif", "png"])
def test_sixteen_bits_are_scaled(tmp_path, form):
    """Grey of 16 bits is shown whole, not clipped to white."""
    held, id_ = pictures(tmp_path, form, np.linspace(0, 65535, 60 * 90).astype(np.uint16).reshape(60, 90))
    shown = np.asarray(PIL.Image.open(io.BytesIO(held.thumb(id_).data)).convert("L"))
    assert shown[0].mean() < 10
    assert 120 < shown[30].mean() < 136
    assert shown[-1].mean() > 245


@pytest.mark.parametrize(
    "content", [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"II*\x00"]
)
def test_what_is_no_picture_is_not_shown(tmp_path, content):
    """SVG may hold scripts, PostScript is a program, and a broken file is nothing."""
    (tmp_path / "one.bin").write_bytes(content)
    id_ = keys.image_id(content)
    held = Pictures({id_: [str(tmp_path / "one.bin")]}, {})
    assert held.full(id_) is None
    assert held.thumb(id_) is None


def test_an_image_is_shown_from_any_file_that_still_holds_it(tmp_path):
    """A file that is gone and one that changed are passed over."""
    _, id_ = pictures(tmp_path, "png")
    (tmp_path / "changed.png").write_bytes(b"another")
    held = Pictures({id_: [str(tmp_path / name) for name in ("gone.png", "changed.png", "one.png")]}, {})
    assert held.full(id_) == ((tmp_path / "one.png").read_bytes(), "image/png")
