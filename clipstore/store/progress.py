"""How long work tells its caller where it stands: a callable, never a print."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a stage (``load``, ``read``, ``images``, ``texts``), what is done, and the total."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody."""
