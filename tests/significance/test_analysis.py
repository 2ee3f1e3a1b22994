"""Intervals, ranks, effects and the odd cases of STATISTICS 3.2."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from clipstore.errors import InputError
from clipstore.significance import Settings, against, all_pairs, analyse, best, groups, streams
from clipstore.significance.bootstrap import resampled_means


def drawn(systems, items, seed=0, step=0.0, noise=0.05):
    """Return float32 scores of systems that share what each image is worth; each system is ``step`` better."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0.7, 0.1, items)
    means = step * np.arange(systems)[:, None]
    return (shared + means + rng.normal(0, noise, (systems, items))).astype(np.float32)


def test_one_system():
    """One system has an interval, rank 1, and no pair."""
    found = analyse(drawn(1, 300))
    assert found.pairs == ()
    assert found.systems[0].ranks == (1, 1)
    assert found.systems[0].ci.low < found.systems[0].value < found.systems[0].ci.high


@pytest.mark.parametrize("test", ["signflip", "ttest", "bootstrap"])
def test_one_item(test):
    """With one item there is a value and no interval; nothing breaks."""
    found = analyse(np.array([[0.5], [0.6]]), settings=Settings(test=test))
    assert [one.value for one in found.systems] == [0.5, 0.6]
    assert [one.ci for one in found.systems] == [None, None]
    assert found.pairs[0].ci is None
    assert found.pairs[0].p == (1.0 if test == "signflip" else None)


@pytest.mark.parametrize("test", ["signflip", "ttest", "bootstrap"])
def test_no_items(test):
    """With no item everything is None."""
    found = analyse(np.empty((2, 0)), settings=Settings(test=test))
    assert [(one.n, one.value, one.ci) for one in found.systems] == [(0, None, None)] * 2
    assert (found.pairs[0].p, found.pairs[0].delta, found.pairs[0].win_rate) == (None, None, None)
    assert found.pairs[0].verdict(0.05) == "not tested (n = 0)"


def test_few_items_have_students_interval():
    """Below 100 items the interval is Student's, as SciPy gives it, for means and differences."""
    scores = drawn(2, 99).astype(np.float64)
    found = analyse(scores)
    low, high = scipy.stats.t.interval(0.95, 98, scores[0].mean(), scipy.stats.sem(scores[0]))
    assert (found.systems[0].ci.low, found.systems[0].ci.high) == pytest.approx((low, high), rel=1e-12)
    gap = scores[0] - scores[1]
    low, high = scipy.stats.t.interval(0.95, 98, gap.mean(), scipy.stats.sem(gap))
    assert (found.pairs[0].ci.low, found.pairs[0].ci.high) == pytest.approx((low, high), rel=1e-9)
    assert ("ci", "student") in found.fields()


def test_many_items_have_the_bootstraps_interval():
    """From 100 items on it is the percentile bootstrap, within Monte Carlo error of SciPy's."""
    scores = drawn(2, 100)
    ci = analyse(scores).systems[0].ci
    oracle = scipy.stats.bootstrap((scores[0],), np.mean, method="percentile", n_resamples=10_000, rng=1)
    assert ci.kind == "bootstrap"
    assert (ci.low, ci.high) == pytest.approx(tuple(oracle.confidence_interval), abs=0.001)
    assert ("boot", "10000") in analyse(scores).fields()


def test_resamples_are_shared():
    """Every system sees the same resamples: the interval of a constant difference has no width."""
    scores = drawn(1, 200).astype(np.float64)
    found = analyse(np.concatenate([scores, scores + 0.25]))
    assert found.pairs[0].ci.low == pytest.approx(-0.25)
    assert found.pairs[0].ci.high == pytest.approx(-0.25)
    assert found.systems[0].ranks == (2, 2)
    assert found.systems[1].ranks == (1, 1)


def test_counts_are_resamples():
    """A row of counts sums to the number of items, whatever the block size."""
    whole = np.concatenate(list(streams.counts(0, 57, 40)))
    pieces = np.concatenate(list(streams.counts(0, 57, 40, cells=57 * 3)))
    assert (whole.sum(axis=1) == 57).all()
    assert (whole == pieces).all()
    assert (np.concatenate(list(streams.coins(0, 57, 40))) == np.concatenate(list(streams.coins(0, 57, 40, 57)))).all()


