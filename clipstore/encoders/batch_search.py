"""The batch size that is quickest on this machine: found by doubling, as long as that pays."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST, MOST = 8, 1024
_GAIN = 1.05  # a doubling that gives less is not worth its memory


def search(
    run: Callable[[int], None],
    full: tuple[type[Exception], ...],
    clock: Callable[[], float] = time.perf_counter,
    most: int = MOST,
) -> int:
    """Return a batch size: doubled from 8 until memory is full or items a second rise by less than 5 %.

    Parameters
    ----------
    run
        Runs one batch of this size, to its end.
    full
        What ``run`` raises where the memory is too small: the size before is taken.
    clock
        Gives seconds.
    most
        The largest size to try.
    """
    best, rate, size = LEAST, 0.0, LEAST
    while size <= most:
        try:
            run(size)  # the first run of a shape allocates; it is not timed
            start = clock()
            run(size)
            found = size / max(clock() - start, 1e-9)
        except full:
            break
        if found < rate * _GAIN:
            break
        best, rate, size = size, found, size * 2
    return best
