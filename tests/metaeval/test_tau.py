"""Taus and correlations of weighted rows, against SciPy and against rows repeated by hand."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clipstore.errors import InputError
from clipstore.metaeval import intervals, kendall
from clipstore.metaeval.tau import STATISTICS, Ordered

SMALL = st.lists(st.tuples(st.integers(0, 4), st.integers(-2, 3)), min_size=2, max_size=40)


def scipys(x, y):
    """Return the four statistics as SciPy computes them."""
    return [
        stats.kendalltau(x, y).statistic,
        stats.kendalltau(x, y, variant="c").statistic,
        stats.spearmanr(x, y).statistic,
        stats.pearsonr(x, y).statistic,
    ]


@pytest.mark.parametrize(("kinds_x", "kinds_y"), [(5, 4), (1000, 7), (6, 100), (10**9, 10**9), (2, 2)])
def test_the_numbers_are_scipys(kinds_x, kinds_y):
    """Few or many distinct values on either side: tau_b, tau_c, Spearman and Pearson are SciPy's."""
    rng = np.random.default_rng(kinds_x)
    x = rng.integers(0, kinds_x, 300).astype(float)
    y = rng.integers(0, kinds_y, 300) + (x > np.median(x)) * (kinds_y / 3)
    found = kendall(x, y)
    assert [getattr(found, name) for name in STATISTICS] == pytest.approx(scipys(x, y), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(SMALL, st.randoms())
def test_weights_are_repeats(rows, random):
    """A row that counts three times is the row three times; one that counts zero times is not there."""
    x, y = (np.array(one, float) for one in zip(*rows, strict=True))
    times = [random.randint(0, 3) for _ in rows]
    times[0] = max(1, times[0])
    weighted = Ordered(x, y).agreement(np.array(times, float))
    repeated = kendall(np.repeat(x, times), np.repeat(y, times))
    for name in STATISTICS:
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-9, nan_ok=True)


def test_a_constant_variable_has_no_agreement():
    """Where one side never varies every statistic is NaN, not 0."""
    found = kendall([1, 1, 1], [1, 2, 3])
    assert all(np.isnan(getattr(found, name)) for name in STATISTICS)


def test_missing_numbers_are_refused():
    """NaN or unequal lengths are an error: the caller leaves rows out and counts them."""
    with pytest.raises(InputError, match="without NaN"):
        kendall([1, np.nan], [1, 2])
    with pytest.raises(InputError, match="equal length"):
        kendall([1, 2, 3], [1, 2])


def test_the_interval_covers_and_is_repeatable():
    """Equal seeds give equal intervals, another seed another; the point lies inside."""
    rng = np.random.default_rng(1)
    images = np.repeat(np.arange(60), 4)
    x = rng.normal(size=240)
    y = np.round(x + rng.normal(size=240))
    ordered = Ordered(x, y)
    first = intervals.of_agreement(ordered, images, 200, 3)
    assert first == intervals.of_agreement(ordered, images, 200, 3)
    assert first != intervals.of_agreement(ordered, images, 200, 4)
    low, high = first["tau_c"]
    assert low < ordered.agreement().tau_c < high


def test_images_are_the_resampled_unit():
    """Twenty rows an image that say the same widen the interval to that of the images."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=50)
    y = x + rng.normal(size=50)
    once = intervals.of_agreement(Ordered(x, y), np.arange(50), 300, 0)["pearson"]
    many = intervals.of_agreement(Ordered(np.repeat(x, 20), np.repeat(y, 20)), np.repeat(np.arange(50), 20), 300, 0)
    assert many["pearson"] == pytest.approx(once, abs=1e-9)


def test_no_resamples_no_interval():
    """Zero resamples: None for each statistic."""
    made = intervals.of_agreement(Ordered(np.arange(4.0), np.arange(4.0)), np.arange(4), 0, 0)
    assert set(made.values()) == {None}


def test_the_whole_of_flickr8k_cf_is_resampled_in_a_minute():
    """47,830 pairs, twelve distinct ratings: 20 resamples take less than a fiftieth of a minute in processor time."""
    rng = np.random.default_rng(3)
    ordered = Ordered(rng.normal(size=47_830), rng.integers(0, 12, 47_830) / 11)
    images = np.repeat(np.arange(1000), 48)[:47_830]
    start = time.process_time()
    intervals.of_agreement(ordered, images, 20, 0)
    assert (time.process_time() - start) * 50 < 60
