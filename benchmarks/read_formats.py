"""Claim: 500,000 captions in one COCO results file are read, matched and hashed in under 3 s and 1 GB.

Makes the file (about 33 MB) in a temporary folder. Run by hand: ``python benchmarks/read_formats.py``.
"""

from __future__ import annotations

import itertools
import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from clipstore import formats, keys

ROWS = 500_000
SECONDS, MEGABYTES = 3.0, 1000.0
WORDS = "man woman dog horse riding on the beach with red ball and sky near tree".split()  # noqa: SIM905


def make(path: Path) -> None:
    """Write the file: COCO ids, and captions of five words."""
    draw = random.Random(0)
    rows = [{"image_id": 3 * row + 7, "caption": " ".join(draw.choices(WORDS, k=5))} for row in range(ROWS)]
    path.write_text(json.dumps(rows))


def main() -> int:
    """Print the table; return 1 where the claim does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "captions.json"
        make(path)
        size = path.stat().st_size / 1e6
        wanted = [3 * row + 7 for row in range(ROWS)]
        made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        times = [time.perf_counter()]
        captions = formats.read_captions(path)
        times.append(time.perf_counter())
        matched = formats.match_keys(captions.ids, wanted)
        times.append(time.perf_counter())
        ids = keys.text_ids(captions.texts)
        times.append(time.perf_counter())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    steps = [after - before for before, after in itertools.pairwise(times)]
    print(f"{len(ids):,} captions, {size:.0f} MB: {formats.describe(captions, matched)}")
    for name, seconds in zip(("read", "match", "hash"), steps, strict=True):
        print(f"{name:6}{seconds:6.2f} s")
    total = sum(steps)
    print(f"{'total':6}{total:6.2f} s (claim: under {SECONDS:.0f} s)")
    print(f"peak  {peak:6.0f} MB (claim: under {MEGABYTES:.0f} MB; making the file took {made:.0f} MB of it)")
    return int(total >= SECONDS or peak >= MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
