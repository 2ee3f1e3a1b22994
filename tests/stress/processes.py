"""Starting, watching and killing the workers of the stress tests."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Worker:
    """One process that runs ``worker.py``; use it as a context manager, so that none is left behind.

    Parameters
    ----------
    store
        The store's folder.
    role
        What it does.
    seed
        Of its dice.
    seconds
        For how long.
    first
        Number of the first text that it draws from.
    kill_at
        ``STEP:N``: where it kills itself.
    """

    def __init__(
        self, store: Path, role: str, seed: int, seconds: float = 20.0, first: int = 0, kill_at: str | None = None
    ) -> None:
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
        if kill_at is not None:
            environment["CLIPSTORE_TEST_KILL_AT"] = kill_at
        pipe = subprocess.PIPE
        arguments = [str(store), role, str(seed), str(seconds), str(first)]
        command = [sys.executable, "-W", "error", str(HERE / "worker.py"), *arguments]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
        self.lines: list[str] = []
        self.errors = ""
        self._readers = [threading.Thread(target=self._listen), threading.Thread(target=self._worry)]
        self._ready = threading.Event()
        for reader in self._readers:
            reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):  # half a line was never said
                self.lines.append(line.strip())
            self._ready.set()
        self._ready.set()

    def _worry(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def wait_until_ready(self) -> None:
        """Wait until it has opened the store."""
        assert self._ready.wait(60)
        assert self.lines[:1] == ["ready"], self.end()

    def go(self) -> None:
        """Let it begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """Kill it with SIGKILL, wherever it stands."""
        self.process.kill()

    def end(self, timeout: float = 120.0) -> tuple[int, list[str], str]:
        """Wait for its end; return its exit code, its lines, and what it had to complain about."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return code, self.lines, self.errors

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.end()
