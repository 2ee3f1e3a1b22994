"""The analysis of corpus metrics: values of summed statistics, such as BLEU, which are no mean of items.

Each item brings additive statistics (for BLEU: lengths, n-gram counts, matches); the
metric is a function of their sums. Resampling and swapping work on the statistics, so
the interval and the test are of the number that a table prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clipstore.errors import InputError
from clipstore.significance import bootstrap
from clipstore.significance.analysis import checked_pairs
from clipstore.significance.correction import corrected
from clipstore.significance.product import Summed
from clipstore.significance.results import Estimate, PairTest, Statistics
from clipstore.significance.settings import Settings, resamples_for
from clipstore.significance.signflip import EXACT_UP_TO
from clipstore.significance.streams import CELLS, coins, counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.significance.streams import Matrix

Value = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""Sums of statistics, float64 of shape (..., statistics), to values of shape (...)."""

# Values closer than this times their size are the same value.
_SAME = 1e-12


def analyse_corpus(
    statistics: npt.NDArray[np.float64],
    value: Value,
    pairs: Iterable[tuple[int, int]] | None = None,
    settings: Settings | None = None,
) -> Statistics:
    """Return intervals, ranks and corrected paired tests of a corpus metric.

    Intervals: percentile bootstrap of the items, at any number of them. Test: approximate
    randomisation, which swaps two systems' statistics item by item (Riezler and Maxwell
    2005), with >= and +1; every swap is counted where 16 or fewer items differ.
    Effects per item stay None: sentence scores say nothing of the corpus value.
    ``ttest`` has no meaning here: then p is None, and a note says so.

    Parameters
    ----------
    statistics
        float64, shape (systems, items, statistics); NaN through an item that a system lacks.
    value
        The metric as a function of the sums over items.
    pairs
        Rows (a, b) to test; every pair unless given.
    settings
        As for means.

    Raises
    ------
    InputError
        When the statistics are no such array, or a pair names no two systems.
    """
    asked = settings or Settings()
    table = np.asarray(statistics, np.float64)
    if table.ndim != 3 or np.isinf(table).any():
        msg = f"statistics must be finite and of shape (systems, items, statistics), not {table.shape}"
        raise InputError(msg)
    wanted = checked_pairs(pairs, len(table))
    family = len(wanted) if asked.family is None else max(asked.family, len(wanted))
    draws, notes = resamples_for(family, asked)
    if asked.test == "ttest" and wanted:
        notes = (*notes, "no t-test of a corpus value: its p is left out; use the sign flip")
    corpus = _Corpus(table, value, asked, draws)
    systems, pair_draws = corpus.estimates(wanted)
    tests = [corpus.test(pair, pair_draws[place]) for place, pair in enumerate(wanted)]
    if asked.test == "signflip":
        tests = corpus.swapped(tests)
    return Statistics(systems, corrected(tests, asked.correction), asked, draws, family, notes)


