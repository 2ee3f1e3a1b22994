"""The analysis of means: every system's interval and rank, every pair's difference and test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from clipstore.errors import InputError
from clipstore.significance import bootstrap, effects
from clipstore.significance.correction import corrected
from clipstore.significance.results import Estimate, PairTest, Statistics
from clipstore.significance.settings import Settings, resamples_for
from clipstore.significance.signflip import Flipped, sign_flip
from clipstore.significance.student import two_sided

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.significance.bootstrap import Resampled
    from clipstore.significance.streams import Matrix

Pairs = tuple[tuple[int, int], ...]

# Shifted means this close to the observed one count as equal to it.
_SAME = 1e-12


def all_pairs(systems: int) -> Pairs:
    """Return every pair of rows (a, b) with a < b."""
    return tuple((a, b) for a in range(systems) for b in range(a + 1, systems))


def against(baseline: int, systems: int) -> Pairs:
    """Return each other system paired with the baseline, which comes second: deltas read "less baseline"."""
    return tuple((row, baseline) for row in range(systems) if row != baseline)


def analyse(
    scores: npt.ArrayLike, pairs: Iterable[tuple[int, int]] | None = None, settings: Settings | None = None
) -> Statistics:
    """Return intervals, ranks, effects and corrected paired tests of the means of per-item scores.

    The unit is the item (the image). Intervals: percentile bootstrap with one matrix of
    resamples for all systems, Student's t below 100 items. Test: paired sign flip unless
    asked otherwise. Correction: Holm over the pairs given.

    Parameters
    ----------
    scores
        float32 or float64, shape (systems, items), items in one order for all systems;
        NaN where a system has no number. An item counts for a pair where both have one.
    pairs
        Rows (a, b) to test; every pair unless given.
    settings
        Test, correction, seed and so on.

    Raises
    ------
    InputError
        When the scores are not a finite (or NaN) matrix of floats, or a pair names no two rows of it.
    """
    asked = settings or Settings()
    table, single = _checked(scores)
    wanted = checked_pairs(pairs, len(table))
    family = len(wanted) if asked.family is None else max(asked.family, len(wanted))
    draws, notes = resamples_for(family, asked)
    means = None
    if table.shape[1] >= bootstrap.LEAST_ITEMS:
        boot = draws if asked.test == "bootstrap" else asked.resamples
        means = bootstrap.Resampled.of(table, wanted, boot, asked.seed)
    context = _Context(table, single, asked, draws, means)
    systems = _estimates(context)
    tests = corrected(_tests(context, wanted), asked.correction)
    return Statistics(systems, tests, asked, draws, family, notes)


def checked_pairs(pairs: Iterable[tuple[int, int]] | None, systems: int) -> Pairs:
    """Return the pairs as a tuple, every pair where None was given.

    Raises
    ------
    InputError
        When a pair does not name two different rows.
    """
    wanted = all_pairs(systems) if pairs is None else tuple((int(a), int(b)) for a, b in pairs)
    for a, b in wanted:
        if a == b or not (0 <= a < systems and 0 <= b < systems):
            msg = f"pair ({a}, {b}) does not name two of the {systems} systems"
            raise InputError(msg)
    return wanted


@final
@dataclass(frozen=True, slots=True)
class _Context:
    """The scores, choices and resampled means that estimates and tests share."""

    scores: Matrix
    single: bool
    settings: Settings
    draws: int
    means: Resampled | None


def _checked(scores: npt.ArrayLike) -> tuple[Matrix, bool]:
    given = np.asarray(scores)
    if given.ndim != 2 or given.dtype.kind not in "fiub":
        msg = f"scores must be a matrix of numbers, systems by items, not {given.dtype} of shape {given.shape}"
        raise InputError(msg)
    table = given.astype(np.float64)
    if np.isinf(table).any():
        msg = "scores must be finite; use NaN where an item has no number"
        raise InputError(msg)
    return table, given.dtype.kind == "f" and given.dtype.itemsize < np.dtype(np.float64).itemsize


def _estimates(context: _Context) -> tuple[Estimate, ...]:
    scores, level, means = context.scores, context.settings.level, context.means
    held = [row[~np.isnan(row)] for row in scores]
    known = [row for row, values in enumerate(held) if means is not None and len(values) >= bootstrap.LEAST_ITEMS]
    ranks: dict[int, tuple[int, int]] = {}
    if means is not None and known:
        found = bootstrap.rank_intervals(
            means.systems[known], level, higher_is_better=context.settings.higher_is_better
        )
        ranks = dict(zip(known, found, strict=True))
    return tuple(
        Estimate(
            n=len(values),
            value=float(values.mean()) if len(values) else None,
            ci=bootstrap.mean_interval(values, None if means is None else means.systems[row], level),
            ranks=ranks.get(row),
        )
        for row, values in enumerate(held)
    )


def _tests(context: _Context, pairs: Pairs) -> list[PairTest]:
    flipped: Sequence[Flipped | None] = [None] * len(pairs)
    if context.settings.test == "signflip":
        flipped = sign_flip(context.scores, pairs, context.draws, context.settings.seed, single=context.single)
    return [
        _pair(context, pair, None if context.means is None else context.means.difference(*pair), flips)
        for pair, flips in zip(pairs, flipped, strict=True)
    ]


def _pair(context: _Context, pair: tuple[int, int], draws: Matrix | None, flipped: Flipped | None) -> PairTest:
    settings = context.settings
    a, b = (context.scores[row] for row in pair)
    common = ~(np.isnan(a) | np.isnan(b))
    differences = a[common] - b[common]
    n = len(differences)
    wins, ties, losses = effects.win_tie_loss(differences, settings.epsilon, higher_is_better=settings.higher_is_better)
    if flipped is None:
        flipped = _other_test(settings, differences, draws)
    return PairTest(
        a=pair[0],
        b=pair[1],
        n=n,
        delta=float(differences.mean()) if n else None,
        ci=bootstrap.mean_interval(differences, draws, settings.level),
        p=flipped.p,
        p_adj=None,
        test=settings.test,
        resamples=flipped.resamples,
        exact=flipped.exact and settings.test == "signflip",
        identical=n > 0 and not differences.any(),
        dz=effects.standardised(differences),
        win_rate=effects.win_rate(wins, ties, losses),
        wins=wins,
        ties=ties,
        losses=losses,
        epsilon=settings.epsilon,
    )


def _other_test(settings: Settings, differences: Matrix, draws: Matrix | None) -> Flipped:
    n = len(differences)
    if n and not differences.any():
        return Flipped(1.0, None)
    if n < bootstrap.LEAST_ITEMS:
        return Flipped(None, None)
    if settings.test == "ttest" or draws is None:
        return Flipped(paired_t(differences), None)
    return Flipped(shifted(differences, draws), len(draws))


def paired_t(differences: Matrix) -> float:
    """Return the two-sided p of the paired t-test (Student 1908) of two or more differences, not all 0.

    Where all differences are equal the statistic is infinite and p is 0.
    """
    n, mean = len(differences), float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    return two_sided(mean / error if error else math.inf, n - 1)


def shifted(differences: Matrix, draws: Matrix) -> float:
    """Return the two-sided p of the shift bootstrap: (1 + #{|d* - d| >= |d|}) / (B + 1).

    The resampled means, moved to centre on no difference (Efron and Tibshirani 1993, section 16.4).

    Parameters
    ----------
    differences
        float64, shape (n,).
    draws
        Their mean in each resample, float64, shape (B,).
    """
    mean = float(differences.mean())
    far = np.abs(draws - mean) >= abs(mean) * (1 - _SAME)
    return float((1 + np.count_nonzero(far)) / (len(draws) + 1))
