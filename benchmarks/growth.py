"""Claim: adding 1,000 items costs the same whatever the store holds: 10k, 100k, 1M, within 1.3x.

Adds groups of 1,000 new captions through ``Space.ensure_texts`` with an encoder that costs
next to nothing, at each size in turn, and compares medians; compactions fall where they fall.

    python benchmarks/growth.py [SIZES...]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measured import machine
from measured.stores import MODEL, PREFIX, caption, of_size

from clipstore import Store

GROUPS, ITEMS = 40, 1_000


def main() -> None:
    """Print the median time of a group at each size, and the worst ratio."""
    sizes = [int(one) for one in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    print(machine.line("numpy", "sqlalchemy"))
    folder = Path(tempfile.gettempdir()) / "clipstore-bench"
    folder.mkdir(exist_ok=True)
    spaces = {}
    for size in sizes:
        copy = folder / f"growing-{size}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(of_size(folder, size), copy)
        store = Store.open(copy)
        spaces[size] = (store, store.space(MODEL))
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    for group in range(GROUPS):
        for size, (_, space) in spaces.items():  # in turn, so that the machine's moods fall on all
            first = 10_000_000 + group * ITEMS
            texts = [caption(number) for number in range(first, first + ITEMS)]
            start = time.perf_counter()
            assert space.ensure_texts(texts, PREFIX).encoded == ITEMS
            taken[size].append(time.perf_counter() - start)
    for size, (store, space) in spaces.items():
        segments = len(space.shelf("text").names)
        total = sum(taken[size])
        print(
            f"{size:>9,} stored: {ITEMS:,} more in {machine.spread(taken[size])}; "
            f"{GROUPS} groups {total:.2f} s, compactions included; {segments} segments"
        )
        store.close()
        shutil.rmtree(folder / f"growing-{size}")
    medians = [statistics.median(taken[size]) for size in sizes]
    totals = [sum(taken[size]) for size in sizes]
    print(f"  the largest against the smallest store, medians: {machine.verdict(medians[-1] / medians[0], 1.3)}")
    print(f"  the same, all {GROUPS} groups together: {machine.verdict(totals[-1] / totals[0], 1.3)}")


if __name__ == "__main__":
    main()
