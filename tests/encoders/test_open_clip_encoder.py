"""open_clip's networks as encoders."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from contract import EncoderContract, png

from clipstore.encoders import names, network, open_clip
from clipstore.encoders.protocol import LoadOptions
from clipstore.errors import EncoderError


class TestOpenClipContract(EncoderContract):
    """A small network keeps the contract."""

    @pytest.fixture
    def encoder(self, small):
        """In float32."""
        return small


class TestHalfPrecisionContract(EncoderContract):
    """So does one in bfloat16."""

    tolerance = 1e-3

    @pytest.fixture
    def encoder(self, small_half):
        """In bfloat16."""
        return small_half


class TestTinyContract(EncoderContract):
    """So does the model that ships."""

    @pytest.fixture
    def encoder(self, tiny):
        """By its name, as the store loads it."""
        return tiny

    def test_text_runs_at_true_length(self, encoder):
        """Its text tower can be cut."""
        assert encoder.cuts_texts


def test_half_precision_is_another_fingerprint_close_by(small, small_half):
    """bfloat16 weights are cast, layer norms are not; vectors stay near float32's, under another fingerprint."""
    half = small_half
    assert half.fingerprint.difference(small.fingerprint) == ["precision: bf16 -> fp32"]
    assert half._model.ln_final.weight.dtype == torch.float32
    assert half._model.visual.conv1.weight.dtype == torch.bfloat16
    for one, other in (
        (half.encode_texts(["a dog", "a cat"]), small.encode_texts(["a dog", "a cat"])),
        (half.encode_images([png(0), png(1)]), small.encode_images([png(0), png(1)])),
    ):
        assert one.dtype == np.float32
        assert ((one * other).sum(1) > 0.999).all()


def test_what_changes_vectors_changes_the_fingerprint(small, small_folder):
    """EXIF policy is part of it; device, batch size and limits are not."""
    name = names.parse(f"local-dir:{small_folder}")
    exif = open_clip.build(name, LoadOptions(device="cpu", exif="apply"))
    assert exif.fingerprint.difference(small.fingerprint) == ["exif: apply -> ignore"]
    same = open_clip.build(name, LoadOptions(device="cpu", batch_size=3, max_pixels=10_000, trust_weights=True))
    assert same.fingerprint == small.fingerprint
    assert same.image_batch == 3


def test_fingerprint_holds_what_it_must(small):
    """Every field of the list, and no version, device or path."""
    assert set(small.fingerprint.fields) == {
        "kind",
        "architecture",
        "weights",
        "preprocess",
        "exif",
        "tokenizer",
        "cleaning",
        "context_length",
        "precision",
        "normalisation",
        "format",
    }
    text = str(dict(small.fingerprint.fields))
    assert torch.__version__ not in text
    assert "/" not in text


def test_environment_names_versions_and_device(small):
    """What the fingerprint leaves out is in the environment."""
    assert {"torch", "torchvision", "pillow", "open_clip_torch", "ftfy", "device"} == set(small.environment)
    assert torch.__version__.startswith(small.environment["torch"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (LoadOptions(device="cpu", precision="fp16"), "fp16 needs a CUDA device.*bf16"),
        (LoadOptions(device="cpu", precision="fp8"), "choose fp32, fp16, bf16"),
        (LoadOptions(device="gpu"), "choose auto, cpu, cuda"),
        (LoadOptions(device="meta"), "choose auto, cpu, cuda"),
        (LoadOptions(device="cuda:99"), "no device 'cuda:99' here"),
        (LoadOptions(device="cpu", exif="maybe"), "choose ignore or apply"),
        (LoadOptions(device="cpu", preprocess="fuzzy"), "choose exact or fast"),
    ],
)
def test_options_that_do_not_fit_are_refused(small_folder, options, says):
    """Each with what can be chosen instead."""
    with pytest.raises(EncoderError, match=says):
        open_clip.build(names.parse(f"local-dir:{small_folder}"), options)


def test_out_of_memory_halves_the_batch(small, monkeypatch):
    """A batch that does not fit is run in halves, in order; one item that does not fit is an error."""
    prepared = [small.prepare_image(png(seed)) for seed in range(7)]
    expected = small.embed_images(prepared)
    run, seen = small._model.encode_image, []

    def cramped(pixels, most=2):
        seen.append(len(pixels))
        if len(pixels) > most:
            raise torch.OutOfMemoryError
        return run(pixels)

    monkeypatch.setattr(small._model, "encode_image", cramped)
    assert ((small.embed_images(prepared) * expected).sum(1) > 1 - 1e-5).all()
    assert max(seen) == 7
    monkeypatch.setattr(small._model, "encode_image", lambda pixels: cramped(pixels, 0))
    with pytest.raises(EncoderError, match="too small for one item"):
        small.embed_images(prepared)


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_a_vector_without_a_direction_is_an_error(small, monkeypatch, value):
    """Zero and non-finite features are refused with their place, never passed on as NaN."""
    prepared = [small.prepare_image(png(seed)) for seed in range(2)]
    monkeypatch.setattr(small._model, "encode_image", lambda _: torch.tensor([[1.0] * 64, [value] * 64]))
    with pytest.raises(EncoderError, match="item 1 in a batch of 2"):
        small.embed_images(prepared)


def test_float32_is_float32_on_cuda_too():
    """TF32 is off inside, and as it was afterwards."""
    torch.backends.cudnn.allow_tf32 = True
    with network.full_float32(torch.device("cuda")):
        assert not torch.backends.cudnn.allow_tf32
        assert not torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cudnn.allow_tf32


def test_loading_leaves_torchs_threads_alone(small_folder):
    """Neither importing nor loading changes how many threads torch uses."""
    program = f"""
import torch
before = torch.get_num_threads(), torch.get_num_interop_threads()
from clipstore.encoders import open_clip
open_clip.load("local-dir:{small_folder}").encode_texts(["a dog"])
assert before == (torch.get_num_threads(), torch.get_num_interop_threads())
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_encoders_loads_no_torch():
    """Names, cleaning, fingerprints, the pipeline and the fake come without torch, open_clip and the hub."""
    program = """
import sys
import clipstore.encoders
from clipstore.encoders import canonical, fake, fingerprint, images, names, pipeline, protocol
fake.FakeEncoder().encode_texts(["a dog"])
names.parse("ViT-B/32")
loaded = {"torch", "torchvision", "open_clip", "huggingface_hub", "ftfy"} & set(sys.modules)
assert not loaded, loaded
import clipstore.encoders.open_clip
assert "torch" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
