"""Where models come from: activations that fit their weights, hubs that can't be reached, names that are no model."""

import json
import os
import subprocess
import sys
import time
import urllib.request

import open_clip as upstream
import pytest
import torch
from huggingface_hub import constants
from open_clip.pretrained import get_pretrained_cfg
from safetensors.torch import save_file

from clipstore.encoders import activation, hub, names, open_clip, source, weights
from clipstore.errors import EncoderError, UnknownModel

QUICK = ["openai", "laion400m_e32", "metaclip_400m", "metaclip_fullcc"]


def settled(model, pretrained=None, *, file, openai=False):
    """The activation of a name with a file of weights."""
    name = names.parse(model, pretrained, file)
    return activation.settle(name, source.find(name), weights.Weights(file, {}, openai))


@pytest.fixture
def file(tmp_path):
    """Weights that nobody has published."""
    path = tmp_path / "mine.safetensors"
    save_file({"a": torch.ones(1)}, path)
    return path


@pytest.mark.parametrize("tag", QUICK)
def test_quickgelu_tags_get_quickgelu(tag, file):
    """The plain architecture with a QuickGELU tag is built with QuickGELU; open_clip would only warn."""
    assert settled("ViT-B-32", tag, file=file) is True


def test_gelu_tags_get_gelu(file):
    """A tag trained with GELU keeps it."""
    assert settled("ViT-B-32/laion2b_s34b_b79k", file=file) is False
    assert settled("ViT-B-32-256/datacomp_s34b_b86k", file=file) is False


def test_a_twin_needs_no_tag(file):
    """The architecture's QuickGELU twin says its activation itself."""
    assert settled("ViT-B-32-quickgelu", file=file) is True


def test_an_architecture_without_a_twin_needs_no_tag(file):
    """Where there is one way only, there is nothing to ask."""
    assert settled("ViT-S-32", file=file) is False


def test_unknown_weights_of_both_ways_are_refused(file):
    """Nothing says the activation: the message names both ways."""
    with pytest.raises(EncoderError, match=r"mine.*Name ViT-B-32-quickgelu \(QuickGELU\).*ViT-B-32/laion\w+ \(GELU\)"):
        settled("ViT-B-32", file=file)


def test_openais_layout_forces_quickgelu(file):
    """OpenAI's own files need no tag, and refuse a GELU one."""
    assert settled("ViT-B-32", file=file, openai=True) is True
    with pytest.raises(EncoderError, match=r"OpenAI's layout.*ViT-B-32-quickgelu"):
        settled("ViT-B-32/laion2b_s34b_b79k", file=file, openai=True)


def test_published_digests_are_known(file, monkeypatch):
    """A file with the digest of a published one has that one's activation."""
    url = get_pretrained_cfg("ViT-B-32", "openai")["url"]
    monkeypatch.setattr(weights.Weights, "sha256", lambda _: url.split("/")[-2])
    assert settled("ViT-B-32", file=file) is True
    monkeypatch.setattr(weights.Weights, "sha256", lambda _: "0" * 64)
    with pytest.raises(EncoderError):
        settled("ViT-B-32", file=file)


def test_every_tag_resolves_to_its_activation(file):
    """For each of open_clip's pairs, the built activation is the tag's own, or the config's where it says QuickGELU."""
    for model, tag in upstream.list_pretrained():
        config = upstream.get_model_config(model)
        if config is not None:
            expected = bool(get_pretrained_cfg(model, tag).get("quick_gelu") or config.get("quick_gelu"))
            assert settled(model, tag, file=file) is expected, (model, tag)


def test_quickgelu_is_in_the_network(small, tmp_path, small_folder):
    """The settled activation is in the network and in the fingerprint."""
    kinds = {type(module).__name__ for module in small._model.modules()}
    assert "QuickGELU" in kinds
    assert "GELU" not in kinds
    assert small.fingerprint.fields["architecture"]["quick_gelu"] is True
    config = json.loads((small_folder / hub.CONFIG).read_text())
    config["model_cfg"]["quick_gelu"] = False
    (tmp_path / hub.CONFIG).write_text(json.dumps(config))
    with pytest.raises(EncoderError, match="OpenAI's layout"):
        open_clip.load(f"local-dir:{tmp_path}", weights=small_folder / "weights.pt")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ViT-B-23/openai", "did you mean.*ViT-B-32"),
        ("laion/CLIP-ViT-B-32-laion2B", "hf-hub:laion/CLIP-ViT-B-32-laion2B"),
        ("ViT-B-32/opena", "no weights have the tag 'opena'. Known: ViT-B-32/openai"),
        ("ViT-B-32-quickgelu/laion2b_s34b_b79k", "no weights have the tag"),
        ("ViT-B-32", "an architecture, not its weights.*--weights FILE"),
        ("local-dir:/nowhere", "no open_clip_config.json in /nowhere"),
    ],
)
def test_names_that_are_no_model(name, says):
    """Near misses, known tags, and the way to name what was meant."""
    with pytest.raises(UnknownModel, match=says):
        open_clip.load(name)


