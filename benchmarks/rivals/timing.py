"""Timing on a machine that others use too: variants take turns, and medians are compared."""

from __future__ import annotations

import os
import platform
import statistics
import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def medians(
    variants: Mapping[str, Callable[[], int]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return items a second of each variant, the median of ``repeats`` turns; each call returns how many it did."""
    rates: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, run in variants.items():
            start = clock()
            done = run()
            rates[name].append(done / (clock() - start))
    return {name: statistics.median(found) for name, found in rates.items()}


def machine() -> str:
    """Return a line about the machine and how busy it is."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - no such file elsewhere
            model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} CPUs, load {load}; torch {torch.__version__}, {torch.get_num_threads()} threads"


def show(rates: Mapping[str, float], base: str, unit: str) -> None:
    """Print each variant's rate and its ratio to ``base``."""
    for name, rate in rates.items():
        print(f"{name:52s} {rate:10.1f} {unit}/s {rate / rates[base]:7.2f}x")
