"""The gain curve: unbiased for samples, over the first N for beams, and what stands beside it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clipstore.rerank import gain
from clipstore.rerank.guards import guard
from clipstore.rerank.ragged import Ragged


def by_subsets(values: list[float], scores: list[float], n: int) -> float:
    """Return the mean value of the pick over all subsets of n."""
    rows = range(len(values))
    chosen = [max(subset, key=lambda row: (scores[row], -row)) for subset in itertools.combinations(rows, n)]
    return float(np.mean([values[row] for row in chosen]))


def test_best_of_n_is_the_mean_over_all_subsets() -> None:
    """E[y_N] = sum C(k-1, N-1) / C(M, N) y_(k), against every subset drawn out; ragged lists."""
    random = np.random.default_rng(1)
    counts = [5, 1, 4]
    lists = Ragged.of_counts(np.array(counts))
    values, scores = random.random(10), np.round(random.random(10), 1)
    got = gain.best_of(values, scores, lists, [1, 2, 3, 5, 9])
    for row, n in enumerate([1, 2, 3, 5, 9]):
        for image, (start, count) in enumerate(zip(lists.starts, counts, strict=True)):
            one = slice(start, start + count)
            wanted = by_subsets(values[one].tolist(), scores[one].tolist(), min(n, count))
            assert got[row, image] == pytest.approx(wanted)


def test_beams_are_judged_by_the_first_n() -> None:
    """Of the first two the second is picked; of all three the third."""
    lists = Ragged.of_counts(np.array([3]))
    got = gain.first_of(np.array([10.0, 20, 30]), np.array([1.0, 2, 3]), lists, [1, 2, 3])
    assert got[:, 0].tolist() == [10, 20, 30]
    assert gain.mean_of_first(np.array([10.0, 20, 30]), lists, [1, 2, 3])[:, 0].tolist() == [10, 15, 20]


def test_the_parts_of_a_gain() -> None:
    """First, random, picked, oracle and their differences, by hand; the curve ends at the pick of all."""
    lists = Ragged.of_counts(np.array([2, 2, 3]))
    values = np.array([1.0, 3, 5, 4, 2, 8, 2])
    standing = np.array([0.0, 1, 0, 1, 0, 0, 1])
    texts = ["a", "b", "c", "d", "e", "f", "e"]
    found = gain.measured(
        values, standing, lists, ["x", "y", "z"], texts, ordered=False, judge="j", upper_bound=True, note="n"
    )
    assert [one.mean for one in (found.first, found.picked, found.oracle)] == pytest.approx([8 / 3, 3, 16 / 3])
    assert found.random.mean == pytest.approx((2 + 4.5 + 4) / 3)
    assert found.over_first.mean == pytest.approx(1 / 3)
    assert found.regret.mean == pytest.approx(7 / 3)
    assert found.curve[-1].picked.mean == pytest.approx(3)
    assert found.curve[0].picked.mean == pytest.approx(found.random.mean)
    assert found.changed == pytest.approx(2 / 3), "z's pick is the same text as its first"
    assert [(one.key, one.difference) for one in found.gains] == [("x", 2)]
    assert [(one.key, one.difference) for one in found.losses] == [("y", -1)]
    assert found.over_first.ci is not None
    assert found.to_dict()["upper_bound"] is True


def test_the_sizes_of_a_curve() -> None:
    """All up to ten, then a few up to the most."""
    assert gain.curve_sizes(3) == [1, 2, 3]
    many = gain.curve_sizes(1000)
    assert many[:10] == list(range(1, 11))
    assert many[-1] == 1000
    assert len(many) < 20


def test_guards_count_what_a_reward_breaks() -> None:
    """A repeated pair of words, a word twice in a row, special strings, empty captions, length."""
    found = guard(["a dog and a dog", "green green grass", "a cat<|endoftext|>", "", "a man"])
    assert found.repeated == pytest.approx(2 / 5)
    assert (found.specials, found.empty, found.distinct) == (1, 1, 5)
    assert found.words == pytest.approx((5 + 3 + 2 + 0 + 2) / 5)
