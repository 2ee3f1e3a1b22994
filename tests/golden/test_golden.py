from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from clipstore.metrics import clip_s, ref_clip_s

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def golden() -> dict[str, np.ndarray]:
    """The committed embeddings and the values of the official formula."""
    with np.load(HERE / "hessel2021.npz") as file:
        return dict(file)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return the rows over their norms, float32, as an encoder gives them."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def image_term(golden: dict[str, np.ndarray]) -> np.ndarray:
    """Return our CLIP-S of each golden pair."""
    rows = np.arange(len(golden["images"]))
    return clip_s.clip_s(clip_s.similarities(unit(golden["images"]), rows, unit(golden["candidates"]), rows))


def test_clip_s_equals_the_official_formula(golden: dict[str, np.ndarray]) -> None:
    """CLIP-S of each golden pair is within 1e-6 of what the official formula gives."""
    np.testing.assert_allclose(image_term(golden), golden["expected_clip_s"], rtol=0, atol=1e-6)


def test_ref_clip_s_equals_the_official_formula(golden: dict[str, np.ndarray]) -> None:
    """RefCLIP-S of each golden pair is within 1e-6 of the formula, with both terms clipped, NaN without references."""
    pairs = len(golden["images"])
    owner = golden["owner"]
    cosines = clip_s.similarities(
        unit(golden["candidates"]), owner, unit(golden["references"]), np.arange(len(golden["references"]))
    )
    starts = np.searchsorted(owner, np.arange(pairs)).astype(np.int64)
    best = ref_clip_s.best_reference(cosines, starts, pairs)
    ours = ref_clip_s.ref_clip_s(image_term(golden), best)
    np.testing.assert_allclose(ours, golden["expected_ref_clip_s"], rtol=0, atol=1e-6, equal_nan=True)


def test_golden_scores_spread(golden: dict[str, np.ndarray]) -> None:
    """The golden pairs are no blind test: scores spread, and the corners are there."""
    clip, ref = golden["expected_clip_s"], golden["expected_ref_clip_s"]
    assert np.std(clip[5:]) > 0.2
    assert np.nanstd(ref[5:]) > 0.1
    assert clip[0] == 0
    assert ref[1] == ref[2] == 0
    assert clip[3] == pytest.approx(2.5)
    assert np.flatnonzero(np.isnan(ref)).tolist() == [4]


def test_the_generator_gives_the_committed_file(golden: dict[str, np.ndarray]) -> None:
    """Running the script again gives the committed numbers: nobody edits them by hand."""
    spec = importlib.util.spec_from_file_location("golden_make", HERE / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    images, candidates, references = make.drawn()
    np.testing.assert_array_equal(images, golden["images"])
    pairs = list(zip(images, candidates, references, strict=True))
    again = np.array([make.ref_clip_score(*pair) for pair in pairs])
    np.testing.assert_allclose(again, golden["expected_ref_clip_s"], rtol=1e-12, equal_nan=True)
