"""Fault points: the named steps of a commit, where a test may stop the process or raise.

In production a step costs one comparison. A test calls :func:`install` in the process
under test; nothing in the library does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Callable

Step = Literal[
    "file opened",
    "file written",
    "file synced",
    "file renamed",
    "folder synced",
    "row inserting",
    "row inserted",
    "committing",
    "committed",
    "file deleting",
    "file deleted",
]
"""The steps of a commit in their order: bytes first, row second, deletion after commit."""

STEPS: tuple[Step, ...] = get_args(Step)

_hook: Callable[[Step], None] | None = None


def install(hook: Callable[[Step], None] | None) -> None:
    """Call ``hook`` with the name of each step that this process reaches; None takes it away."""
    global _hook  # noqa: PLW0603  one switch for the process, set by tests only
    _hook = hook


def reach(step: Step) -> None:
    """Say that the process stands at ``step``."""
    if _hook is not None:
        _hook(step)
