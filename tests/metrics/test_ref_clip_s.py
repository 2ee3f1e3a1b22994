from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from clipstore.metrics import ref_clip_s

TERMS = st.integers(0, 20).flatmap(
    lambda rows: st.tuples(
        arrays.arrays(np.float32, rows, elements=st.floats(0, 2.5, width=32)),
        arrays.arrays(np.float32, rows, elements=st.floats(-1, 1, width=32)),
    )
)


def f32(*values: float) -> np.ndarray:
    """Return float32 values."""
    return np.array(values, np.float32)


@pytest.mark.parametrize(("image", "reference"), [(0, 0), (0.1, 0), (0, 0.7), (0.1, -0.1), (0, -0.5)])
def test_where_a_term_is_zero_the_mean_is_zero(image: float, reference: float) -> None:
    """0 in either term gives 0, and a negative reference term counts as 0: never NaN, never minus infinity (B17)."""
    assert ref_clip_s.ref_clip_s(f32(image), f32(reference)).tolist() == [0.0]


def test_without_references_it_is_not_defined() -> None:
    """NaN where there is no reference, also where CLIP-S is 0."""
    assert np.isnan(ref_clip_s.ref_clip_s(f32(0.5, 0), f32(np.nan, np.nan))).all()


def test_it_is_the_harmonic_mean_of_each_pair() -> None:
    """Means of harmonic means are not the harmonic mean of means: 0.5 and 0.5 beside 1.0 and 0.25."""
    image, reference = f32(0.5, 1.0), f32(0.5, 0.25)
    each = ref_clip_s.ref_clip_s(image, reference)
    np.testing.assert_allclose(each, [0.5, 0.4], rtol=1e-6)
    joined = ref_clip_s.ref_clip_s(f32(image.mean()), f32(reference.mean()))
    assert each.mean() != pytest.approx(float(joined[0]), abs=1e-3)


def test_the_weight_stays_inside_the_image_term() -> None:
    """W stands inside CLIP-S, as in appendix B: cosines of 0.4 and 1 give H(1, 1) = 1."""
    assert ref_clip_s.ref_clip_s(f32(2.5 * 0.4), f32(1.0)).tolist() == pytest.approx([1.0])


@given(TERMS)
def test_it_lies_between_its_terms_and_is_never_nan(terms: tuple[np.ndarray, np.ndarray]) -> None:
    """With references the value is finite, float32, at least 0, and at most twice the smaller clipped term."""
    image, reference = terms
    mean = ref_clip_s.ref_clip_s(image, reference)
    assert mean.dtype == np.float32
    assert np.isfinite(mean).all()
    assert (mean >= 0).all()
    assert (mean <= 2 * np.minimum(image, np.maximum(reference, 0)) + 1e-6).all()


def test_inputs_are_not_written_to() -> None:
    """The terms are as they were afterwards."""
    image, reference = f32(0.5, 0), f32(np.nan, -1)
    ref_clip_s.ref_clip_s(image, reference)
    np.testing.assert_array_equal(image, f32(0.5, 0))
    np.testing.assert_array_equal(reference, f32(np.nan, -1))


@given(st.lists(st.lists(st.floats(-1, 1, width=32), max_size=6), max_size=12))
def test_the_best_reference_is_each_captions_own(groups: list[list[float]]) -> None:
    """The largest cosine of each caption's own references, NaN where it has none, wherever those stand."""
    cosines = np.array([one for group in groups for one in group], np.float32)
    counts = np.array([len(group) for group in groups], np.int64)
    best = ref_clip_s.best_reference(cosines, np.cumsum(counts) - counts, len(groups))
    expected = [max(group) if group else np.nan for group in groups]
    np.testing.assert_array_equal(best, np.array(expected, np.float32))
