"""Corpus metrics: the interval and the test are of the number printed."""

import itertools

import numpy as np
import pytest

from clipstore.errors import InputError
from clipstore.significance import Settings, analyse, analyse_corpus


def ratio(sums):
    """Return a metric that is a ratio of two sums."""
    return sums[..., 0] / np.maximum(sums[..., 1], 1e-12)


def mean(sums):
    """Return a mean as a function of sums."""
    return ratio(sums)


def drawn(systems, items, seed=0, step=0.0):
    """Return hits and totals of each item; each system hits ``step`` more often."""
    rng = np.random.default_rng(seed)
    total = rng.integers(5, 15, (1, items))
    hits = rng.binomial(total, np.clip(0.4 + step * np.arange(systems)[:, None], 0, 1), (systems, items))
    return np.stack([hits, np.broadcast_to(total, hits.shape)], axis=2).astype(float)


def test_value_is_the_corpus_value():
    """The estimate is the metric of the sums, not the mean of the items."""
    statistics = drawn(2, 150)
    found = analyse_corpus(statistics, ratio)
    sums = statistics[0].sum(axis=0)
    assert found.systems[0].value == pytest.approx(sums[0] / sums[1])
    assert found.systems[0].ci.low < found.systems[0].value < found.systems[0].ci.high
    assert found.pairs[0].test == "swap"


def test_exact_swap_by_hand():
    """Ten items that differ: p is the share of all 2^10 swaps at least as far apart."""
    statistics = drawn(2, 10, seed=1)
    a, b = statistics
    gap = abs(ratio(a.sum(axis=0)) - ratio(b.sum(axis=0)))
    far = 0
    for picks in itertools.product([False, True], repeat=10):
        swap = np.array(picks)[:, None]
        far += abs(ratio(np.where(swap, b, a).sum(axis=0)) - ratio(np.where(swap, a, b).sum(axis=0))) >= gap - 1e-12
    test = analyse_corpus(statistics, ratio).pairs[0]
    assert test.p == pytest.approx(far / 1024)
    assert test.exact


def test_a_mean_as_corpus_metric():
    """A mean written as a corpus metric has the mean's interval and the sign flip's p, draw by draw."""
    scores = np.random.default_rng(3).normal(0.5, 0.1, (3, 200))
    scores[2] += 0.02
    statistics = np.stack([scores, np.ones_like(scores)], axis=2)
    corpus, plain = analyse_corpus(statistics, mean), analyse(scores)
    for one, other in zip(corpus.pairs, plain.pairs, strict=True):
        assert (one.p, one.delta) == pytest.approx((other.p, other.delta))
        assert (one.ci.low, one.ci.high) == pytest.approx((other.ci.low, other.ci.high))
    assert [one.ranks for one in corpus.systems] == [one.ranks for one in plain.systems]


def test_identical_and_nearly_identical():
    """Identical systems give p = 1, and so does one differing item."""
    statistics = drawn(1, 120)[[0, 0, 0]]
    statistics[2, 5, 0] += 1
    same, one, _ = analyse_corpus(statistics, ratio).pairs
    assert (same.identical, same.p) == (True, 1.0)
    assert (one.identical, one.p) == (False, 1.0)


def test_missing_items():
    """Items that a system lacks are left out of its value and of its pairs."""
    statistics = drawn(3, 200, step=0.1)
    statistics[1, :20] = np.nan
    found = analyse_corpus(statistics, ratio)
    assert [one.n for one in found.systems] == [200, 180, 200]
    assert [test.n for test in found.pairs] == [180, 200, 180]
    sums = statistics[:, 20:].sum(axis=1)
    assert found.pairs[0].delta == pytest.approx(ratio(sums[0]) - ratio(sums[1]))
    assert found.pairs[0].ci.low < found.pairs[0].delta < found.pairs[0].ci.high
    assert found.pairs[0].significant(0.05)


def test_no_effects_of_sentence_scores():
    """Beside a corpus value there are no effects per item, and no t-test."""
    test = analyse_corpus(drawn(2, 120), ratio, settings=Settings(test="ttest"))
    assert (test.pairs[0].p, test.pairs[0].dz, test.pairs[0].wins) == (None, None, None)
    assert "t-test" in test.notes[-1]


def test_shift_bootstrap():
    """The shift bootstrap tests the corpus value too."""
    statistics = drawn(3, 300, step=0.05)
    statistics[1] = statistics[0]
    same, far, _ = analyse_corpus(statistics, ratio, settings=Settings(test="bootstrap")).pairs
    assert same.p == 1.0
    assert far.p < 0.001
    assert far.resamples == 10_000


@pytest.mark.parametrize("items", [0, 1])
def test_few_items(items):
    """No item gives None; one gives a value without interval."""
    found = analyse_corpus(drawn(2, 2)[:, :items], ratio)
    assert (found.systems[0].value is None) == (items == 0)
    assert found.systems[0].ci is None
    assert found.pairs[0].ci is None


def test_wrong_shape():
    """Statistics of another shape are an input error."""
    with pytest.raises(InputError):
        analyse_corpus(np.zeros((2, 3)), ratio)


def test_rejections_at_the_nominal_level():
    """The swap test of a ratio rejects about 5 in 100 where two systems are of one quality."""
    rejected = sum(
        analyse_corpus(drawn(2, 60, seed=seed), ratio, settings=Settings(resamples=299, seed=seed)).pairs[0].p <= 0.05
        for seed in range(400)
    )
    assert 9 <= rejected <= 33


def test_missing_items_are_swapped_for_neither():
    """The p of a pair with unequal coverage is that of its common items, whatever else is compared."""
    statistics = drawn(3, 200, seed=4, step=0.01)
    statistics[1, :20] = np.nan
    blanked = statistics.copy()
    blanked[0, :20] = np.nan
    assert analyse_corpus(statistics, ratio).pairs[0].p == analyse_corpus(blanked[:2], ratio).pairs[0].p
