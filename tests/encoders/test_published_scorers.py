"""Two-tower scorers: reduced in size, with random weights, against each one's published formula."""

import io
import json
import os
from pathlib import Path

import numpy as np
import open_clip as upstream
import PIL.Image
import pytest
import torch
import torchvision.transforms.functional as tv
from openai_reference import (
    PREFIX,
    Official,
    config,
    drawn_captions,
    drawn_images,
    openai_clip,
    unit,
)

from clipstore.encoders import hub, names, open_clip
from clipstore.encoders.profiles import ALIASES, PROFILES
from clipstore.encoders.protocol import LoadOptions
from clipstore.errors import EncoderError, UnknownModel

CPU = LoadOptions(device="cpu")
CAPTIONS = drawn_captions(10)[:2] + drawn_captions(12)[5:]


@pytest.fixture
def reduced(monkeypatch):
    """A profile's architecture in a small size; the context is the profile's own."""

    def reduce(profile, cfg):
        monkeypatch.setitem(upstream.factory._MODEL_CONFIGS, PROFILES[profile].architecture, cfg)

    return reduce


def without_numbers(state):
    """The tensors alone, as a state dict of the network."""
    return {name: tensor.float() for name, tensor in state.items() if tensor.ndim or name == "logit_scale"}


def plain(**fields):
    """A config whose activation is GELU."""
    return {**config(**fields), "quick_gelu": False}


def random_network(cfg, seed=0):
    """open_clip's own network with weights large enough to matter."""
    torch.manual_seed(seed)
    parts = {name: value for name, value in cfg.items() if name != "custom_text"}
    kind = upstream.model.CustomTextCLIP if cfg.get("custom_text") else upstream.model.CLIP
    network = kind(**parts).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn_like(parameter) * 0.1)
    return network


def test_pac_s_and_ref_pac_s(reduced, openai_state, tmp_path):
    """``['state_dict']`` onto ViT-B/32 with QuickGELU; 2 max(cos, 0), and its harmonic mean with the best reference."""
    reduced("pac-s", plain())
    torch.save({"state_dict": without_numbers(openai_state)}, tmp_path / "clip_ViT-B-32.pth")
    encoder = open_clip.build(names.parse("pac-s", weights=tmp_path / "clip_ViT-B-32.pth"), CPU)
    official, files = Official(openai_state), drawn_images(len(CAPTIONS))
    references = [CAPTIONS[-1 - row % 3 :] for row in range(len(CAPTIONS))]
    seen, said = official.images(files), official.texts(CAPTIONS)
    pac = 2.0 * np.clip((seen * said).sum(1), 0, None)
    best = np.array([max(official.texts(some) @ row) for some, row in zip(references, said, strict=True)])
    own_said = encoder.encode_texts([PREFIX + text for text in CAPTIONS])
    own = 2.0 * np.clip((encoder.encode_images(files) * own_said).sum(1), 0, None)
    own_best = [
        max(encoder.encode_texts([PREFIX + text for text in some]) @ row)
        for some, row in zip(references, own_said, strict=True)
    ]
    assert np.ptp(pac) > 0.01
    np.testing.assert_allclose(own, pac, atol=1e-5)
    np.testing.assert_allclose(own_best, best, atol=1e-5)
    assert PROFILES["pac-s"].prefix == PREFIX