def test_same_system_twice():
    """A system given twice shares ranks with itself and is identical to itself."""
    scores = drawn(2, 150)
    found = analyse(scores[[0, 1, 0]])
    assert found.systems[0].ranks == found.systems[2].ranks
    assert found.pairs[1].identical
    assert not found.pairs[0].identical


def test_constant_scores():
    """Constant scores have an interval without width; equal ones are identical, others differ everywhere."""
    found = analyse(np.array([[0.5] * 120, [0.5] * 120, [0.25] * 120]))
    assert (found.systems[0].ci.low, found.systems[0].ci.high) == pytest.approx((0.5, 0.5))
    assert found.systems[0].ranks == (1, 1)
    same, other, _ = found.pairs
    assert (same.identical, same.p, same.dz) == (True, 1.0, 0.0)
    assert other.p == pytest.approx(1 / 10_001)
    assert other.dz is None


def test_clipped_scores():
    """Negative cosines give CLIP-S 0: many zeros in both systems are ties and no trouble."""
    scores = np.maximum(drawn(2, 400, noise=0.4) - 0.7, 0)
    test = analyse(scores).pairs[0]
    both = int(((scores == 0).all(axis=0)).sum())
    assert test.ties >= both > 0
    assert test.wins + test.ties + test.losses == 400


def test_different_coverage():
    """A system's value is over its own items; a pair's over the common ones, with n said."""
    scores = drawn(3, 300)
    scores[2, :18] = np.nan
    found = analyse(scores)
    assert [one.n for one in found.systems] == [300, 300, 282]
    assert [test.n for test in found.pairs] == [300, 282, 282]
    assert found.systems[2].value == pytest.approx(np.nanmean(scores[2], dtype=np.float64))
    gap = (scores[0].astype(float) - scores[2])[18:]
    assert found.pairs[1].delta == pytest.approx(gap.mean())
    assert found.pairs[1].ci.low < gap.mean() < found.pairs[1].ci.high
    assert found.pairs[1].ci.high - found.pairs[1].ci.low == pytest.approx(2 * 1.96 * gap.std() / np.sqrt(282), rel=0.1)


def test_means_with_gaps_are_those_of_the_rest():
    """The mean of a resample is over the items that a system has."""
    columns = np.array([[1.0, 2.0, np.nan], [5.0, np.nan, np.nan]])
    means = resampled_means(columns, 200, 0)
    assert np.nanmin(means[0]) >= 1
    assert np.nanmax(means[0]) <= 2
    assert set(np.unique(means[1][~np.isnan(means[1])])) == {5.0}


def test_all_nan_system():
    """A system without any number has none, and stands in nobody's way."""
    scores = drawn(2, 150)
    scores[1] = np.nan
    found = analyse(scores)
    assert (found.systems[1].value, found.systems[1].ci, found.systems[1].ranks) == (None, None, None)
    assert found.systems[0].ranks == (1, 1)
    assert found.pairs[0].p is None


def test_forty_systems():
    """40 systems against a baseline: 39 tests, the family printed, ranks from 1 to 40."""
    found = analyse(drawn(40, 200, step=0.02), against(0, 40))
    assert len(found.pairs) == found.family == 39
    assert found.systems[39].ranks == (1, 1)
    assert found.systems[0].ranks == (40, 40)
    assert ("holm", "39") in found.fields()
    assert all(test.delta > 0 and test.b == 0 for test in found.pairs)


def test_lower_is_better():
    """Where lower is better the ranks and the wins turn round; deltas do not."""
    scores = drawn(2, 200, step=0.2)
    up, down = analyse(scores), analyse(scores, settings=Settings(higher_is_better=False))
    assert up.systems[1].ranks == down.systems[0].ranks == (1, 1)
    assert up.pairs[0].wins == down.pairs[0].losses
    assert up.pairs[0].delta == down.pairs[0].delta


def test_effects():
    """d_z, win rate and ties are as defined, with the epsilon in the result."""
    gap = np.array([0.2, 0.1, -0.3, 0.00005, 0.4])
    test = analyse(np.stack([gap, np.zeros(5)])).pairs[0]
    assert (test.wins, test.ties, test.losses, test.epsilon) == (3, 1, 1, 1e-4)
    assert test.win_rate == pytest.approx(3.5 / 5)
    assert test.dz == pytest.approx(gap.mean() / gap.std(ddof=1))


