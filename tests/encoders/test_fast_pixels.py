"""Fast pixels: within one grey level of the official ones, under another fingerprint."""

import io
import sys

import numpy as np
import open_clip as upstream
import PIL.Image
import pytest
from contract import png

from clipstore.encoders import fast, images, names, open_clip
from clipstore.encoders.images import Preprocess, official
from clipstore.encoders.protocol import LoadOptions
from clipstore.errors import BadImage, EncoderError

pytest.importorskip("simplejpeg", reason="the extra clipstore[fast] is not installed")

HOW = Preprocess((224, 224), upstream.OPENAI_DATASET_MEAN, upstream.OPENAI_DATASET_STD, name="fast")


def jpeg(seed=0, size=(640, 480), mode="RGB", **options):
    """The bytes of a JPEG with fine and coarse structure."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (7, 9, 3), dtype=np.uint8)
    picture = np.asarray(PIL.Image.fromarray(coarse).resize(size, PIL.Image.Resampling.BICUBIC)).astype(int)
    picture = (picture + rng.integers(-20, 20, picture.shape)).clip(0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(picture).convert(mode).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def apart(one, other):
    """The largest difference in grey levels."""
    return np.abs(one.pixels.astype(int) - other.pixels.astype(int)).max()


@pytest.mark.parametrize("size", [(640, 480), (333, 500), (224, 224), (100, 60), (225, 1200)])
@pytest.mark.parametrize("options", [{}, {"quality": 95, "subsampling": 0}, {"progressive": True}], ids=str)
def test_jpegs_are_within_one_grey_level(size, options):
    """Any size, subsampling and scan order: no pixel is further than 1 from the official transform's."""
    data = jpeg(size=size, **options)
    found, exact = fast.prepare(data, HOW), official(data, HOW)
    assert apart(found, exact) <= 1
    assert (found.mode, found.size, found.flags) == (exact.mode, exact.size, exact.flags)


@pytest.mark.parametrize("resize_mode", ["shortest", "longest", "squash"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize("size", [(224, 224), (96, 160)])
def test_every_resize_mode_is_within_one_grey_level(resize_mode, interpolation, size):
    """Fill and crop, fit and pad, squash: also for pictures that are no JPEG."""
    how = Preprocess(size, HOW.mean, HOW.std, resize_mode, interpolation, 7, name="fast")
    for data in (jpeg(), png(3, (300, 200))):
        assert apart(fast.prepare(data, how), official(data, how)) <= 1


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_other_modes_get_the_official_pixels(mode):
    """Grey and CMYK JPEGs, palette and 16 bit PNGs take the official way, flags and all."""
    for data in (jpeg(mode=mode), _sixteen_bits()):
        found, exact = fast.prepare(data, HOW), official(data, HOW)
        np.testing.assert_array_equal(found.pixels, exact.pixels)
        assert found.flags == exact.flags


def _sixteen_bits():
    buffer = io.BytesIO()
    PIL.Image.fromarray(np.linspace(0, 65535, 100 * 120).reshape(100, 120).astype(np.uint16)).save(buffer, "PNG")
    return buffer.getvalue()


def test_exif_is_ignored_or_applied_as_in_exact():
    """An orientation turns the picture only where that is asked."""
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    data = jpeg(exif=exif)
    turned = Preprocess(HOW.size, HOW.mean, HOW.std, exif="apply", name="fast")
    assert apart(fast.prepare(data, HOW), official(data, HOW)) <= 1
    assert fast.prepare(data, turned).flags == (images.ROTATED,)
    assert apart(fast.prepare(data, turned), official(data, turned)) <= 1


def test_broken_files_are_refused_with_the_same_words():
    """Truncated, empty, no image, or too large: as the exact way says it."""
    for data in (jpeg()[:2000], b"", b"\xff\xd8\xff no", jpeg()[:-1000]):
        with pytest.raises(BadImage) as exact:
            official(data, HOW)
        with pytest.raises(BadImage) as found:
            fast.prepare(data, HOW)
        assert str(found.value) == str(exact.value)
    with pytest.raises(BadImage, match="more than the 1000 allowed"):
        fast.prepare(jpeg(), HOW, max_pixels=1000)


def test_the_odd_files_are_as_in_exact(shared_data):
    """Every odd file: within one grey level, or refused in both ways."""
    seen = 0
    for path in sorted((shared_data / "odd_images").iterdir()):
        data = path.read_bytes()
        try:
            exact = official(data, HOW)
        except BadImage:
            with pytest.raises(BadImage):
                fast.prepare(data, HOW)
            continue
        found = fast.prepare(data, HOW)
        assert apart(found, exact) <= 1, path.name
        assert (found.mode, found.flags) == (exact.mode, exact.flags), path.name
        seen += 1
    assert seen > 20


def test_fast_is_another_fingerprint_close_by(small, small_folder):
    """Only the preprocessing differs, and vectors stay near."""
    quick = open_clip.build(names.parse(f"local-dir:{small_folder}"), LoadOptions(device="cpu", preprocess="fast"))
    (line,) = quick.fingerprint.difference(small.fingerprint)
    assert line.startswith("preprocess: ")
    files = [jpeg(seed) for seed in range(3)]
    assert ((quick.encode_images(files) * small.encode_images(files)).sum(1) > 0.9999).all()


def test_without_simplejpeg_the_message_says_how_to_get_it(small_folder, monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    with pytest.raises(EncoderError, match=r"pip install 'clipstore\[fast\]'"):
        open_clip.build(names.parse(f"local-dir:{small_folder}"), LoadOptions(device="cpu", preprocess="fast"))