@pytest.mark.parametrize("size", [(300, 200), (120, 350), (64, 64), (40, 64)])
def test_hpsv2_resizes_tensors_by_their_longest_side(reduced, tmp_path, size):
    """RGB, to floats, longest side, padded with 0; cos of the two towers, no prefix."""
    cfg = plain()
    reduced("hpsv2.1", cfg)
    network = random_network(cfg)
    torch.save({"epoch": 1, "state_dict": network.state_dict()}, tmp_path / "HPS.pt")
    encoder = open_clip.build(names.parse("HPSv2.1", weights=tmp_path / "HPS.pt"), CPU)
    picture = PIL.Image.fromarray(np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)).resize(size)
    tensor = tv.to_tensor(picture)
    scale = 64 / max(size)
    if scale != 1:
        to = [round(side * scale) for side in tensor.shape[1:]]
        tensor = tv.resize(tensor, to, tv.InterpolationMode.BICUBIC)
    down, across = 64 - tensor.shape[1], 64 - tensor.shape[2]
    tensor = tv.pad(tensor, [across // 2, down // 2, across - across // 2, down - down // 2], fill=0)
    tensor = tv.normalize(tensor, upstream.OPENAI_DATASET_MEAN, upstream.OPENAI_DATASET_STD)
    found = encoder.normalise([encoder.prepare_image(picture)])[0]
    np.testing.assert_allclose(found.numpy(), tensor.numpy(), atol=1e-4)
    with torch.inference_mode():
        seen = unit(network.encode_image(tensor[None]))
        said = unit(network.encode_text(upstream.SimpleTokenizer()(CAPTIONS)))
    own = encoder.encode_images([picture]) @ encoder.encode_texts(CAPTIONS).T
    np.testing.assert_allclose(own, (seen @ said.T).numpy(), atol=1e-5)
    assert encoder.fingerprint.fields["preprocess"]["name"] == "longest-tensor"
    assert encoder.logits[0] == pytest.approx(float(network.logit_scale.detach().exp()))


def test_hpsv2_has_no_fast_pixels(reduced, tmp_path):
    """Its resize is its own."""
    cfg = plain()
    reduced("hpsv2", cfg)
    torch.save({"state_dict": random_network(cfg).state_dict()}, tmp_path / "HPS.pt")
    with pytest.raises(EncoderError, match="not for this model"):
        open_clip.build(names.parse("hpsv2", weights=tmp_path / "HPS.pt"), LoadOptions("cpu", preprocess="fast"))


def test_pickscore_reads_hugging_faces_layout(reduced, tmp_path):
    """CLIPModel's tensors under open_clip's names: exp(logit_scale) cos, equal to transformers' own."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    shared = {"hidden_act": "gelu", "num_hidden_layers": 2, "hidden_size": 128, "intermediate_size": 512}
    text = {**shared, "num_attention_heads": 2, "num_hidden_layers": 3, "vocab_size": 49408, "eos_token_id": 49407}
    vision = {**shared, "num_attention_heads": 2, "image_size": 64, "patch_size": 16}
    theirs = transformers.CLIPModel(
        transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=64)
    ).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    reduced("pickscore", plain())
    torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    encoder = open_clip.build(names.parse("pickscore", weights=tmp_path / "pytorch_model.bin"), CPU)
    files = drawn_images(3)
    pixels = encoder.normalise([encoder.prepare_image(file) for file in files])
    with torch.inference_mode():
        out = theirs(input_ids=upstream.SimpleTokenizer()(CAPTIONS), pixel_values=pixels)
    own = encoder.logits[0] * encoder.encode_images(files) @ encoder.encode_texts(CAPTIONS).T
    assert np.ptp(own) > 0.01
    np.testing.assert_allclose(own, out.logits_per_image.numpy(), atol=2e-4)


@pytest.mark.parametrize("profile", ["longclip-b", "longclip-l"])
def test_long_clip_reads_248_tokens(reduced, tmp_path, profile):
    """Two position tables, the first 20 rows of the one; a caption of 200 words is not cut."""
    clip = openai_clip()
    torch.manual_seed(1)
    theirs = clip.model.CLIP(64, 64, 2, 128, 16, 248, 49408, 128, 2, 2).eval()
    later = torch.randn(248, 128) * 0.1
    state = {**theirs.state_dict(), "positional_embedding_res": later}
    torch.save(state, tmp_path / "longclip.pt")
    with torch.no_grad():
        mask = torch.zeros(248, 1)
        mask[:20] = 1
        theirs.positional_embedding.copy_(theirs.positional_embedding * mask + later * (1 - mask))
    reduced(profile, config(text_layers=2))
    encoder = open_clip.build(names.parse(profile, weights=tmp_path / "longclip.pt"), CPU)
    texts = [*CAPTIONS, "dog " * 200, "a cat sits " * 90]
    with torch.inference_mode():
        expected = unit(theirs.encode_text(clip.tokenize(texts, context_length=248, truncate=True))).numpy()
    assert encoder.cuts_texts
    assert [item.cut for item in encoder.tokenize(texts)][-2:] == [0, 24]
    assert ((encoder.encode_texts(texts) * expected).sum(1) > 1 - 1e-6).all()
    assert encoder.fingerprint.fields["context_length"] == 248


def test_siglip_is_padded_squashed_and_has_a_bias(tmp_path):
    """Context 64 padded to full length, squash resize, mean and std 0.5; sigmoid(scale cos + bias)."""
    cfg = {**plain(text_layers=2), "custom_text": True, "init_logit_bias": -10}
    cfg["text_cfg"] |= {"context_length": 64, "no_causal_mask": True, "proj_bias": True, "pool_type": "last"}
    network = random_network(cfg)
    how = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "squash"}
    (tmp_path / hub.CONFIG).write_text(json.dumps({"model_cfg": cfg, "preprocess_cfg": how}))
    torch.save(network.state_dict(), tmp_path / "weights.pt")
    encoder = open_clip.load(f"local-dir:{tmp_path}", device="cpu")
    assert not encoder.cuts_texts
    files = drawn_images(4)
    pixels = torch.stack([
        tv.normalize(
            tv.to_tensor(
                PIL.Image.open(io.BytesIO(file)).resize((64, 64), PIL.Image.Resampling.BICUBIC).convert("RGB")
            ),
            [0.5] * 3,
            [0.5] * 3,
        )
        for file in files
    ])  # fmt: skip
    with torch.inference_mode():
        seen = unit(network.encode_image(pixels))
        said = unit(network.encode_text(upstream.SimpleTokenizer(context_length=64)(CAPTIONS)))
        expected = torch.sigmoid(network.logit_scale.exp() * seen @ said.T + network.logit_bias).numpy()
    scale, bias = encoder.logits
    own = 1 / (1 + np.exp(-(scale * encoder.encode_images(files) @ encoder.encode_texts(CAPTIONS).T + bias)))
    assert bias == -10
    np.testing.assert_allclose(own, expected, atol=1e-5)


@pytest.mark.parametrize("model", sorted(ALIASES.values()))
def test_siglips_short_names_are_known_to_open_clip(model):
    """Short names stand for pairs that open_clip has, whose preprocessing squashes and whose context is 64."""
    parsed = names.parse(model)
    cfg = upstream.get_model_config(parsed.architecture)
    tag = upstream.pretrained.get_pretrained_cfg(parsed.architecture, parsed.tag)
    assert cfg["text_cfg"]["context_length"] == 64
    assert (tag["resize_mode"], tuple(tag["mean"])) == ("squash", (0.5, 0.5, 0.5))


def test_names_of_scorers():
    """Any case; a tag does not go with them; short names are open_clip's pairs."""
    assert names.parse("PAC-S").shown == "pac-s"
    assert names.parse("SigLIP2") == names.parse("ViT-B-16-SigLIP2/webli")
    with pytest.raises(UnknownModel, match="already names its weights"):
        names.parse("pac-s", "openai")


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda one: one.name)
def test_every_profile_names_an_architecture_and_a_place(profile):
    """open_clip has the architecture; the weights are somewhere; formula, paper and recipe are said."""
    assert upstream.get_model_config(profile.architecture) is not None
    assert profile.where
    assert profile.formula
    assert profile.paper


def test_weights_that_are_nowhere_near_say_where_they_are():
    """Not on the hub: the place, and --weights FILE. On the hub: the file and the repository."""
    with pytest.raises(UnknownModel, match=r"aimagelab/pacscore.*--weights FILE"):
        open_clip.build(names.parse("pac-s"), CPU)
    with pytest.raises(UnknownModel, match=r"HPS_v2\.1_compressed\.pt of xswu/HPSv2"):
        open_clip.build(names.parse("hpsv2.1"), CPU)


@pytest.mark.weights
def test_pac_s_gives_its_published_example(shared_data):
    """The example of its README: good captions 0.8264 and 0.8393, bad ones 0.5772 and 0.6357."""
    file = Path(os.environ.get("CLIPSTORE_PACS_WEIGHTS", "clip_ViT-B-32.pth"))
    if not file.is_file():
        pytest.skip(f"no PAC-S checkpoint at {file}: {PROFILES['pac-s'].where}; set CLIPSTORE_PACS_WEIGHTS")
    encoder = open_clip.build(names.parse("pac-s", weights=file), CPU)
    folder = shared_data / "clipscore_example"
    references = json.loads((folder / "refs.json").read_text())
    images = {path.stem: path.read_bytes() for path in (folder / "images").iterdir()}
    for kind, expected in (("good", (0.8264, 0.8393)), ("bad", (0.5772, 0.6357))):
        captions = json.loads((folder / f"{kind}_captions.json").read_text())
        said = encoder.encode_texts([PREFIX + captions[key] for key in captions])
        seen = encoder.encode_images([images[key] for key in captions])
        pac = 2.0 * np.clip((seen * said).sum(1), 0, None)
        rows = [encoder.encode_texts([PREFIX + text for text in references[key]]) for key in captions]
        best = np.array([max(some @ row) for some, row in zip(rows, said, strict=True)])
        ref = 2 * pac * best / (pac + best)
        np.testing.assert_allclose((pac.mean(), ref.mean()), expected, atol=2e-4)
