"""One thread at a time: a lock that a forked child does not inherit held."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterator


@final
class Turns:
    """Gives turns to the threads of this process; a child does not wait for a thread of its parent."""

    def __init__(self) -> None:
        self._process, self._lock = os.getpid(), threading.RLock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the turn for a block; the same thread may take it again inside."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.RLock()
        with self._lock:
            yield
