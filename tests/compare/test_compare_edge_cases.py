"""Every edge case of STATISTICS 3.2, through the comparison that a user sees."""

import json
import math

import numpy as np
import pytest
from made import drawn, measured

from clipstore.compare import compare
from clipstore.errors import InputError, Unpaired
from clipstore.significance import Settings

QUICK = Settings(resamples=500)


def quick(scores, **more):
    """Compare made-up scores with few resamples."""
    return compare(measured(scores), settings=more.pop("settings", QUICK), **more)


def test_one_system_has_a_value_and_an_interval_and_no_test():
    """One system: no pairs, no grid, no ranks to share; its interval stands."""
    done = quick(drawn(1, 120))
    assert done.pairs == ()
    assert done.grid() == []
    assert "ranks" not in str(done)
    assert done.to_dict()["systems"][0]["metrics"]["clip_s"]["ci"] is not None


def test_one_image_has_a_value_and_no_interval():
    """With n = 1: null intervals, a p of 1 and no crash."""
    done = quick({"a": [0.5], "b": [0.7]})
    estimate = done.to_dict()["systems"][0]["metrics"]["clip_s"]
    assert estimate == {"mean": pytest.approx(0.5), "n": 1, "ci": None, "rank_ci": None}
    assert done.pairs[0]["p"] == 1
    assert str(done)


def test_identical_systems_are_called_identical():
    """The same captions twice: p = 1 and the word identical, whatever the seed."""
    scores = drawn(1, 200)["s0"]
    done = quick({"a": scores, "b": scores})
    assert (done.pairs[0]["p"], done.pairs[0]["p_adj"], done.pairs[0]["identical"]) == (1, 1, True)
    assert done.pairs[0]["verdict"] == "identical (n = 200)"
    assert "identical on every image (p = 1): a = b" in str(done)
    assert "identical" in quick({"a": scores, "b": scores}, baseline="a").to_pipe().splitlines()[2]


def test_the_same_system_among_others_changes_no_other_mean():
    """A system given twice under two names is one more test in the family, and nothing else."""
    scores = drawn(2, 150)
    twice = {**scores, "again": scores["s0"]}
    assert [one["metrics"]["clip_s"]["mean"] for one in quick(twice).to_dict()["systems"][:2]] == [
        one["metrics"]["clip_s"]["mean"] for one in quick(scores).to_dict()["systems"]
    ]
    assert "holm:3" in str(quick(twice).signature)


def test_one_caption_differs():
    """Systems that differ on one of 1,000 images: p = 1, where some tools say 0.0001."""
    scores = drawn(1, 1000)["s0"]
    other = scores.copy()
    other[17] += 0.2
    assert quick({"a": scores, "b": other}).pairs[0]["p"] == 1


def test_six_differences_of_one_sign():
    """Six images that all favour one system: p = 2/64 exactly."""
    scores = np.full(120, 0.5)
    other = scores.copy()
    other[:6] += [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    pair = quick({"a": scores, "b": other}).pairs[0]
    assert pair["p"] == pytest.approx(0.03125)
    assert pair["exact"]


def test_different_coverage_is_refused_and_counted():
    """Systems on different images are not compared in silence; the message says how to go on."""
    scores = drawn(2, 50)
    scores["s1"][[3, 4]] = np.nan
    with pytest.raises(Unpaired, match=r"s1 lacks 2 of 50 \(first: img3, img4\).*48 that all have with --missing skip"):
        quick(scores)


def test_different_coverage_with_skip_uses_the_common_images():
    """With skip both means are over the same images, the note and the signature say so."""
    scores = drawn(2, 120)
    scores["s1"][[3, 4]] = np.nan
    done = quick(scores, missing="skip")
    kept = np.delete(np.arange(120), [3, 4])
    found = [one["metrics"]["clip_s"]["mean"] for one in done.to_dict()["systems"]]
    assert found == [pytest.approx(np.float32(scores[name])[kept].mean(), abs=1e-6) for name in ("s0", "s1")]
    assert "|missing:skip|common:118/120@" in str(done.signature)
    assert "compared on the 118 of 120 images that every system covers (s1 lacks 2)" in str(done)


def test_nothing_in_common_is_refused():
    """Systems without a common image: an error also with skip."""
    with pytest.raises(Unpaired, match="nothing to compare"):
        quick({"a": [0.1, math.nan], "b": [math.nan, 0.2]}, missing="skip")


def test_an_image_that_nobody_has_is_nobodys_lack():
    """NaN in every system (an image that can't be read) is left out without a word about coverage."""
    scores = drawn(2, 120)
    for one in scores.values():
        one[7] = np.nan
    assert quick(scores).pairs[0]["n"] == 119


def test_forty_systems_are_compared_and_more_ask_for_a_baseline():
    """40 systems make a table; 41 ask which pairs are meant."""
    done = quick(drawn(40, 30), settings=Settings(resamples=200, cap=200))
    assert len(done.pairs) == 780
    assert len(done.main()[0][0].rows) == 40
    with pytest.raises(InputError, match=r"41 systems make 820 pairs: .*--baseline NAME.*--all-pairs"):
        quick(drawn(41, 30))


def test_above_forty_systems_a_baseline_or_all_pairs_do():
    """With a baseline the family is S - 1; with all pairs the resamples are capped and a note says so."""
    capped = Settings(resamples=200, cap=300)
    assert len(quick(drawn(41, 30), baseline="s3", settings=capped).pairs) == 40
    done = quick(drawn(41, 30), all_pairs=True, settings=capped)
    assert len(done.pairs) == 820
    assert "resamples capped at 300" in str(done)


def test_seed_zero_is_a_seed():
    """Seed 0 is in the signature, repeats itself, and differs from seed 1."""
    scores = drawn(2, 200, step=0.005)
    first, again, other = (quick(scores, settings=Settings(resamples=300, seed=seed)) for seed in (0, 0, 1))
    assert "|seed:0|" in str(first.signature)
    assert first.to_json() == again.to_json()
    assert first.pairs[0]["p"] != other.pairs[0]["p"]


def test_constant_scores():
    """Every score the same: no spread, an interval of no width, nothing divided by 0."""
    done = quick({"a": np.full(150, 0.4), "b": np.full(150, 0.5)})
    pair = done.pairs[0]
    assert pair["dz"] is None
    assert pair["p"] == pytest.approx(1 / 501)
    assert json.loads(done.to_json())


def test_negative_cosines_are_zero_scores():
    """Scores that were clipped at 0 for every image: 0.0000, identical, no sign."""
    done = quick({"a": np.zeros(120), "b": np.zeros(120)}, baseline="a")
    assert done.to_pipe().splitlines()[1].split("\t")[3:7] == ["0.0000", "0.0000-0.0000", "baseline", ""]
    assert done.to_pipe().splitlines()[2].split("\t")[5:7] == ["0.0000", "identical"]


def test_no_system_is_refused():
    """Nothing to compare is an error with a message."""
    with pytest.raises(InputError, match="no systems"):
        compare([])
