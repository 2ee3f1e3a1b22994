"""Claim: 30 systems x 5,000 images, all 435 pairs, are compared in seconds; at least 50x SciPy per pair-resample.

Times the whole analysis (intervals, ranks, 435 sign-flip tests at the resamples that
the family calls for, Holm) and SciPy's ``permutation_test`` of one pair, and prints the
ratio of the time of one resample of one pair. Needs SciPy (the rival).
"""

from __future__ import annotations

import time

import numpy as np
import scipy.stats

from clipstore.significance import analyse

SYSTEMS, IMAGES, RIVAL_RESAMPLES, GOAL = 30, 5000, 999, 50


def scores(systems: int, images: int) -> np.ndarray:
    """Return float32 scores of systems that share what each image is worth."""
    rng = np.random.default_rng(0)
    steps = 0.001 * np.arange(systems)[:, None]
    return (rng.normal(0.7, 0.1, images) + steps + rng.normal(0, 0.05, (systems, images))).astype(np.float32)


def difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """Return the mean difference."""
    return np.mean(a - b, axis=axis)


def ours(systems: int, images: int) -> tuple[float, float, int, int]:
    """Return wall and CPU seconds, pairs and resamples of one analysis."""
    table = scores(systems, images)
    wall, cpu = time.perf_counter(), time.process_time()
    found = analyse(table)
    return time.perf_counter() - wall, time.process_time() - cpu, len(found.pairs), found.resamples


def rival() -> tuple[float, float]:
    """Return wall and CPU seconds of SciPy's test of one pair."""
    a, b = scores(2, IMAGES).astype(np.float64)
    wall, cpu = time.perf_counter(), time.process_time()
    scipy.stats.permutation_test(
        (a, b), difference, permutation_type="samples", n_resamples=RIVAL_RESAMPLES, vectorized=True, rng=0
    )
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Print the times and the ratios."""
    analyse(scores(2, 200))
    for systems, images in ((10, IMAGES), (SYSTEMS, IMAGES // 5), (SYSTEMS, IMAGES)):
        wall, cpu, pairs, resamples = ours(systems, images)
        print(
            f"{systems} systems x {images:,} images, {pairs} pairs x {resamples:,} flips: "
            f"{wall:.2f} s (CPU {cpu:.2f} s)"
        )
    scipy_wall, scipy_cpu = min(rival() for _ in range(3))
    print(f"SciPy permutation_test, 1 pair x {RIVAL_RESAMPLES}: {scipy_wall:.2f} s (CPU {scipy_cpu:.2f} s)")
    work = pairs * resamples
    ratios = [scipy_wall / RIVAL_RESAMPLES * work / wall, scipy_cpu / RIVAL_RESAMPLES * work / cpu]
    print(f"one resample of one pair: {wall / work * 1e9:.0f} ns, SciPy {scipy_wall / RIVAL_RESAMPLES * 1e9:,.0f} ns")
    print(f"ratio: {ratios[0]:,.0f}x by the clock, {ratios[1]:,.0f}x by CPU (goal {GOAL}x)")


if __name__ == "__main__":
    main()
