"""Exact search in cached vectors against a bare ``IndexFlatIP.search``, same threads, same arrays.

Claim: 1,000 queries in 1,000,000 vectors of 512 numbers take at most 1.15 times as long. A trained
index is timed beside it, with its recall.

    python benchmarks/search.py [VECTORS] [QUERIES]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import faiss
import numpy as np

from clipstore.storage import search, segments, trained
from clipstore.storage.catalogue.segments import SegmentRow

if TYPE_CHECKING:
    from collections.abc import Callable

DIM, K, SEGMENTS, REPEATS = 512, 10, 4, 3


def unit(rows: int, seed: int) -> np.ndarray:
    """Return random unit vectors around 2,000 centres, as captions lie around what images show."""
    centres = np.random.default_rng(7).standard_normal((2000, DIM), dtype=np.float32)
    random = np.random.default_rng(seed)
    drawn = random.standard_normal((rows, DIM), dtype=np.float32)
    drawn += centres[random.integers(0, len(centres), rows)]
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def stored(root: Path, vectors: np.ndarray) -> list[SegmentRow]:
    """Write segments as the store does."""
    digest, out = "00112233445566ff", []
    for number, part in enumerate(np.array_split(vectors, SEGMENTS)):
        ids = np.arange(len(part), dtype=np.int64) * SEGMENTS + number
        file = segments.write(root / "vectors" / digest / "text", ids, part)
        fields = (file.name, digest, "text", file.rows, file.dim, file.dtype, file.vectors_offset, file.ids_offset)
        out.append(SegmentRow(*fields, file.bytes, file.sha256, file.layout, None, 0.0))
    return out


def main() -> None:
    """Time interleaved and print ratios of medians."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    asked = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    queries = unit(asked, 1)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        vectors = unit(count, 0)
        rows = stored(root, vectors)
        raw = faiss.IndexFlatIP(DIM)
        raw.add(vectors)
        del vectors
        took: dict[str, list[float]] = {"raw IndexFlatIP.search": [], f"clipstore, {SEGMENTS} segments": []}
        works: list[Callable[[], object]] = [
            lambda: raw.search(queries, K),
            lambda: search.exact(root, rows, queries, K),
        ]
        for _ in range(REPEATS):
            for times, work in zip(took.values(), works, strict=True):
                start = time.perf_counter()
                work()
                times.append(time.perf_counter() - start)
        scores = raw.search(queries, K)[0]
        assert np.allclose(scores, search.exact(root, rows, queries, K).scores, atol=1e-5)
        base = statistics.median(next(iter(took.values())))
        print(f"{asked} queries in {count} vectors of {DIM}, k = {K}, {faiss.omp_get_max_threads()} threads")
        for title, times in took.items():
            found = statistics.median(times)
            print(f"{title:32s} {found:8.2f} s   {found / base:6.2f}x")
        factory = f"IVF{max(4, int(count**0.5))},Flat"
        start = time.perf_counter()
        index = trained.open_or_make(root, rows, factory)
        made = time.perf_counter() - start
        start = time.perf_counter()
        index.search(queries, K)
        took_index = time.perf_counter() - start
        print(f"{factory:32s} {took_index:8.2f} s   recall@10 {index.recall(queries[:100]):.3f}, made in {made:.0f} s")


if __name__ == "__main__":
    main()
