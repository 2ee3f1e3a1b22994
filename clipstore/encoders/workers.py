"""One worker process a device: each encodes its share and writes its own segments.

Processes are spawned, never forked: a fork beside CUDA or FAISS hangs. The store lets any
number of processes add at once, so workers share nothing but its folder.
"""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing import connection
from typing import TYPE_CHECKING, TypeVar

from clipstore.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.context import SpawnProcess

Item = TypeVar("Item")
ALL = "cuda:all"
"""The device that stands for every CUDA device of this machine."""

_GRACE = 10.0  # seconds for a worker to commit what it has after Ctrl-C


def devices(wanted: str) -> list[str]:
    """Return the devices that a device option names: ``cuda:all`` is each, anything else is itself.

    Raises
    ------
    EncoderError
        When ``cuda:all`` is asked for and there is none.
    """
    if wanted != ALL:
        return [wanted]
    import torch  # only where it is asked for

    count = torch.cuda.device_count()
    if not count:
        message = f"no CUDA device here for {ALL}; choose auto or cpu"
        raise EncoderError(message)
    return [f"cuda:{number}" for number in range(count)]


def shares(items: Sequence[Item], count: int) -> list[list[Item]]:
    """Return items dealt out in turn, so that every share has like work."""
    return [list(items[number::count]) for number in range(count)]


def run(work: Callable[[str, list[Item]], None], items: Sequence[Item], on: Sequence[str]) -> None:
    """Run ``work(device, share)`` in one process a device, and wait for all.

    Parameters
    ----------
    work
        A function of a module (it is pickled); opens its own store.
    items
        What there is to do; pickled too.
    on
        The devices.

    Raises
    ------
    EncoderError
        When a worker failed; the others have finished, and what they committed is kept.
    KeyboardInterrupt
        After every worker has stopped; each gets the signal itself and commits what it has.
    """
    context = multiprocessing.get_context("spawn")
    given = [(device, share) for device, share in zip(on, shares(items, len(on)), strict=True) if share]
    started = [(device, context.Process(target=_one, args=(work, device, share))) for device, share in given]
    for _, process in started:
        process.start()
    try:
        connection.wait([process.sentinel for _, process in started])
        for _, process in started:
            process.join()
    except KeyboardInterrupt:
        _stop([process for _, process in started])
        raise
    failed = [f"{device} (exit code {process.exitcode})" for device, process in started if process.exitcode]
    if failed:
        message = f"{len(failed)} of {len(started)} workers failed: {', '.join(failed)}; run again for what is missing"
        raise EncoderError(message)


def _one(work: Callable[[str, list[Item]], None], device: str, share: list[Item]) -> None:
    """Run in the worker: an interrupt ends it quietly."""
    try:
        work(device, share)
    except KeyboardInterrupt:
        os._exit(130)


def _stop(processes: Sequence[SpawnProcess]) -> None:
    for process in processes:
        process.join(_GRACE)
    for process in processes:
        if process.is_alive():
            process.terminate()
            process.join()
