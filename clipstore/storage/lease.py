"""The lease: where locks do not reach other hosts, a file says which host may write, until it falls silent.

Processes of one host share its lease; among themselves SQLite's locks work. A lease ends
:data:`STALE` seconds after its host's last write, by the file server's clock; it is renewed while one runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.errors import Busy
from clipstore.storage.translate import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "writer.lease"

STALE = 40.0
"""Seconds of silence after which another host takes the lease: less than a writer waits."""

_PAUSE = 0.2


@final
@dataclass(frozen=True, slots=True)
class Holder:
    """Who may write: a host, and its process that took the lease."""

    host: str
    process: int


def host() -> str:
    """Return this host's name."""
    return socket.gethostname()


@contextlib.contextmanager
def held(folder: Path, patience: float) -> Iterator[None]:
    """Hold this host's lease of the store while the block runs; it stays ours for a while after.

    Raises
    ------
    Busy
        When another host holds it for longer than ``patience`` seconds.
    CannotWrite
        When the folder can't be written.
    """
    with writing(str(folder)):
        _acquire(folder, patience)
    ended = threading.Event()
    heart = threading.Thread(target=_beat, args=(folder / FILE, ended), daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join()
        _renew(folder / FILE)


def _beat(path: Path, ended: threading.Event) -> None:
    """Renew the lease while a transaction runs, however long it is."""
    while not ended.wait(STALE / 4):
        _renew(path)


def _renew(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(path)


def holder(folder: Path) -> Holder | None:
    """Return who holds the lease of the store, or None."""
    try:
        return _holder(folder / FILE)
    except FileNotFoundError:
        return None


def _holder(path: Path) -> Holder:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Holder(str(found["host"]), int(found["process"]))
    except (ValueError, KeyError, TypeError):
        return Holder("an unknown host", 0)  # half a file: left by a crash, and stale soon


def _acquire(folder: Path, patience: float) -> None:
    path = folder / FILE
    deadline = time.monotonic() + patience
    while True:
        current = holder(folder)
        if current is None:
            if _create(path):
                return
        elif current.host == host():
            with contextlib.suppress(FileNotFoundError):
                os.utime(path)
                return
        elif (silent := _silence(folder)) > STALE:
            _break(path, current)
        elif time.monotonic() >= deadline:
            msg = (
                f"{folder}: {current.host} (process {current.process}) writes to this store, and on this file system "
                f"one host writes at a time: try again in {max(1.0, STALE - silent):.0f} s after its last write, "
                "or use add --spool"
            )
            raise Busy(msg)
        else:
            time.sleep(min(_PAUSE, max(0.0, deadline - time.monotonic())))


def _create(path: Path) -> bool:
    """Make the lease ours if nobody has it; a link is atomic on network file systems too."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    draft.write_text(json.dumps({"host": host(), "process": os.getpid()}), encoding="utf-8")
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _silence(folder: Path) -> float:
    """Return for how long the lease has not been renewed, in seconds of the file server's clock."""
    probe = folder / f".{FILE}.{uuid.uuid4().hex}"
    probe.touch()
    try:
        now = probe.stat().st_mtime
        return now - (folder / FILE).stat().st_mtime
    except FileNotFoundError:
        return 0.0
    finally:
        probe.unlink(missing_ok=True)


def _break(path: Path, stale: Holder) -> None:
    """Take a stale lease away; one that was renewed or changed hands meanwhile goes back."""
    taken = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with contextlib.suppress(FileNotFoundError):
        before = path.stat().st_mtime
        path.rename(taken)
        if _holder(taken).host != stale.host or taken.stat().st_mtime != before:
            with contextlib.suppress(FileExistsError):
                os.link(taken, path)
        taken.unlink(missing_ok=True)