def test_preprocessing_follows_the_tag(file):
    """Weights with their own mean get it; without a tag, an architecture's only way is taken."""
    laion = source.find(names.parse("ViT-L-14/laion2b_s32b_b82k", weights=file)).preprocess
    assert tuple(laion["mean"]) == (0.5, 0.5, 0.5)
    siglip = source.find(names.parse("ViT-B-16-SigLIP", weights=file)).preprocess
    assert (tuple(siglip["mean"]), siglip["resize_mode"]) == ((0.5, 0.5, 0.5), "squash")
    openai = source.find(names.parse("ViT-B-32-quickgelu", weights=file)).preprocess
    assert tuple(openai["mean"]) == upstream.OPENAI_DATASET_MEAN


def test_a_folder_needs_one_file_of_weights(tmp_path, small_folder):
    """No file of weights, or two, is refused with what was found."""
    (tmp_path / hub.CONFIG).write_text((small_folder / hub.CONFIG).read_text())
    name = names.parse(f"local-dir:{tmp_path}")
    with pytest.raises(UnknownModel, match="found none"):
        source.find(name)
    for letter in "ab":
        (tmp_path / f"{letter}.pt").touch()
    with pytest.raises(UnknownModel, match=r"found a.pt, b.pt"):
        source.find(name)
    (tmp_path / "open_clip_model.safetensors").touch()
    assert source.find(name).weights.name == "open_clip_model.safetensors"


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"embed_dim": 1, "vision_cfg": 2, "text_cfg": 3}'])
def test_a_broken_config_is_named(tmp_path, content):
    """A config that is no config says which file."""
    (tmp_path / hub.CONFIG).write_text(content)
    with pytest.raises(EncoderError, match=r"open_clip_config\.json is no open_clip config"):
        source.find(names.parse(f"local-dir:{tmp_path}"))


def test_offline_mode_is_one_message_without_a_wait(tmp_path):
    """HF_HUB_OFFLINE: no retry; the missing file, how to fetch it elsewhere, how to pass it."""
    program = """
import time
from clipstore.encoders import open_clip
from clipstore.errors import UnknownModel
start = time.monotonic()
try:
    open_clip.load("ViT-B-32/openai")
except UnknownModel as error:
    print(time.monotonic() - start, error)
"""
    env = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    seconds, _, message = done.stdout.strip().partition(" ")
    repository, file = "timm/vit_base_patch32_clip_224.openai", "open_clip_model.safetensors"
    assert message.startswith(f"ViT-B-32/openai: missing {file} of {repository} (offline mode is on: HF_HUB_OFFLINE)")
    assert f"hf download {repository} {file}" in message
    assert "ViT-B-32.pt" in message
    assert message.endswith("pass it with --weights FILE")
    assert float(seconds) < 5
    assert not done.stderr


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache of the hub."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.mark.usefixtures("own_cache")
def test_an_unreachable_hub_is_one_message_without_retries(monkeypatch):
    """A hub that refuses connections is given up at once."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(urllib.request, "getproxies", dict)
    start = time.monotonic()
    says = r"^hf-hub:org/model: missing open_clip_config\.json of org/model \(127\.0\.0\.1 can't be reached.*local-dir:FOLDER"
    with pytest.raises(UnknownModel, match=says):
        open_clip.load("hf-hub:org/model")
    assert time.monotonic() - start < 2


def test_weights_by_address_are_named_by_address(monkeypatch):
    """A tag that has no repository names its file's address."""
    monkeypatch.setattr(hub, "offline", lambda: True)
    monkeypatch.setenv("HOME", "/nowhere")
    start = time.monotonic()
    with pytest.raises(UnknownModel, match=r"RN50/yfcc15m: missing https://\S+\.pt \(offline mode"):
        hub.fetch_tag("RN50/yfcc15m", {"url": "https://example.org/releases/rn50-quickgelu-yfcc15m-455df137.pt"})
    assert time.monotonic() - start < 1


def test_a_cached_repository_needs_no_network(own_cache, monkeypatch, small, small_folder):
    """What the hub's cache holds is used in offline mode."""
    snapshot = own_cache / "models--org--small" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (own_cache / "models--org--small" / "refs").mkdir()
    (own_cache / "models--org--small" / "refs" / "main").write_text("abc")
    (snapshot / hub.CONFIG).write_text((small_folder / hub.CONFIG).read_text())
    (snapshot / "open_clip_pytorch_model.bin").write_bytes((small_folder / "weights.pt").read_bytes())
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert open_clip.load("hf-hub:org/small", device="cpu").fingerprint == small.fingerprint
