"""The interval of a median against SciPy, and its coverage."""

import numpy as np
import pytest
import scipy.stats

from clipstore.significance import median_interval


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [6, 17, 100, 5000])
def test_it_is_scipys(n, level):
    """The order statistics that SciPy's quantile test takes for its interval, two-sided."""
    values = np.random.default_rng(n).normal(size=n)
    low, high = scipy.stats.quantile_test(values, p=0.5).confidence_interval(level)
    found = median_interval(values, level)
    if np.isnan(low):
        assert found is None
    else:
        assert (found.low, found.high, found.kind) == (low, high, "binomial")


def test_few_values_have_none():
    """Below six values no two of them cover 95 %."""
    assert median_interval(np.arange(5.0), 0.95) is None
    assert median_interval(np.empty(0), 0.95) is None
    assert median_interval(np.arange(6.0), 0.95) is not None


def test_it_covers():
    """Of 400 samples of a skewed number at least 93 in 100 intervals hold the median."""
    rng = np.random.default_rng(3)
    found = [median_interval(rng.exponential(size=60), 0.95) for _ in range(400)]
    assert sum(one.low <= np.log(2) <= one.high for one in found) >= 372
