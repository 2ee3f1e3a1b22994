"""The machine, its load, and medians of repeats."""

from __future__ import annotations

import os
import platform
import statistics
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def line(*packages: str) -> str:
    """Return one line about the machine: processor, cores, memory, load, Python and versions."""
    model = "unknown processor"
    memory = ""
    if Path("/proc/cpuinfo").exists():
        names = [
            one.split(":", 1)[1].strip()
            for one in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in one
        ]
        model = names[0] if names else model
        total = Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]
        memory = f", {int(total) / 2**20:.0f} GiB"
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{model}, {os.cpu_count()} cores{memory}; load {load}; "
        f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}, {versions}"
    )


def repeated(action: Callable[[], object], times: int) -> list[float]:
    """Return the seconds of each of several calls."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return taken


def spread(seconds: Sequence[float]) -> str:
    """Return the median, and the least and most, of some seconds."""
    middle = statistics.median(seconds)
    unit, scale = ("ms", 1000) if middle < 1 else ("s", 1)
    return f"{middle * scale:.1f} {unit} ({min(seconds) * scale:.1f} to {max(seconds) * scale:.1f})"


def verdict(value: float, goal: float, unit: str = "x") -> str:
    """Return a value beside its goal."""
    reached = "reached" if value <= goal else f"missed by {value / goal - 1:.0%}"
    return f"{value:.2f}{unit}, goal <= {goal:g}{unit}: {reached}"


def resident() -> dict[str, int]:
    """Return this process's resident memory in bytes, by kind: ``RssAnon`` and ``RssFile``."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return {one.split(":")[0]: int(one.split()[1]) * 1024 for one in lines if one.startswith(("RssAnon", "RssFile"))}
