"""Pixels equal open_clip's transform; odd files are refused or scaled, never silently white."""

import io
import warnings

import numpy as np
import open_clip
import PIL.Image
import PIL.PngImagePlugin
import pytest
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2

from clipstore.encoders import depth, images
from clipstore.encoders.images import Preprocess, official
from clipstore.errors import BadImage

MEAN, STD = open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD
HOW = Preprocess((224, 224), MEAN, STD)


def drawn(mode="RGB", size=(301, 200), seed=0):
    """A smooth random picture."""
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 9, 3), dtype=np.uint8)
    return PIL.Image.fromarray(coarse).resize(size, PIL.Image.Resampling.BICUBIC).convert(mode)


def saved(picture, form="PNG", **options):
    """The bytes of a picture's file."""
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def reference(picture, **cfg):
    """open_clip's tensor."""
    return image_transform_v2(PreprocessCfg(**{"size": 224, **cfg}), is_train=False)(picture)


def tensor(pixels):
    """Our normalisation, step by step."""
    scaled = torch.from_numpy(pixels.copy()).permute(2, 0, 1).float().div_(255)
    return scaled.sub_(torch.tensor(MEAN).view(3, 1, 1)).div_(torch.tensor(STD).view(3, 1, 1))


@pytest.mark.parametrize("mode", sorted(depth.OFFICIAL_MODES))
@pytest.mark.parametrize("size", [(301, 200), (200, 301), (224, 224), (50, 31), (224, 900), (641, 480)])
def test_official_modes_equal_open_clips_transform(mode, size):
    """For the modes it is meant for, the difference to the official transform is exactly 0."""
    picture = drawn(mode, size)
    found = official(picture, HOW)
    assert (found.mode, found.size, found.flags) == (mode, size, ())
    assert torch.equal(tensor(found.pixels), reference(picture))


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "BMP", "TIFF"])
def test_files_give_the_pixels_of_their_picture(form):
    """Decoding a file and taking a picture in memory end in the same tensor."""
    data = saved(drawn(), form)
    with PIL.Image.open(io.BytesIO(data)) as picture:
        assert torch.equal(tensor(official(data, HOW).pixels), reference(picture))


