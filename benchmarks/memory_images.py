"""Resident memory while indexing many drawn images: flat after the first thousand.

Claim: growth after the first thousand under 5 %, whatever the folder's size. The tiny model; images are drawn one by
one as they are asked for, so that the folder needs no disk.

    python benchmarks/memory_images.py [images, 20000]
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import PIL.Image
from rivals import timing

import clipstore as cs
from clipstore.items import Image

STEP = 500


def drawn(number: int) -> bytes:
    """Return a small JPEG; every number gives another."""
    coarse = np.random.default_rng(number).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(coarse).resize((160, 120)).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def resident() -> float:
    """Return this process's resident memory in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    """Index, note the memory as it goes, print it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seen: list[tuple[int, float]] = []

    def progress(stage: str, done: int, _total: int) -> None:
        if stage == "images" and (not seen or done >= seen[-1][0] + STEP):
            seen.append((done, resident()))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "images"
        folder.mkdir()
        for number in range(count):
            (folder / f"{number:06d}.jpg").write_bytes(drawn(number))
        with cs.Store.open(Path(name) / "store") as store:
            space = store.space("tiny", device="cpu")
            done = space.ensure_images([Image(path, path.name) for path in sorted(folder.iterdir())], progress=progress)
    print(timing.machine())
    print(f"{done.encoded} images in {done.seconds:.0f} s")
    for number, size in seen[:: max(1, len(seen) // 10)]:
        print(f"{number:8d} images {size:9.1f} MB")
    early = next(size for number, size in seen if number >= min(1000, count // 2))
    print(f"after the first thousand: {early:.1f} MB; at the end {seen[-1][1]:.1f} MB ({seen[-1][1] / early - 1:+.1%})")


if __name__ == "__main__":
    main()
