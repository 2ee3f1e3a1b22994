"""What goes to stderr: notes, warnings, progress. Never a result."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self, final

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_WORDS = {
    "load": "loading the model",
    "read": "reading image files",
    "images": "encoding images",
    "texts": "encoding texts",
}
_TENTH = 10


@final
class Notes:
    """Says things on stderr; quiet says only errors.

    Parameters
    ----------
    quiet
        True leaves out everything but errors.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._open = False
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[str, int] = {}
        self._started: dict[str, float] = {}

    def say(self, line: str) -> None:
        """Write one line, unless quiet."""
        if not self.quiet:
            self._write(line)

    def warn(self, line: str) -> None:
        """Write one warning, unless quiet."""
        self.say(f"warning: {line}")

    def error(self, line: str) -> None:
        """Write an error, quiet or not."""
        self._write(f"error: {line}")

    def _write(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    def progress(self, stage: str, done: int, total: int) -> None:
        """Show where a stage stands: a bar on a terminal, a line each 10 % elsewhere."""
        if self.quiet or total <= 0:
            return
        if self._bar is None and self._open and sys.stderr.isatty():
            self._bar = _bar()
        if self._bar is not None:
            self._draw(stage, done, total)
            return
        now = time.monotonic()
        start = self._started.setdefault(stage, now)
        tenth = _TENTH * done // total
        if stage == "load" or tenth <= self._said.get(stage, 0):
            return
        self._said[stage] = tenth
        rate = done / (now - start) if now > start else 0.0
        left = f", {rate:,.0f}/s, {(total - done) / rate:.0f} s left" if rate else ""
        self._write(f"{_WORDS.get(stage, stage)}: {100 * done // total}% ({done:,}/{total:,}){left}")
        if done >= total:  # the stage may come again
            del self._said[stage], self._started[stage]

    def _draw(self, stage: str, done: int, total: int) -> None:
        if self._bar is None:
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(_WORDS.get(stage, stage), total=total)
        self._bar.update(self._tasks[stage], completed=done, total=total)
        if done >= total:
            del self._tasks[stage]

    def __enter__(self) -> Self:
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks.clear()


def _bar() -> Bar:
    """Start a bar with rate and time left; only when there is something to show."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Items a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar
