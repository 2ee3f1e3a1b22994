"""Gates for CI fail where nothing was tested, and ties of cached metrics are ties."""

import numpy as np
import pytest
from made import measured

from clipstore.compare import compare
from clipstore.compare.checks import drops, limits
from clipstore.errors import InputError
from clipstore.significance.settings import Settings


def test_a_limit_is_a_finite_number():
    """Not-a-number and infinity would let everything pass: they are refused."""
    for value in ("nan", "inf", "-inf"):
        with pytest.raises(InputError, match="is no number"):
            limits([value], "clip-s")


def test_a_drop_without_a_test_fails():
    """A t-test of one image gives no p: the gate does not pass in silence."""
    values = {"base": np.array([0.9], np.float32), "new": np.array([0.1], np.float32)}
    done = compare(measured(values), baseline="base", settings=Settings(test="ttest"))
    checks = drops(done, {"clip-s": 0.01})
    assert [(check.system, check.passed) for check in checks] == [("new", False)]
