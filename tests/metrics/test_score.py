from __future__ import annotations

import numpy as np
import pytest

from clipstore.metrics.score import Score, Signature

SIGNATURE = Signature("CLIP-S", (("model", "fake"), ("w", "2.5")))


def score(*values: float) -> Score:
    """Return a score whose ids are 7, "7", "b", ..."""
    keys = (7, "7", "b", "c", "d")[: len(values)]
    return Score(keys, np.array(values, np.float32), SIGNATURE)


def test_the_mean_leaves_out_what_is_not_defined() -> None:
    """NaN is no number: it is left out of the mean, of n, and reads as None."""
    one = score(0.5, np.nan, 0.25)
    assert one.mean == pytest.approx(0.375)
    assert one.n == 2
    assert len(one) == 3
    assert one["7"] is None
    assert one.to_dict() == {7: 0.5, "7": None, "b": 0.25}


def test_a_score_of_nothing_has_no_mean() -> None:
    """Where no item has a number the mean is None, not NaN."""
    assert score(np.nan).mean is None
    assert score().mean is None
    assert score().n == 0


def test_ids_come_back_as_they_came() -> None:
    """7 and "7" are two ids, in the order given."""
    one = score(0.5, 1.5)
    assert list(one) == [7, "7"]
    assert one[7] == 0.5
    assert one["7"] == 1.5
    with pytest.raises(KeyError):
        one["nothing"]


def test_the_mean_is_a_plain_float_of_double_precision() -> None:
    """Many float32 values are summed in float64: a million times 0.1 does not drift."""
    many = Score(tuple(range(1_000_000)), np.full(1_000_000, 0.1, np.float32), SIGNATURE)
    assert type(many.mean) is float
    assert many.mean == pytest.approx(float(np.float32(0.1)), abs=1e-12)


def test_the_signature_keeps_the_order_of_its_fields() -> None:
    """A signature is the metric and its fields, in order, on one line without spaces."""
    assert str(SIGNATURE) == "CLIP-S|model:fake|w:2.5"
    assert list(SIGNATURE.to_dict()) == ["metric", "model", "w"]


def test_a_note_goes_wherever_the_signature_goes() -> None:
    """``tiny: not for reporting`` stands in the line and in the dict."""
    noted = Signature("CLIP-S", (("model", "tiny"),), "tiny: not for reporting")
    assert str(noted) == "CLIP-S|model:tiny|tiny: not for reporting"
    assert noted.to_dict()["note"] == "tiny: not for reporting"
    assert noted != Signature("CLIP-S", (("model", "tiny"),))
