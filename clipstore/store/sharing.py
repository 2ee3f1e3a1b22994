"""Sharing out: what is missing, a part at a time, none of which another process has at the same time."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.store import claims as claiming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clipstore.arrays import Ids
    from clipstore.store.claims import Claims
    from clipstore.store.writing import Writer

    Recheck = Callable[[Ids], Ids]  # ids -> those that still have no vector

_SHARE = 32  # beside other writers a part is this share of what is left: the last parts are small
_LEAST = 32  # ids
_BLOCKS = 4  # ... and at most so many blocks
_PAUSE = 0.05  # seconds between two looks at what others have claimed
_PATIENCE, _AT_MOST = 1.0, 20.0  # seconds to wait for others that get nothing done ...
_EACH = 0.02  # ... and more for each id that they have


@final
@dataclass(frozen=True, slots=True)
class Sizes:
    """How many ids an encoder is handed at once: at first, and at most, where a block takes a second or less."""

    first: int
    most: int


@final
class Shares:
    """What is missing, shared out between the processes that encode for one space and modality.

    A process that is alone takes all, and gives back what it has not begun when another comes. Beside others
    each claims a small part, commits it, and takes the next; what all is claimed is waited for, with a bound.

    Parameters
    ----------
    missing
        Distinct ids, int64.
    recheck
        Says which ids still have no vector.
    claims
        Of this process, entered.
    sizes
        Of a block.

    Attributes
    ----------
    elsewhere
        How many ids other processes were found to have encoded meanwhile.
    """

    def __init__(self, missing: Ids, recheck: Recheck, claims: Claims, sizes: Sizes) -> None:
        self._recheck, self._claims, self._sizes = recheck, claims, sizes
        self._size = sizes.first
        self._patience = _Patience()
        self.elsewhere = 0
        self._keep(missing)

    def encode(self, writer: Writer, run: Callable[[Iterator[Ids]], None]) -> None:
        """Have ``run`` encode blocks until nothing is missing; what was done before an interruption is committed.

        Parameters
        ----------
        writer
            What ``run`` hands its vectors to.
        run
            Takes blocks of ids and encodes each.
        """
        while self._left:
            alone = self._claims.is_alone()
            part = self._take(None if alone else self._part())
            if len(part):
                begun = _Begun()
                try:
                    run(self._blocks(part, begun, alone=alone))
                finally:  # also what was encoded before an interruption
                    writer.flush()
                self._give_back(part[begun.ids :])
            self._claims.release()
            if not len(part):
                self._wait()

    def _part(self) -> int:
        return max(_LEAST, min(self._rows() // _SHARE, _BLOCKS * self._size))

    def _rows(self) -> int:
        return sum(len(ids) for _, ids in self._left)

    def _keep(self, ids: Ids) -> None:
        """Divide ids into buckets, in this process's own order."""
        ids = np.sort(ids)
        numbers, starts = np.unique(claiming.buckets(ids), return_index=True)
        self._left = list(zip(numbers.tolist(), np.split(ids, starts[1:]), strict=True)) if len(ids) else []
        random.Random(os.urandom(8)).shuffle(self._left)  # noqa: S311 - an order, not a secret

    def _take(self, most: int | None) -> Ids:
        """Claim about so many of the ids that are left (None: all) and return them; those of others stay."""
        taken: list[Ids] = []
        stay: list[tuple[int, Ids]] = []
        rows = 0
        for bucket, ids in self._left:
            if (most is None or rows < most) and (self._patience.is_over or self._claims.take(bucket)):
                taken.append(ids)
                rows += len(ids)
            else:
                stay.append((bucket, ids))
        self._left = stay
        return np.concatenate([np.empty(0, np.int64), *taken])

    def _give_back(self, ids: Ids) -> None:
        if len(ids):
            self._keep(np.concatenate([ids, *(one for _, one in self._left)]))

    def _blocks(self, part: Ids, begun: _Begun, *, alone: bool) -> Iterator[Ids]:
        """Yield what is still missing of a part, a block at a time; stop before one when another process came."""
        while begun.ids < len(part) and (not alone or not begun.ids or self._claims.is_alone()):
            start = time.monotonic()
            block = part[begun.ids :][: self._size]
            begun.ids += len(block)
            todo = self._recheck(block)
            self.elsewhere += len(block) - len(todo)
            if len(todo):
                yield todo
                rate = len(todo) / max(time.monotonic() - start, 1e-6)
                self._size = int(min(max(rate, self._sizes.first), self._sizes.most, 2 * self._size))

    def _wait(self) -> None:
        """Let others finish what they have claimed, and forget what they committed."""
        before = self._rows()
        self._patience.spend(before)
        time.sleep(_PAUSE)
        self._keep(self._recheck(np.concatenate([ids for _, ids in self._left])))
        self.elsewhere += before - self._rows()
        if self._rows() < before:
            self._patience = _Patience()


@dataclass(slots=True)
class _Begun:
    """How many ids of a part were handed out."""

    ids: int = 0


class _Patience:
    """How long others are waited for that get nothing done: a process may be stopped, or on a slow machine."""

    def __init__(self) -> None:
        self._until: float | None = None
        self.is_over = False

    def spend(self, rows: int) -> None:
        """Wait on, for so many ids."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + min(_AT_MOST, _PATIENCE + _EACH * rows)
        self.is_over = now > self._until
