"""From scores to agreement: taus of ratings, accuracies of pairs, each with its interval over images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clipstore.metaeval import intervals
from clipstore.metaeval.results import PairResult, RatingResult
from clipstore.metaeval.tau import Ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.metaeval.protocols import Numbers, Pairs, Ratings, Ties


def rated(name: str, scores: Numbers, judged: Ratings, resamples: int, seed: int) -> RatingResult:
    """Return the agreement of one metric with the ratings, every single rating a row.

    Parameters
    ----------
    name
        The metric.
    scores
        float64, shape (rows,); rows with NaN are left out and counted.
    judged
        The ratings.
    resamples, seed
        Of the bootstrap over images; 0 resamples: no interval.
    """
    rows, values = judged.flat()
    held = ~np.isnan(scores[rows])
    rows, values = rows[held], values[held]
    ordered = Ordered(scores[rows], values)
    images = intervals.image_numbers([judged.images[row] for row in rows.tolist()])
    found = ordered.agreement()
    return RatingResult(
        name,
        found,
        intervals.of_agreement(ordered, images, resamples, seed),
        n=len(rows),
        missing=int(np.isnan(scores).sum()),
        tau=judged.tau,
    )


def points(first: Numbers, second: Numbers, labels: Numbers, ties: Ties, seed: int) -> Numbers:
    """Return what each pair earns: 1 where the metric prefers the caption that people chose, 0 where the other.

    Parameters
    ----------
    first, second
        Scores of A and B, float64, shape (pairs,).
    labels
        0 where A won, 1 where B did; shape (pairs,).
    ties
        What equal scores earn.
    seed
        Of the coins.

    Returns
    -------
    Numbers
        float64, shape (pairs,); NaN where a score is NaN.
    """
    wins = np.where(labels == 0, first > second, second > first).astype(np.float64)
    tied = first == second
    coins = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))).integers(0, 2, len(wins))
    of_ties = {"random": coins, "half": 0.5, "wrong": 0.0, "b": labels == 1}[ties]
    earned = np.where(tied, of_ties, wins)
    earned[np.isnan(first) | np.isnan(second)] = np.nan
    return earned


def voted(labels: Numbers, seed: int) -> Numbers:
    """Return the labels with a fair coin where the vote was a tie (-1)."""
    coins = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,)))).integers(
        0, 2, len(labels)
    )
    return np.where(labels < 0, coins, labels).astype(np.float64)


def preferred(
    name: str, draws: Sequence[tuple[Numbers, Numbers]], judged: Pairs, ties: Ties, resamples: int, seed: int
) -> PairResult:
    """Return the accuracy of one metric on the pairs, by category, averaged over draws of references.

    Parameters
    ----------
    name
        The metric.
    draws
        Scores of A and of B, once a draw; one draw stands for all where the metric reads no reference.
    judged
        The pairs.
    ties
        What equal scores earn.
    resamples, seed
        Of the bootstrap over images, and of the coins.
    """
    every = len(judged.draws)
    scores = [draws[draw % len(draws)] for draw in range(every)]
    earned = np.stack(
        [
            points(first, second, voted(judged.labels.astype(np.float64), seed + draw), ties, seed + draw)
            for draw, (first, second) in enumerate(scores)
        ]
    )
    of_pairs = earned.mean(axis=0)
    names = np.array(judged.categories)
    images = intervals.image_numbers(judged.images)
    accuracy, between, counts = {}, {}, {}
    shares = np.zeros(len(of_pairs))
    for category in dict.fromkeys(judged.categories):
        held = (names == category) & ~np.isnan(of_pairs)
        counts[category] = int(held.sum())
        if held.any():
            accuracy[category] = float(of_pairs[held].mean())
            between[category] = intervals.of_means(of_pairs[held], images[held], resamples, seed)
            shares[held] = 1 / counts[category]
    known = ~np.isnan(of_pairs)
    between["mean"] = intervals.of_means(of_pairs[known], images[known], resamples, seed, shares[known])
    tied = float(np.mean([np.count_nonzero(first == second) for first, second in scores]))
    return PairResult(name, accuracy, between, counts, ties=tied, missing=int(np.isnan(of_pairs).sum()))
