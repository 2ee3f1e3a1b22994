from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import clipstore
from clipstore.metrics import clip_s

COSINES = arrays.arrays(np.float32, st.integers(0, 30), elements=st.floats(-1, 1, width=32))


def unit(rows: int, dim: int = 16, seed: int = 0) -> np.ndarray:
    """Return random unit vectors, float32 of shape (rows, dim)."""
    drawn = np.random.default_rng(seed).standard_normal((rows, dim))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def test_the_weight_is_the_papers() -> None:
    """W is 2.5, and no other module of the metrics spells it or the 100 of other tools."""
    assert clip_s.WEIGHT == 2.5
    folder = Path(clipstore.__file__).parent
    spelled = re.compile(r"(?<![\d.\w])(2\.5|100)(?![\d\w])(?!\.\d)")
    found = [
        f"{path.name}:{number}"
        for package in ("metrics", "evaluate")
        for path in sorted((folder / package).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if spelled.search(line.split("#")[0]) and not re.search(r'^\s|"""', line)
    ]
    assert found == [f"clip_s.py:{inspect.getsource(clip_s).splitlines().index('WEIGHT = 2.5') + 1}"]


@given(COSINES)
def test_clip_s_is_the_clipped_cosine_times_the_weight(cosines: np.ndarray) -> None:
    """Each pair is clamped by itself, before any mean, and stays float32 between 0 and 2.5."""
    scores = clip_s.clip_s(cosines)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, np.float32(2.5) * np.maximum(cosines, 0))
    assert not len(scores) or (scores.min() >= 0 and scores.max() <= 2.5)


def test_pairs_are_clamped_not_their_mean() -> None:
    """Cosines of -0.2 and 0.4 mean 0.5, where clamping the mean would say 0.25."""
    assert clip_s.clip_s(np.array([-0.2, 0.4], np.float32)).mean() == pytest.approx(0.5)


def test_a_recipe_may_change_weight_and_clamp() -> None:
    """Without clamp a negative cosine stays, scaled by the weight."""
    np.testing.assert_allclose(
        clip_s.clip_s(np.array([-0.5, 0.5], np.float32), 1.0, clamp=False), np.array([-0.5, 0.5], np.float32)
    )


def test_half_precision_features_stay_within_the_range() -> None:
    """Unit vectors that came from float16 features give at most 2.5 + 1e-3 (issue B1)."""
    drawn = np.random.default_rng(1).random((50, 512)).astype(np.float16).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    rows = np.arange(50)
    assert clip_s.clip_s(clip_s.similarities(drawn, rows, drawn, rows)).max() <= 2.5 + 1e-3


@pytest.mark.parametrize("pairs", [0, 1, 2047, 2048, 2049, 5000])
def test_similarities_pair_the_rows_asked(pairs: int) -> None:
    """Pair i is row left_rows[i] with row right_rows[i], across the blocks' borders, from matrices of any height."""
    left, right = unit(40), unit(70, seed=1)
    rng = np.random.default_rng(2)
    one, other = rng.integers(0, 40, pairs), rng.integers(0, 70, pairs)
    cosines = clip_s.similarities(left, one, right, other)
    assert cosines.dtype == np.float32
    expected = (left[one].astype(np.float64) * right[other].astype(np.float64)).sum(axis=1)
    np.testing.assert_allclose(cosines, expected, rtol=0, atol=2e-7)


def test_a_pair_does_not_depend_on_its_neighbours() -> None:
    """The same pair among others and alone gives the same bits."""
    left, right = unit(100, 512), unit(100, 512, seed=1)
    rows = np.arange(100)
    together = clip_s.similarities(left, rows, right, rows)
    alone = [clip_s.similarities(left, rows[i : i + 1], right, rows[i : i + 1])[0] for i in range(100)]
    np.testing.assert_array_equal(together, alone)