class _Corpus:
    """Statistics of every system, and what is done with them."""

    def __init__(self, statistics: Matrix, value: Value, settings: Settings, draws: int) -> None:
        self._held: npt.NDArray[np.bool_] = np.asarray(~np.isnan(statistics).any(axis=2))
        self._statistics = np.where(self._held[:, :, None], statistics, 0.0)
        self._value, self._settings, self._draws = value, settings, draws

    def _common(self, a: int, b: int) -> tuple[Matrix, Matrix, int]:
        """Return both systems' statistics on the items that both have (0 elsewhere), and how many those are."""
        common = self._held[a] & self._held[b]
        mask = common[:, None]
        return (
            np.where(mask, self._statistics[a], 0.0),
            np.where(mask, self._statistics[b], 0.0),
            int(np.count_nonzero(common)),
        )

    def estimates(self, pairs: Sequence[tuple[int, int]]) -> tuple[tuple[Estimate, ...], list[Matrix | None]]:
        """Return each system's estimate, and each pair's difference in each resample (None below two items)."""
        n, level = self._held.shape[1], self._settings.level
        values: Matrix | None = None
        differences: list[Matrix | None] = [None] * len(pairs)
        if n >= bootstrap.LEAST_ITEMS:
            values, differences = self._resampled(pairs)
        known = [row for row, held in enumerate(self._held) if held.sum() >= bootstrap.LEAST_ITEMS]
        ranks: dict[int, tuple[int, int]] = {}
        if values is not None and known:
            found = bootstrap.rank_intervals(values[known], level, higher_is_better=self._settings.higher_is_better)
            ranks = dict(zip(known, found, strict=True))
        out = []
        for row, held in enumerate(self._held):
            some = int(np.count_nonzero(held))
            one = float(self._value(self._statistics[row].sum(axis=0))) if some else None
            ci = bootstrap.percentile(values[row], level) if values is not None and row in ranks else None
            out.append(Estimate(n=some, value=one, ci=ci, ranks=ranks.get(row)))
        return tuple(out), differences

    def _resampled(self, pairs: Sequence[tuple[int, int]]) -> tuple[Matrix, list[Matrix | None]]:
        systems, items, kinds = self._statistics.shape
        odd = [place for place, (a, b) in enumerate(pairs) if not np.array_equal(self._held[a], self._held[b])]
        parts = [self._statistics, *(np.stack(self._common(*pairs[place])[:2]) for place in odd)]
        columns = np.concatenate(parts).transpose(1, 0, 2).reshape(items, -1)
        summed = Summed(columns)
        draws = self._draws if self._settings.test == "bootstrap" and pairs else self._settings.resamples
        values = np.concatenate(
            [
                self._value(summed(block).reshape(len(block), -1, kinds))
                for block in counts(self._settings.seed, items, draws, _cells(items, columns.shape[1]))
            ]
        ).T
        differences: list[Matrix | None] = [values[a] - values[b] for a, b in pairs]
        for row, place in enumerate(odd):
            differences[place] = values[systems + 2 * row] - values[systems + 2 * row + 1]
        return values[:systems], differences

    def test(self, pair: tuple[int, int], draws: Matrix | None) -> PairTest:
        """Return a pair's difference and interval, and its p where the bootstrap gives it."""
        a, b, n = self._common(*pair)
        identical = n > 0 and bool((a == b).all())
        delta = float(self._value(a.sum(axis=0)) - self._value(b.sum(axis=0))) if n else None
        settings, enough = self._settings, draws is not None and n >= bootstrap.LEAST_ITEMS
        p = 1.0 if identical else None
        shift = settings.test == "bootstrap" and enough and not identical
        if shift and draws is not None and delta is not None:
            far = np.abs(draws - delta) >= abs(delta) * (1 - _SAME)
            p = float((1 + np.count_nonzero(far)) / (len(draws) + 1))
        return PairTest(
            a=pair[0],
            b=pair[1],
            n=n,
            delta=delta,
            ci=bootstrap.percentile(draws, settings.level) if draws is not None and enough else None,
            p=p,
            p_adj=None,
            test="swap" if settings.test == "signflip" else settings.test,
            resamples=self._draws if shift else None,
            exact=settings.test == "signflip" and identical,
            identical=identical,
            dz=None,
            win_rate=None,
            wins=None,
            ties=None,
            losses=None,
            epsilon=settings.epsilon,
        )

    def swapped(self, tests: Sequence[PairTest]) -> list[PairTest]:
        """Return the tests with the p of the swap test; all pairs share one row of coins a draw."""
        done = list(tests)
        columns: list[Matrix] = []
        place: dict[tuple[int, int, int], int] = {}
        sampled: list[tuple[int, int, int, _Swap]] = []

        def column(key: tuple[int, int, int], statistics: Matrix) -> int:
            if key not in place:
                place[key] = len(columns)
                columns.append(statistics)
            return place[key]

        for at, test in enumerate(tests):
            a, b, n = self._common(test.a, test.b)
            if n == 0 or test.identical:
                continue
            swap = _Swap(a, b, self._value)
            if swap.items <= EXACT_UP_TO:
                done[at] = replace(test, p=swap.enumerated(a, b), exact=True)
                continue
            same = np.array_equal(self._held[test.a], self._held[test.b])
            keys = [(row, -1, -1) if same else (row, test.a, test.b) for row in (test.a, test.b)]
            sampled.append((at, column(keys[0], a), column(keys[1], b), swap))
        hits = self._hits(columns, sampled) if sampled else []
        for (at, *_), hit in zip(sampled, hits, strict=True):
            done[at] = replace(tests[at], p=(1 + hit) / (self._draws + 1), resamples=self._draws)
        return done

    def _hits(self, columns: Sequence[Matrix], sampled: Sequence[tuple[int, int, int, _Swap]]) -> list[int]:
        """Return for each pair how many draws lie at least as far out: one product of matrices for all of them."""
        items, kinds = columns[0].shape
        flat = np.stack(columns, axis=1).reshape(items, -1)
        summed = Summed(flat)
        hits = [0] * len(sampled)
        for block in coins(self._settings.seed, items, self._draws, _cells(items, flat.shape[1])):
            picked = summed(block).reshape(len(block), len(columns), kinds)
            for row, (_, a, b, swap) in enumerate(sampled):
                hits[row] += swap.far(picked[:, b] - picked[:, a])
        return hits


def _cells(items: int, columns: int) -> int:
    """Return the size of a block whose product with so many columns stays as small."""
    return CELLS * items // max(items, columns)


class _Swap:
    """One pair: what its two sums become when items are swapped."""

    def __init__(self, a: Matrix, b: Matrix, value: Value) -> None:
        self._where = np.flatnonzero((a != b).any(axis=1))
        self._a, self._b, self._value = a.sum(axis=0), b.sum(axis=0), value
        ends = abs(float(value(self._a))), abs(float(value(self._b)))
        self._least = abs(float(value(self._a) - value(self._b))) - _SAME * max(ends)

    @property
    def items(self) -> int:
        """How many items differ."""
        return len(self._where)

    def far(self, moved: Matrix) -> int:
        """Return how many swaps give a gap at least as large as the observed one.

        Parameters
        ----------
        moved
            What each swap adds to the sums of ``a`` and takes from those of ``b``, float64,
            shape (swaps, statistics).
        """
        gaps = np.abs(self._value(self._a + moved) - self._value(self._b - moved))
        return int(np.count_nonzero(gaps >= self._least))

    def enumerated(self, a: Matrix, b: Matrix) -> float:
        """Return the exact p: the share of all swaps whose gap is at least as large."""
        patterns = 1 << self.items
        bits = (np.arange(patterns, dtype=np.int64)[:, None] >> np.arange(self.items)) & 1
        return self.far(bits.astype(np.float64) @ (b - a)[self._where]) / patterns
