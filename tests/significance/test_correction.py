"""Holm and Benjamini-Hochberg against statsmodels."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipstore.errors import InputError
from clipstore.significance import Settings, adjust, all_pairs, analyse, corrected
from clipstore.significance.settings import resamples_for

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.stats.multitest import multipletests


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from(["holm", "bh"]))
def test_adjusted_p_is_statsmodels(p_values, correction):
    """The whole vector is corrected at once, as statsmodels does, ties and order included (U4)."""
    method = {"holm": "holm", "bh": "fdr_bh"}[correction]
    assert adjust(p_values, correction) == pytest.approx(multipletests(p_values, method=method)[1].tolist())


def test_golden_holm():
    """Four p values, by hand: 0.01 x 4, 0.02 x 3, then no smaller than before."""
    assert adjust([0.04, 0.01, 0.02, 0.05]) == pytest.approx([0.08, 0.04, 0.06, 0.08])


def test_untested_pairs_do_not_count():
    """A pair without p stays without one and makes the others no harder."""
    assert adjust([0.01, None, 0.02]) == [0.02, None, 0.02]


def test_none_changes_nothing():
    """``none`` gives the raw p."""
    assert adjust([0.3, 0.01], "none") == [0.3, 0.01]


def test_one_family_over_slices():
    """Tests of several slices can be corrected as one family."""
    rng = np.random.default_rng(1)
    tests = [analyse(rng.normal(size=(3, 60)), settings=Settings(resamples=500)).pairs for _ in range(2)]
    joined = corrected([*tests[0], *tests[1]])
    assert [one.p_adj for one in joined] == adjust([one.p for one in joined])
    assert max(one.p for one in joined) <= max(one.p_adj for one in joined)


def test_resamples_grow_with_the_family():
    """435 pairs at alpha 0.05 need 87,000 draws, and the note says so."""
    draws, notes = resamples_for(435, Settings())
    assert draws == 87_000
    assert "87,000" in notes[0]
    assert "435" in notes[0]


def test_resamples_stay_when_enough():
    """A small family, no correction, or a t-test needs no more than was asked."""
    assert resamples_for(45, Settings()) == (10_000, ())
    assert resamples_for(435, Settings(correction="none")) == (10_000, ())
    assert resamples_for(435, Settings(test="ttest")) == (10_000, ())


def test_resamples_are_capped_with_a_note():
    """Beyond the cap the note names the smallest corrected p; a number that was asked is never lowered."""
    draws, notes = resamples_for(4950, Settings())
    assert draws == 200_000
    assert "capped" in notes[0]
    assert "0.025" in notes[0]
    assert resamples_for(4950, Settings(resamples=300_000))[0] == 300_000


def test_family_may_be_larger_than_the_call():
    """Where more tests are shown than one call makes, the draws follow all of them."""
    rng = np.random.default_rng(0)
    assert analyse(rng.normal(size=(2, 30)), settings=Settings(family=100)).resamples == 20_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"test": "z"},
        {"correction": "sidak"},
        {"resamples": 0},
        {"alpha": 0},
        {"level": 1},
        {"seed": -1},
        {"epsilon": -1},
    ],
)
def test_nonsense_is_refused(wrong):
    """A setting that makes no sense is an input error."""
    with pytest.raises(InputError):
        Settings(**wrong)


def test_smallest_corrected_p_can_reach_alpha():
    """With 30 systems one clear pair is still significant after Holm: the draws were raised for it."""
    rng = np.random.default_rng(5)
    scores = np.concatenate([rng.normal(size=(29, 120)), rng.normal(5, 1, size=(1, 120))])
    found = analyse(scores, all_pairs(30))
    assert all(test.significant(0.05) for test in found.pairs if test.b == 29)
