"""The product of resamples with columns, cut so small that BLAS keeps each piece to one core.

Threads of BLAS that wait for one another burn more time than they save on products as
narrow as these, and much more where other work runs: whoever has several metrics gives
each a thread of its own instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import numpy as np

if TYPE_CHECKING:
    from clipstore.significance.streams import Matrix

# OpenBLAS uses one thread below 2 * 2^18 multiplications: 48 * 256 * 32 are fewer. Elsewhere this changes nothing.
_TALL: Final = 48
_DEPTH: Final = 256
_WIDE: Final = 32


@final
class Summed:
    """Weighted sums of columns, for one block of weights after another.

    Parameters
    ----------
    columns
        float64, shape (items, columns).
    """

    def __init__(self, columns: Matrix) -> None:
        items = len(columns)
        self._chunks = max(1, -(-items // _DEPTH))
        self._depth, self._count = items // self._chunks, columns.shape[1]
        self._whole = self._chunks * self._depth
        first = columns[: self._whole].reshape(self._chunks, self._depth, self._count)
        self._pieces = [np.ascontiguousarray(first[:, :, at : at + _WIDE]) for at in range(0, self._count, _WIDE)]
        self._rest = np.ascontiguousarray(columns[self._whole :])

    def __call__(self, weights: Matrix) -> Matrix:
        """Return ``weights @ columns``.

        Parameters
        ----------
        weights
            float64, shape (rows, items).
        """
        out = np.empty((len(weights), self._count))
        for top in range(0, len(weights), _TALL):
            rows = weights[top : top + _TALL]
            chunked = rows[:, : self._whole].reshape(len(rows), self._chunks, self._depth).transpose(1, 0, 2)
            for place, piece in enumerate(self._pieces):
                at = place * _WIDE
                out[top : top + _TALL, at : at + _WIDE] = np.matmul(chunked, piece).sum(axis=0)
            if len(self._rest):
                out[top : top + _TALL] += rows[:, self._whole :] @ self._rest
        return out
