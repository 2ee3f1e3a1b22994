"""The published numbers with OpenAI's own ViT-B/32: run where the weights are, skipped with a reason elsewhere.

Sources: README of jmhessel/clipscore (good 0.8584 GPU / 0.8585 CPU and RefCLIPScore 0.8450; bad 0.7153
and 0.7253). The images are the two of its example folder, among the shared material.
"""

import json
import os
from pathlib import Path

import pytest

import clipstore as cs
from clipstore.errors import UnknownModel

MODEL = "ViT-B-32/openai"


@pytest.fixture(scope="module")
def weights() -> Path | None:
    """Return ``CLIPSTORE_WEIGHTS`` if it is set; None lets open_clip look into its cache."""
    given = os.environ.get("CLIPSTORE_WEIGHTS")
    return Path(given) if given else None


@pytest.fixture
def space(store, weights):
    """Give the space of the real weights, or skip with what is missing."""
    try:
        return store.space(MODEL, weights=weights, trust_weights=True)
    except UnknownModel as error:
        pytest.skip(f"OpenAI's ViT-B/32 is not on this machine (set CLIPSTORE_WEIGHTS=FILE): {error}")


@pytest.mark.weights
@pytest.mark.parametrize(
    ("captions", "clip_s", "ref_clip_s"), [("good", 0.8585, 0.8450), ("bad", 0.7153, 0.7253)], ids=["good", "bad"]
)
def test_the_official_example_has_its_published_scores(space, shared_data, captions, clip_s, ref_clip_s) -> None:
    """CLIP-S within 2e-4 and RefCLIP-S within 5e-4 of what the official README prints."""
    folder = shared_data / "clipscore_example"
    evalset = cs.EvalSet.read(images=folder / "images", refs=folder / "refs.json")
    given = json.loads((folder / f"{captions}_captions.json").read_text())
    scores = cs.score(space, {captions: given}, evalset)[captions]
    assert scores.clip_s.mean == pytest.approx(clip_s, abs=2e-4)
    assert scores.ref_clip_s.mean == pytest.approx(ref_clip_s, abs=5e-4)


@pytest.mark.weights
def test_a_text_has_its_published_features(space) -> None:
    """The direction of a text's features without prefix: the first five of NUMERICS, up to their common scale."""
    text = "a portrait of an astronaut with the American flag"
    space.ensure_texts([text])
    vector = space.gather_texts(space.text_keys([text]))[0][:5]
    published = [-0.16626, 0.052277, -0.15332, 0.44946, 0.20667]
    scale = vector[3] / published[3]
    assert vector.tolist() == pytest.approx([value * scale for value in published], abs=2e-4)
