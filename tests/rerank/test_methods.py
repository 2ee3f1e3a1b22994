"""Every selector against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from clipstore.rerank import methods
from clipstore.rerank.ragged import Ragged

# Two images: three candidates, then two.
LISTS = Ragged.of_counts(np.array([3, 2]))
TEXTS = np.array([0, 1, 2, 3, 4])
# In the plane: e0 = (1, 0), e1 = (0, 1), e2 = (0.6, 0.8); then e3 = (1, 0), e4 = (0.8, 0.6).
VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [1, 0], [0.8, 0.6]], np.float32)


def test_the_best_of_each_list_is_the_earliest_of_equals() -> None:
    """Argmax within each list, ragged or not; a tie goes to the lower place."""
    assert LISTS.best(np.array([1.0, 3, 3, 5, 5])).tolist() == [1, 3]
    even = Ragged.of_counts(np.array([2, 2]))
    assert even.best(np.array([1.0, 1, 0, 2])).tolist() == [0, 3]


def test_the_order_of_a_list_keeps_equals_in_their_order() -> None:
    """Best first, list after list, stable."""
    assert LISTS.order(np.array([1.0, 3, 3, 5, 5])).tolist() == [1, 2, 0, 3, 4]
    assert LISTS.ranks(np.array([1.0, 3, 3, 5, 6])).tolist() == [3, 1, 1, 2, 1]


def test_z_is_within_the_image() -> None:
    """Less the image's mean, over its population deviation; where all are equal it is 0."""
    got = methods.zscores(np.array([1.0, 2, 3, 7, 7]), LISTS)
    assert got == pytest.approx([-(1.5**0.5), 0, 1.5**0.5, 0, 0])


def test_a_repeated_caption_counts_once_in_z() -> None:
    """Texts 0, 0, 1 with values 1, 1, 3 have the mean of 1 and 3."""
    got = methods.zscores(np.array([1.0, 1, 3, 0, 4]), LISTS, np.array([0, 0, 1, 2, 3]))
    assert got == pytest.approx([-1, -1, 1, -1, 1])


def test_mix_weighs_both_z() -> None:
    """0.75 z(clip) + 0.25 z(logp), worked out for three candidates."""
    clip, logp = np.array([1.0, 2, 3, 0, 4]), np.array([-1.0, -2, -3, -1, -1])
    z = 1.5**0.5
    assert methods.mix(clip, logp, 0.75, LISTS, TEXTS) == pytest.approx([-0.5 * z, 0, 0.5 * z, -0.75, 0.75], abs=1e-8)


def test_mix_at_its_ends_is_the_pure_selector() -> None:
    """Weight 1 gives CLIP-S itself, weight 0 the log-probabilities."""
    clip, logp = np.array([1.0, 2, 3, 0, 4]), np.array([-1.0, -2, -3, -1, -1])
    assert methods.mix(clip, logp, 1.0, LISTS, TEXTS) is clip
    assert methods.mix(clip, logp, 0.0, LISTS, TEXTS) is logp


def test_two_candidates_that_disagree_at_half_go_to_the_lower_rank() -> None:
    """Rounding does not decide: z of two is +1 and -1 both ways, and the sum is a tie."""
    pair = Ragged.of_counts(np.array([2]))
    got = methods.mix(np.array([0.1, 0.7]), np.array([-3.3, -8.9]), 0.5, pair, np.array([0, 1]))
    assert pair.best(got).tolist() == [0]


def test_mbr_is_the_mean_cosine_with_the_others() -> None:
    """e0 with (0, 1) and (0.6, 0.8): (0 + 0.6) / 2, and so on."""
    assert methods.mbr(VECTORS, LISTS) == pytest.approx([0.3, 0.4, 0.7, 0.8, 0.8], abs=1e-6)


def test_mbr_of_a_single_candidate_is_zero() -> None:
    """Nothing to compare with, and no division by zero."""
    assert methods.mbr(VECTORS[:3], Ragged.of_counts(np.array([1, 2]))).tolist()[0] == 0


def test_linear_mbr_equals_the_pairwise_one() -> None:
    """On random ragged lists the sum over pairs gives the same."""
    random = np.random.default_rng(0)
    lists = Ragged.of_counts(random.integers(1, 9, 40))
    vectors = random.standard_normal((lists.total, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    wanted = []
    for start, count in zip(lists.starts, lists.counts, strict=True):
        for j in range(start, start + count):
            others = [float(vectors[j] @ vectors[k]) for k in range(start, start + count) if k != j]
            wanted.append(sum(others) / len(others) if others else 0.0)
    assert methods.mbr(vectors, lists) == pytest.approx(wanted, abs=2e-6)


def test_repeats_count_in_mbr() -> None:
    """Two equal captions vote for each other: (1 + 0) / 2 beats (0 + 0) / 2."""
    vectors = np.array([[0, 1], [1, 0], [1, 0]], np.float32)
    got = methods.mbr(vectors, Ragged.of_counts(np.array([3])))
    assert got == pytest.approx([0, 0.5, 0.5])


def test_consensus_takes_the_nearest_others_only() -> None:
    """With the one nearest other: 0.6, 0.8, 0.8; an outlier lowers nobody."""
    assert methods.consensus(VECTORS, LISTS, 1) == pytest.approx([0.6, 0.8, 0.8, 0.8, 0.8], abs=1e-6)
    assert methods.consensus(VECTORS, LISTS, 2)[:3] == pytest.approx([0.3, 0.4, 0.7], abs=1e-6)


def test_votes_count_equal_texts_of_the_same_image() -> None:
    """Twice in the first image, once in the second: images do not vote for one another."""
    assert methods.votes(np.array([0, 1, 0, 0, 1]), LISTS).tolist() == [2, 1, 2, 1, 1]


def test_rrf_sums_reciprocal_ranks() -> None:
    """1/(60 + rank) over two selectors; equal scores share the better rank."""
    got = methods.rrf([np.array([3.0, 2, 1, 1, 1]), np.array([1.0, 3, 2, 5, 4])], LISTS)
    assert got == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62, 2 / 61, 1 / 61 + 1 / 62])


def test_mmr_takes_the_best_then_what_differs() -> None:
    """0.5 s - 0.5 cos: after e0, e1 (0.5 * 0.7 - 0) beats e2 (0.5 * 0.8 - 0.5 * 0.6)."""
    got = methods.mmr(np.array([0.9, 0.7, 0.8, 0.1, 0.2]), VECTORS, LISTS, 3, 0.5)
    assert got.tolist() == [[0, 1, 2], [4, 3, -1]]


def test_mmr_with_lambda_one_is_the_order_of_the_scores() -> None:
    """Relevance alone."""
    got = methods.mmr(np.array([0.7, 0.9, 0.8, 0.1, 0.2]), VECTORS, LISTS, 2, 1.0)
    assert got.tolist() == [[1, 2], [4, 3]]


def test_blocks_cut_between_lists() -> None:
    """Every list is whole in one block, however long it is."""
    lists = Ragged.of_counts(np.array([3, 2, 10, 1]))
    assert [(one.start, one.stop, rows.start, rows.stop) for one, rows in lists.blocks(5)] == [
        (0, 2, 0, 5),
        (2, 3, 5, 15),
        (3, 4, 15, 16),
    ]
