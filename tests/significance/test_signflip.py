"""The sign-flip test: exact values, ties, SciPy as oracle, and what it does not depend on."""

import numpy as np
import pytest
import scipy.stats

from clipstore.significance import Settings, analyse, streams
from clipstore.significance.signflip import sign_flip


def p_of(a, b, **options):
    """Return the p of two systems."""
    (test,) = analyse(np.stack([a, b]), settings=Settings(**options)).pairs
    return test.p


def exact(differences):
    """Return the exact p by SciPy."""
    result = scipy.stats.permutation_test(
        (differences, np.zeros_like(differences)),
        lambda x, y, axis: np.sum(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    return result.pvalue


def test_six_differences_of_one_sign():
    """Six differences of one sign give 2 / 2^6 = 0.03125, exactly."""
    b = np.zeros(200)
    a = b.copy()
    a[:6] = [0.1, 0.2, 0.3, 0.1, 0.05, 0.4]
    (test,) = analyse(np.stack([a, b])).pairs
    assert test.p == 0.03125
    assert test.exact
    assert test.resamples is None


def test_one_caption_differs():
    """One differing caption of 1,000 proves nothing: p = 1 (U1; sacrebleu gives 0.0001)."""
    b = np.full(1000, 0.7, np.float32)
    a = b.copy()
    a[3] = 0.9
    assert p_of(a, b) == 1.0


def test_identical_systems():
    """Identical systems give p = 1 and the word "identical" (U1)."""
    a = np.random.default_rng(0).normal(size=500)
    (test,) = analyse(np.stack([a, a])).pairs
    assert (test.p, test.p_adj, test.identical) == (1.0, 1.0, True)
    assert test.verdict(0.05) == "identical (n = 500)"


@pytest.mark.parametrize("items", [3, 8, 12])
@pytest.mark.parametrize("tied", [False, True])
def test_enumeration_is_scipys(items, tied):
    """Few differences are enumerated, with ties counted, as SciPy does."""
    rng = np.random.default_rng(items)
    for _ in range(10):
        differences = rng.choice([-0.2, -0.1, 0.1, 0.2], items) if tied else rng.normal(size=items)
        assert p_of(differences, np.zeros(items)) == pytest.approx(exact(differences), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_differences_beyond_enumeration(dtype):
    """21 differences of equal size: ties are counted in either precision (exact p 0.3833; 0.189 if they are lost)."""
    wins, n = 13, 21
    base = np.random.default_rng(2).uniform(0.5, 0.9, n).astype(dtype)
    moved = (base + np.where(np.arange(n) < wins, dtype(0.1), dtype(-0.1))).astype(dtype)
    truth = scipy.stats.binomtest(wins, n).pvalue
    assert p_of(moved, base, resamples=40_000) == pytest.approx(truth, abs=0.012)


def test_sampling_meets_enumeration():
    """17 differences are sampled; the p lies within Monte Carlo error of the full count."""
    differences = np.random.default_rng(4).normal(0.2, 1, 17)
    signs = 1 - 2 * ((np.arange(1 << 17)[:, None] >> np.arange(17)) & 1)
    truth = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) * (1 - 1e-12))
    assert p_of(differences, np.zeros(17), resamples=40_000) == pytest.approx(truth, abs=0.012)


def test_never_zero():
    """The least p of a sample is 1 / (B + 1)."""
    assert p_of(np.arange(1.0, 201.0), np.zeros(200), resamples=999) == pytest.approx(1 / 1000)


def test_agrees_with_the_t_test():
    """On many items the sign flip and the paired t-test agree."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(0.02, 0.2, (2, 800))
    truth = scipy.stats.ttest_rel(a, b).pvalue
    assert p_of(a, b) == pytest.approx(truth, abs=0.02)
    assert p_of(a, b, test="ttest") == pytest.approx(truth, rel=1e-9)


def test_zero_differences_do_not_count():
    """Items where nothing differs change no p."""
    differences = np.random.default_rng(7).normal(0.3, 1, 12)
    padded = np.concatenate([differences, np.zeros(3000)])
    assert p_of(padded, np.zeros_like(padded)) == p_of(differences, np.zeros(12))


def test_signs_do_not_depend_on_the_block(monkeypatch):
    """Block size changes memory, not numbers."""
    scores = np.random.default_rng(8).normal(size=(4, 333))
    whole = analyse(scores)
    monkeypatch.setattr(streams, "CELLS", 333 * 7)
    pieces = analyse(scores)
    assert [test.p for test in whole.pairs] == [test.p for test in pieces.pairs]
    assert [test.ci.low for test in whole.pairs] == pytest.approx([test.ci.low for test in pieces.pairs], abs=1e-14)


def test_p_does_not_depend_on_the_other_systems():
    """A pair has the same p alone and among others: every pair sees the same signs."""
    scores = np.random.default_rng(9).normal(size=(6, 400))
    together = {(test.a, test.b): test.p for test in analyse(scores).pairs}
    assert analyse(scores[[1, 4]]).pairs[0].p == together[1, 4]


def test_seeds():
    """One seed gives one p; another seed another; 0 is a seed like any other."""
    a, b = np.random.default_rng(10).normal(0.1, 1, (2, 300))
    assert p_of(a, b, seed=0) == p_of(a, b, seed=0)
    assert len({p_of(a, b, seed=seed, resamples=3000) for seed in (0, 1, 2, 12345)}) > 1


def test_swapping_the_systems_keeps_p():
    """(a, b) and (b, a) have one p and opposite deltas."""
    scores = np.random.default_rng(11).normal(size=(2, 150))
    one, other = analyse(scores, [(0, 1), (1, 0)]).pairs
    assert one.p == other.p
    assert one.delta == pytest.approx(-other.delta)
    assert (one.wins, one.losses) == (other.losses, other.wins)


def test_unequal_coverage_uses_common_items():
    """Items that one system lacks are left out of its pairs, and p is that of the rest."""
    scores = np.random.default_rng(12).normal(size=(3, 240))
    scores[1, 200:] = np.nan
    (flipped,) = sign_flip(scores, [(0, 1)], 5000, 3, single=False)
    blanked = scores.copy()
    blanked[0, 200:] = np.nan
    (again,) = sign_flip(blanked, [(0, 1)], 5000, 3, single=False)
    assert flipped == again
    test = analyse(scores).pairs[0]
    assert test.n == 200
    assert test.delta == pytest.approx((scores[0] - scores[1])[:200].mean())


def test_cancellation_keeps_ties():
    """Large equal parts of two scores take no tie away from their small differences."""
    rng = np.random.default_rng(13)
    base = rng.uniform(0.2, 2.0, 1000)
    moved = base.copy()
    moved[:40] += np.where(np.arange(40) < 26, 2**-10, -(2**-10))
    assert p_of(moved, base, resamples=40_000) == pytest.approx(scipy.stats.binomtest(26, 40).pvalue, abs=0.01)
