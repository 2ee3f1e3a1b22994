"""Claim: a store of 1,000,000 text vectors opens and gathers its first 5,000 in under 100 ms, on little memory.

Each repeat is a process of its own that has imported clipstore. RssAnon is to grow by less
than twice what is gathered plus the ids; file-backed memory is told apart.

    python benchmarks/open_store.py [TEXTS]   (the store stands in $TMPDIR/clipstore-bench until the machine clears it)
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured import machine
from measured.stores import DIM, MODEL, PREFIX, caption, of_size

REPEATS = 9
GATHERED = 5_000


def once(folder: Path) -> dict[str, float]:
    """Open, gather, and say how long it took and what memory grew."""
    from clipstore import Store

    texts = [caption(number) for number in range(GATHERED)]
    before = machine.resident()
    start = time.perf_counter()
    store = Store.open(folder)
    space = store.space(MODEL)
    opened = time.perf_counter()
    found = space.gather_texts(space.text_keys(texts, PREFIX))
    done = time.perf_counter()
    after = machine.resident()
    assert found.shape == (GATHERED, DIM)
    again = time.perf_counter()
    space.gather_texts(space.text_keys(texts, PREFIX))
    later = time.perf_counter()
    rows = space.shelf("text").rows
    store.close()
    return {
        "seconds": done - start,
        "open": opened - start,
        "again": later - again,
        "rows": rows,
        "anon": after["RssAnon"] - before["RssAnon"],
        "file": after["RssFile"] - before["RssFile"],
    }


def main() -> None:
    """Print medians of processes."""
    if len(sys.argv) > 2:
        print(json.dumps(once(Path(sys.argv[2]))))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(machine.line("numpy", "sqlalchemy"))
    folder = Path(tempfile.gettempdir()) / "clipstore-bench"
    folder.mkdir(exist_ok=True)
    where = of_size(folder, count)
    runs = []
    for _ in range(REPEATS):
        command = [sys.executable, __file__, "once", str(where)]
        runs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    seconds = [run["seconds"] for run in runs]
    limit = 2 * (4 * DIM * GATHERED + 8 * runs[0]["rows"])
    anon = statistics.median(run["anon"] for run in runs)
    file = statistics.median(run["file"] for run in runs)
    print(f"{count:,} text vectors, open and gather {GATHERED:,}: {machine.spread(seconds)}")
    print(f"  {machine.verdict(statistics.median(seconds) * 1000, 100, ' ms')}")
    print(
        f"  of it opening: {machine.spread([run['open'] for run in runs])}; gathered again: "
        f"{machine.spread([run['again'] for run in runs])}"
    )
    print(f"  RssAnon grew by {anon / 2**20:.1f} MiB: {machine.verdict(anon / limit, 1, ' of the limit')}")
    print(f"  RssFile grew by {file / 2**20:.1f} MiB (mapped pages, given back when memory is short)")


if __name__ == "__main__":
    main()