@pytest.mark.parametrize("resize_mode", ["shortest", "longest", "squash"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize("target", [224, (96, 160), (160, 96)])
@pytest.mark.parametrize("mode", ["RGB", "L", "P"])
def test_every_resize_mode_equals_open_clips(resize_mode, interpolation, target, mode):
    """Fill and crop, fit and pad, squash; square or not; bicubic or bilinear; also with a padding colour."""
    picture = drawn(mode, (333, 150))
    height, width = (target, target) if isinstance(target, int) else target
    how = Preprocess((height, width), MEAN, STD, resize_mode, interpolation, 7)
    expected = reference(picture, size=target, resize_mode=resize_mode, interpolation=interpolation, fill_color=7)
    assert torch.equal(tensor(official(picture, how).pixels), expected)


def test_the_encoders_input_equals_open_clips_tensor(small):
    """What the network gets, batched and normalised, differs from the official tensor by 0."""
    pictures = [drawn(seed=seed, size=(100 + seed, 77)) for seed in range(4)]
    batch = small.normalise([small.prepare_image(picture) for picture in pictures])
    assert torch.equal(batch, torch.stack([reference(picture, size=64) for picture in pictures]))


@pytest.mark.parametrize("mode", ["I;16", "I;16B", "I"])
def test_sixteen_bits_are_scaled_and_flagged(mode):
    """The high byte is kept: a picture, not a white square."""
    grey = np.asarray(drawn("L")).astype(np.uint16) * 257
    picture = PIL.Image.fromarray(grey)
    picture = picture if mode == "I;16" else picture.convert("I") if mode == "I" else _as_big_endian(grey)
    found = official(picture, HOW)
    assert found.flags == (depth.FROM_16_BIT,)
    np.testing.assert_array_equal(found.pixels, official(drawn("L"), HOW).pixels)


def _as_big_endian(grey):
    return PIL.Image.frombytes("I;16B", grey.shape[::-1], grey.astype(">u2").tobytes())


def test_sixteen_bit_png_is_not_white():
    """The file that the official transform turns white without a word."""
    grey = np.linspace(0, 65535, 100 * 120).reshape(100, 120).astype(np.uint16)
    data = saved(PIL.Image.fromarray(grey))
    with PIL.Image.open(io.BytesIO(data)) as picture:
        white = reference(picture)
    assert torch.unique(white[0]).numel() < torch.unique(tensor(official(data, HOW).pixels)[0]).numel()
    assert 100 < official(data, HOW).pixels.mean() < 155


@pytest.mark.parametrize(
    ("values", "expected", "flag"),
    [
        ([[0.0, 1.0]], [0, 255], depth.FROM_FLOAT),
        ([[0.0, 200.0]], [0, 200], depth.FROM_FLOAT),
        ([[-1.0, 3.0]], [0, 255], depth.FROM_FLOAT),
        ([[5000.0, 5000.0]], [0, 0], depth.FROM_FLOAT),
        (np.array([[3, 200]], np.int32), [3, 200], "converted from I"),
        (np.array([[-5, 100_000]], np.int32), [0, 255], depth.FROM_32_BIT),
    ],
)
def test_wide_values_follow_the_stated_rule(values, expected, flag):
    """Floats and 32-bit integers come to 0..255 by their range."""
    picture = PIL.Image.fromarray(np.asarray(values, np.float32 if isinstance(values, list) else None))
    found = official(picture, Preprocess((1, 2), MEAN, STD, "squash"))
    assert found.pixels[0, :, 0].tolist() == expected
    assert found.flags == (flag,)


def test_values_that_are_not_finite_are_refused():
    """NaN is no brightness."""
    with pytest.raises(BadImage, match="not finite"):
        official(PIL.Image.fromarray(np.array([[np.nan, 1]], np.float32)), HOW)


@pytest.mark.parametrize("mode", ["HSV", "YCbCr", "LAB"])
def test_other_colour_spaces_are_converted_first_and_flagged(mode):
    """Interpolating hue is no resize: these become RGB before it."""
    rgb = drawn()
    picture = PIL.Image.frombytes("LAB", (8, 8), bytes([128, 20, 250] * 64)) if mode == "LAB" else rgb.convert(mode)
    found = official(picture, HOW)
    assert found.flags == (f"converted from {mode}",)
    np.testing.assert_array_equal(found.pixels, official(picture.convert("RGB"), HOW).pixels)


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_several_frames_the_first_counts(form):
    """An animation or a multipage file is its first frame, flagged."""
    frames = [drawn(seed=seed, size=(60, 60)) for seed in range(3)]
    data = saved(frames[0], form, save_all=True, append_images=frames[1:])
    with PIL.Image.open(io.BytesIO(data)) as picture:
        expected = reference(picture)
    found = official(data, HOW)
    assert found.flags == (images.FIRST_FRAME,)
    assert torch.equal(tensor(found.pixels), expected)


def test_exif_is_ignored_unless_asked():
    """Official: an orientation is ignored. With exif="apply" the picture is turned, and flagged."""
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    data = saved(drawn(), "PNG", exif=exif)
    plain, turned = saved(drawn()), drawn().transpose(PIL.Image.Transpose.ROTATE_270)
    np.testing.assert_array_equal(official(data, HOW).pixels, official(plain, HOW).pixels)
    applied = official(data, Preprocess((224, 224), MEAN, STD, exif="apply"))
    assert applied.flags == (images.ROTATED,)
    np.testing.assert_array_equal(applied.pixels, official(turned, HOW).pixels)
    assert official(plain, Preprocess((224, 224), MEAN, STD, exif="apply")).flags == ()


def test_a_bomb_is_refused_before_it_is_decoded():
    """The size in the header decides; Pillow's own limit is left alone."""
    before = PIL.Image.MAX_IMAGE_PIXELS
    with pytest.raises(BadImage, match="more than the 1000 allowed"):
        official(saved(drawn()), HOW, max_pixels=1000)
    with pytest.raises(BadImage, match="more than the 1000 allowed"):
        official(drawn(), HOW, max_pixels=1000)
    assert before == PIL.Image.MAX_IMAGE_PIXELS


def test_a_bomb_that_pillow_finds_is_a_bad_image(monkeypatch):
    """Pillow's own error and warning end as BadImage, also where warnings are errors."""
    data = saved(drawn(size=(300, 300)))
    for limit in (50_000, 10_000):
        monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", limit)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(BadImage, match="decompression bomb"):
                official(data, HOW)


def test_a_raised_limit_is_above_pillows_own():
    """What ``max_pixels`` allows, Pillow does not refuse, nor warn of; afterwards its limit is what it was."""
    before = PIL.Image.MAX_IMAGE_PIXELS
    for side in (10_000, 20_000):
        data = saved(PIL.Image.new("1", (side, side)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            picture, flags = images.decode(data, 400_000_000)
        assert (picture.size, flags) == ((side, side), ())
    with pytest.raises(BadImage, match=r"decompression bomb.*raise --max-pixels"):
        official(data, HOW)
    assert before == PIL.Image.MAX_IMAGE_PIXELS


def test_a_thread_of_an_image_is_refused():
    """A picture whose resize would need gigabytes is refused by the same limit."""
    with pytest.raises(BadImage, match="too long and thin"):
        official(PIL.Image.new("L", (1, 100_000)), HOW, max_pixels=10_000_000)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"hello, I am text\n" * 9, "not an image"),
        (saved(drawn(), "JPEG")[:3000], "truncated"),
        (saved(drawn())[:900], "truncated"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n", "PostScript"),
    ],
    ids=["empty", "text", "jpeg", "png", "postscript"],
)
def test_what_cannot_be_decoded_says_why(data, reason):
    """Zero bytes, text, truncated files and programs: one plain reason each."""
    with pytest.raises(BadImage, match=reason):
        official(data, HOW)


def test_palette_transparency_does_not_warn():
    """Pillow's advice about palettes is not shown to the user; the pixels are the official ones."""
    data = saved(drawn("P"), transparency=bytes([0, 128, 255] * 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = official(data, HOW)
    with PIL.Image.open(io.BytesIO(data)) as picture, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(tensor(found.pixels), reference(picture))


def test_odd_files_are_pixels_or_a_reason(shared_data):
    """Each odd file gives uint8 pixels of the right shape, or a reason; 16-bit ones are not white."""
    refused = {}
    for path in sorted((shared_data / "odd_images").iterdir()):
        try:
            found = official(path.read_bytes(), HOW)
        except BadImage as error:
            refused[path.name] = str(error)
            continue
        assert found.pixels.shape == (224, 224, 3), path.name
        assert found.pixels.dtype == np.uint8, path.name
        if any("16 bit" in flag for flag in found.flags):
            assert found.pixels.mean() < 250, path.name
    assert "pillow__decompression_bomb.ico" in refused
    assert "image-rs__Bad_shortfile.bmp" in refused
    assert len(refused) < 10


def test_photographs_equal_open_clips_transform(shared_data):
    """On real photographs, one of them grey, the difference is 0."""
    for path in sorted((shared_data / "coco200" / "images").iterdir())[:24]:
        with PIL.Image.open(path) as picture:
            assert torch.equal(tensor(official(path.read_bytes(), HOW).pixels), reference(picture)), path.name
