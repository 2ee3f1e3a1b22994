"""Claims: which process encodes which ids at the moment, so that several on one store don't do the same work.

A claim is a lock on one byte of a file beside the segments; it ends with the process that holds
it. Ids are claimed by the bucket, a range of ids. Where a file can't be locked every claim is
granted, as between threads: work may then be done twice, and is never lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import TYPE_CHECKING, Self, final

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.arrays import Ids

_BITS = 10
BUCKETS = 1 << _BITS
"""Ranges into which ids are divided."""

_PRESENCE = BUCKETS  # the byte that everyone who encodes shares
_TRIES, _PAUSE = 100, 0.001  # another looks whether it is alone, for a moment


def buckets(ids: Ids) -> Ids:
    """Return the bucket of each id, int64 of shape (len(ids),)."""
    found: Ids = ids >> (63 - _BITS)
    return found


@final
class Claims:
    """The claims of this process on the ids of one space and modality. Used as a context manager.

    Parameters
    ----------
    path
        The file that is locked; made where it is absent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._present = False

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):  # a folder that can't be written: the commit will say so
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        for _ in range(_TRIES):
            if self._handle is None or self._lock(fcntl.LOCK_SH, _PRESENCE):
                self._present = self._handle is not None
                break
            time.sleep(_PAUSE)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def is_alone(self) -> bool:
        """Say whether no other process encodes for this space and modality now."""
        if self._handle is None:
            return True
        if not self._present or not self._lock(fcntl.LOCK_EX, _PRESENCE):
            return False
        self._lock(fcntl.LOCK_SH, _PRESENCE)
        return True

    def take(self, bucket: int) -> bool:
        """Claim a bucket; False when another process has it."""
        return self._handle is None or self._lock(fcntl.LOCK_EX, bucket)

    def release(self) -> None:
        """Give all buckets back."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._handle, fcntl.LOCK_UN, BUCKETS, 0)

    def _lock(self, kind: int, place: int) -> bool:
        if self._handle is None:
            return True
        try:
            fcntl.lockf(self._handle, kind | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # EAGAIN and EACCES: somebody has it
            return False
        except OSError:  # no locks on this file system
            return True
        return True