def test_bootstrap_test_agrees_with_t():
    """The shift bootstrap agrees with the t-test on many items, and counts its draws."""
    scores = drawn(2, 400, seed=3, step=0.006)
    truth = scipy.stats.ttest_rel(scores[0].astype(float), scores[1].astype(float)).pvalue
    test = analyse(scores, settings=Settings(test="bootstrap")).pairs[0]
    assert test.p == pytest.approx(truth, abs=0.02)
    assert test.resamples == 10_000
    assert not test.exact


def test_wording():
    """A test never says "equal"."""
    test = analyse(drawn(2, 300)).pairs[0]
    assert test.verdict(0.05) == "no difference detected at α = 0.05 (n = 300)"
    assert analyse(drawn(2, 300, step=0.1)).pairs[0].verdict(0.05).startswith("difference detected")


def test_groups_and_best():
    """Systems 2 and 3 can't be told apart and are best; the others stand alone."""
    means = np.array([0.0, 0.5, 1.0, 1.001])[:, None]
    found = analyse(means + np.random.default_rng(2).normal(0, 0.2, (4, 300)))
    assert set(best(found)) == {2, 3}
    assert [set(group) for group in groups(found)] == [{2, 3}, {1}, {0}]


def test_groups_overlap():
    """Not to be told apart is not transitive, so a middle system may be in two groups."""
    noise = np.random.default_rng(1).normal(0, 1, (3, 400))
    noise -= noise.mean(axis=1, keepdims=True)
    found = analyse(noise + np.array([[0.0], [0.1], [0.22]]))
    assert groups(found) == ((2, 1), (1, 0))


def decided(count, alike):
    """Return the statistics of systems 0, 1, ... from best to worst, of which only these pairs can't be told apart."""
    found = analyse(drawn(count, 120, step=-0.2))
    pairs = tuple(replace(one, p_adj=1.0 if (one.a, one.b) in alike else 0.0) for one in found.pairs)
    return replace(found, pairs=pairs)


def test_groups_need_not_follow_the_ranks():
    """The best and the third are alike, the second differs from both: the two stand together without it."""
    assert groups(decided(3, {(0, 2)})) == ((0, 2), (1,))


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.sampled_from(all_pairs(n) or [(0, 0)])))))
@settings(max_examples=60, deadline=None)
def test_groups_say_what_the_tests_say(drawn_pairs):
    """Whatever the tests say: two systems share a group exactly where no difference was detected, each has a group."""
    count, alike = drawn_pairs
    found = groups(decided(count, alike))
    together = {(a, b) for group in found for a in group for b in group if a < b}
    assert together == alike - {(0, 0)}
    assert {row for group in found for row in group} == set(range(count))


@pytest.mark.parametrize(
    ("scores", "pairs"),
    [
        (np.zeros(3), None),
        (np.array([["a"]]), None),
        (np.array([[np.inf, 1.0]]), None),
        (np.zeros((2, 5)), [(0, 2)]),
        (np.zeros((2, 5)), [(1, 1)]),
    ],
)
def test_wrong_input_is_named(scores, pairs):
    """No matrix, no numbers, infinities, or a pair that is none: an input error."""
    with pytest.raises(InputError):
        analyse(scores, pairs)


def test_order_of_pairs_is_kept():
    """Results stand in the order asked and do not depend on it."""
    scores = drawn(3, 130)
    forth, back = analyse(scores, [(0, 1), (1, 2)]).pairs, analyse(scores, [(1, 2), (0, 1)]).pairs
    assert forth == back[::-1]


def test_rejections_at_the_nominal_level():
    """Under no difference, 400 pairs of 200 items reject about 5 in 100, and intervals cover."""
    rng = np.random.default_rng(20)
    covered = rejected = 0
    for seed in range(400):
        scores = rng.normal(0.7, 0.1, 200) + rng.normal(0, 0.05, (2, 200))
        test = analyse(scores, settings=Settings(resamples=499, seed=seed)).pairs[0]
        rejected += test.p <= 0.05
        covered += test.ci.low <= 0 <= test.ci.high
    assert 9 <= rejected <= 33
    assert 0.92 <= covered / 400 <= 0.975
