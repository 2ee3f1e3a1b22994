"""Student's t against SciPy."""

import math

import pytest
import scipy.stats

from clipstore.significance.student import two_sided, two_sided_quantile


@pytest.mark.parametrize("df", [1, 2, 3, 5, 19, 97, 98, 99, 100, 101, 999, 4999])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_quantile_is_scipys(df, level):
    """The quantile agrees with SciPy's to 1e-10 for every number of items that an interval may meet."""
    assert two_sided_quantile(level, df) == pytest.approx(scipy.stats.t.ppf(0.5 + level / 2, df), rel=1e-10)


@pytest.mark.parametrize("df", [1, 2, 7, 30, 99, 100, 500, 4999, 100_000])
@pytest.mark.parametrize("t", [1e-6, 0.01, 0.7, 1.96, 3.3, 8.0, 25.0])
def test_p_is_scipys(df, t):
    """The two-sided p agrees with SciPy's, far tails and large samples included, and does not know the sign."""
    assert two_sided(t, df) == pytest.approx(2 * scipy.stats.t.sf(t, df), rel=1e-9)
    assert two_sided(-t, df) == two_sided(t, df)


def test_ends():
    """No difference gives 1, an infinite statistic 0."""
    assert two_sided(0.0, 5) == 1.0
    assert two_sided(math.inf, 5) == 0.0


def test_textbook_value():
    """t(0.975, 10) is 2.228139 (Abramowitz and Stegun, table 26.10)."""
    assert two_sided_quantile(0.95, 10) == pytest.approx(2.228139, abs=5e-7)
