"""The shipped ``tiny`` works on scenes that it never saw. See its MODEL_CARD.md."""

import json
import random
from importlib.resources import files

import open_clip
import pytest
import torch
from open_clip.model import CLIP
from safetensors.torch import load_file

from clipstore.demo import scenes

TINY = files("clipstore.encoders") / "tiny"
PREFIX = "A photo depicts "
#: The script measures from the first held-out seed on; these are others again.
SEEDS = range(scenes.FIRST_HELD_OUT_SEED + 500_000, scenes.FIRST_HELD_OUT_SEED + 500_400)


@pytest.fixture(scope="module")
def config():
    """The shipped configuration, as open_clip's model takes it."""
    return json.loads((TINY / "config.json").read_text())


@pytest.fixture(scope="module")
def model(config):
    """The shipped model, by plain open_clip."""
    model = CLIP(**config)
    model.load_state_dict(load_file(str(TINY / "model.safetensors")))
    return model.eval()


@pytest.fixture(scope="module")
def drawn():
    """Fresh scenes."""
    return [scenes.draw(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def images(model, config, drawn):
    """The scenes' unit vectors."""
    size = config["vision_cfg"]["image_size"]
    transform = open_clip.image_transform(size, is_train=False, resize_mode="shortest", interpolation="bicubic")
    with torch.inference_mode():
        return model.encode_image(torch.stack([transform(scene.image) for scene in drawn]), normalize=True)


def encode(model, captions):
    """Unit vectors of captions, with the prefix of CLIP-S."""
    tokens = open_clip.tokenizer.SimpleTokenizer()([PREFIX + caption for caption in captions])
    with torch.inference_mode():
        return torch.cat([model.encode_text(part, normalize=True) for part in tokens.split(100)])


def distinct(drawn, count):
    """The places of the first scenes with distinct captions, and these captions."""
    places = {}
    for place, scene in enumerate(drawn):
        places.setdefault(scene.references[0], place)
    captions = list(places)[:count]
    assert len(captions) == count
    return [places[caption] for caption in captions], captions


@pytest.mark.parametrize(
    ("kind", "least"), [("colour", 0.9), ("shape", 0.9), ("count", 0.9), ("size", 0.9), ("relation", 0.75)]
)
def test_right_caption_beats_one_swapped_word(model, drawn, images, kind, least):
    """The right caption of a scene scores above the same caption with one word swapped."""
    rng = random.Random(0)
    pairs = [(place, scenes.swapped(scene.references[0], kind, rng)) for place, scene in enumerate(drawn)]
    cases = [(place, *pair) for place, pair in pairs if pair is not None]
    assert len(cases) > 100
    places, right, wrong = zip(*cases, strict=True)
    shown = images[list(places)]
    wins = (shown * encode(model, right)).sum(1) > (shown * encode(model, wrong)).sum(1)
    assert wins.float().mean() >= least


def test_recall_among_hundred_captions(model, drawn, images):
    """Of a hundred distinct captions, an image's own is the nearest in four of five cases."""
    places, captions = distinct(drawn, 100)
    nearest = (images[places] @ encode(model, captions).T).argmax(1)
    assert (nearest == torch.arange(100)).float().mean() >= 0.8


def test_scores_can_be_read(model, drawn, images):
    """Right captions have clearly positive cosines; others' captions and general words far lower ones."""
    places, captions = distinct(drawn, 100)
    cosines = images[places] @ encode(model, captions).T
    right = cosines.diagonal().mean()
    others = (cosines.sum() - cosines.diagonal().sum()) / (100 * 99)
    assert right > 0.25
    assert others < right - 0.2
    assert (images @ encode(model, scenes.GENERIC).T).mean() < right - 0.2


def test_three_systems_in_order(model, drawn, images):
    """Systems of good, mixed and poor captions score in this order, with visible gaps."""
    rng = random.Random(0)
    means = [
        (images * encode(model, [write(scene, rng) for scene in drawn])).sum(1).clamp(min=0).mean()
        for write in (scenes.good_caption, scenes.mixed_caption, scenes.poor_caption)
    ]
    assert means[0] > means[1] + 0.03
    assert means[1] > means[2] + 0.03


def test_weights_are_small_float16():
    """The weights are float16 and at most ten million bytes; only batch norm's counters are whole numbers."""
    path = TINY / "model.safetensors"
    assert len(path.read_bytes()) <= 10_000_000
    tensors = load_file(str(path))
    assert {tensor.dtype for name, tensor in tensors.items() if "num_batches" not in name} == {torch.float16}
