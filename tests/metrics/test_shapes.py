"""Shapes and types are really checked while the tests run."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import shape_checks
from jaxtyping import TypeCheckError

from clipstore.metrics import clip_s, ref_clip_s


def f32(rows: int) -> np.ndarray:
    """Return zeros, float32."""
    return np.zeros(rows, np.float32)


def test_float64_is_refused() -> None:
    """A float64 array where float32 is named raises."""
    with pytest.raises(TypeCheckError, match="cosines"):
        clip_s.clip_s(np.zeros(3, np.float64))


def test_a_wrong_row_count_is_refused() -> None:
    """Two arrays that must have one row count and don't raise."""
    with pytest.raises(TypeCheckError, match="reference_term"):
        ref_clip_s.ref_clip_s(f32(3), f32(1))


def test_a_wrong_kind_of_number_is_refused() -> None:
    """Row numbers that are no int64 raise."""
    vectors = np.eye(4, dtype=np.float32)
    with pytest.raises(TypeCheckError, match="_rows"):
        clip_s.similarities(vectors, f32(3), vectors, f32(3))


def test_no_module_of_the_metrics_is_left_out() -> None:
    """Every module that computes scores is checked."""
    assert not shape_checks.LEFT_OUT
    assert any(name.startswith("clipstore.metrics") for name in shape_checks.CHECKED)
    assert type(sys.modules["clipstore.metrics.clip_s"].__spec__.loader).__name__ == "_JaxtypingLoader"
