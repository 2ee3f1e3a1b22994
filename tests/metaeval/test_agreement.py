"""Accuracies of pairs: ties, tied votes, draws of references."""

import numpy as np
import pytest
from metaeval_made import pairs

from clipstore.errors import InputError
from clipstore.metaeval import Pairs, agreement
from clipstore.metaeval.published import published

FIRST = np.array([1.0, 2.0, 3.0, 4.0])
SECOND = np.array([0.0, 2.0, 5.0, np.nan])


@pytest.mark.parametrize(("ties", "earned"), [("half", [1, 0.5, 1]), ("wrong", [1, 0, 1]), ("b", [1, 0, 1])])
def test_rules_for_equal_scores(ties, earned):
    """Half a point, none, or a vote for B; a missing score earns nothing and is NaN."""
    labels = np.array([0, 0, 1, 0])
    found = agreement.points(FIRST, SECOND, labels, ties, 0)
    assert found[:3].tolist() == earned
    assert np.isnan(found[3])
    assert agreement.points(FIRST, SECOND, np.array([0, 1, 1, 0]), "b", 0)[1] == 1


def test_coins_are_fair_and_repeatable():
    """Equal scores under ``random``: half are right, the same half under one seed."""
    same = np.zeros(4000)
    found = agreement.points(same, same, same, "random", 7)
    assert found.mean() == pytest.approx(0.5, abs=0.03)
    assert np.array_equal(found, agreement.points(same, same, same, "random", 7))


def test_a_tied_vote_is_a_coin_each_draw():
    """Pairs on which people split even: any metric gets half of them."""
    judged = pairs([-1] * 2000, ["x"] * 2000, draws=5)
    scores = (np.ones(2000), np.zeros(2000))
    found = agreement.preferred("m", [scores], judged, "wrong", 0, 0)
    assert found.accuracy["x"] == pytest.approx(0.5, abs=0.02)


def test_accuracy_is_the_mean_over_draws():
    """Right in one draw of two is half."""
    judged = pairs([0, 0], ["x", "y"], draws=2)
    right, wrong = (np.ones(2), np.zeros(2)), (np.zeros(2), np.ones(2))
    found = agreement.preferred("m", [right, wrong], judged, "random", 0, 0)
    assert found.accuracy == {"x": 0.5, "y": 0.5}
    assert (found.n, found.mean) == (2, 0.5)


def test_categories_weigh_the_same():
    """The mean is over categories, whatever their sizes."""
    judged = pairs([0, 0, 0, 0], ["x", "x", "x", "y"])
    found = agreement.preferred("m", [(np.ones(4), np.array([0, 0, 0, 2.0]))], judged, "random", 100, 0)
    assert found.accuracy == {"x": 1.0, "y": 0.0}
    assert found.mean == 0.5
    assert found.intervals["x"] == (1.0, 1.0)


def test_columns_must_be_of_one_length():
    """A pair without label is refused, and so is an empty benchmark."""
    with pytest.raises(InputError, match="different lengths"):
        Pairs("p", ("i",), ("a",), ("b",), (((),),), np.array([0, 1]), ("x",))
    with pytest.raises(InputError, match="no row is left"):
        pairs([], [])


def test_published_numbers_by_any_spelling():
    """CLIPScore's spelling finds CLIP-S; what no paper prints is None; JSON holds raw values with the source."""
    assert published("flickr8k-expert", "CLIPScore").values == {"tau_b": 51.1, "tau_c": 51.2}
    assert published("flickr8k-cf", "bleu_4").values["tau_b"] == 16.9
    assert published("pascal50s", "cider").values["mean"] == 79.6
    assert published("foil", "ref-clip-s").values == {"1 reference": 91.0, "4 references": 92.6}
    assert published("ratings", "cider") is None
    assert published("composite", "mine") is None
    made = published("composite", "clip-s").to_dict()
    assert made["tau_c"] == 0.538
    assert "2104.08718" in made["source"]
