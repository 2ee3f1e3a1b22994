"""Random numbers for resampling: rows of signs and of counts, the same however many are drawn at once.

NumPy's ``PCG64`` seeded by a ``SeedSequence``. Row ``r`` depends on the seed, the
number of items and ``r`` alone: not on the block size, not on which systems are
compared. NumPy may change its streams between versions; then numbers move within
Monte Carlo error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

Matrix = npt.NDArray[np.float64]

# Cells of one block: 2 MiB of float64, what a core's own cache holds; memory does not grow with the resamples.
CELLS = 1 << 18

_CACHED = 1 << 17  # cells that are counted at a time: they stay in the processor's cache, twice as quick

_SIGNS, _COUNTS = 0, 1
_WORD = 32  # bits drawn at a time: rows of whole words, so that rows don't share one


def _generator(seed: int, purpose: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(purpose,))))


def _blocks(rows: int, items: int, cells: int) -> Iterator[int]:
    size = max(1, cells // max(1, items))
    yield from (min(size, rows - start) for start in range(0, rows, size))


def coins(seed: int, items: int, rows: int, cells: int | None = None) -> Iterator[Matrix]:
    """Yield blocks of fair coins, one row a resample.

    Parameters
    ----------
    seed
        A non-negative integer.
    items
        Columns: one coin an item.
    rows
        Resamples in all.
    cells
        Cells of one block; changes memory, not numbers.

    Yields
    ------
    Matrix
        float64 of 0 and 1, shape (some rows, items).
    """
    generator = _generator(seed, _SIGNS)
    row_bytes = -(-items // _WORD) * (_WORD // 8)
    for some in _blocks(rows, items, cells or CELLS):
        raw = np.frombuffer(generator.bytes(some * row_bytes), np.uint8).reshape(some, row_bytes)
        yield np.unpackbits(raw, axis=1, count=items).astype(np.float64)


def counts(seed: int, items: int, rows: int, cells: int | None = None) -> Iterator[Matrix]:
    """Yield blocks of how often each item is drawn in a bootstrap resample of all items.

    Parameters
    ----------
    seed, items, rows, cells
        As in :func:`coins`.

    Yields
    ------
    Matrix
        float64 of whole numbers, shape (some rows, items); each row sums to ``items``.
    """
    generator = _generator(seed, _COUNTS)
    for some in _blocks(rows, items, cells or CELLS):
        out = np.empty((some, items))
        start = 0
        for few in _blocks(some, items, _CACHED):
            drawn = generator.integers(0, items, size=(few, items), dtype=np.uint32)
            flat = (drawn + np.arange(few, dtype=np.int64)[:, None] * items).ravel()
            out[start : start + few] = np.bincount(flat, minlength=few * items).reshape(few, items)
            start += few
        yield out
