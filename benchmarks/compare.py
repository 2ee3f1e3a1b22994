"""30 systems x 5,000 images: from cached vectors to the printed table, every pair tested.

Claims: under 10 s with 10,000 bootstrap resamples and all 435 pairs (whose sign flips are
raised to 87,000 for Holm); linear in images, at most quadratic in systems; the statistics at
least 50x quicker than SciPy's ``permutation_test`` per pair and resample.

    python benchmarks/compare.py [SYSTEMS IMAGES]

Vectors are the fake encoder's: a gather and a score cost the same whatever made them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from clipstore import EvalSet, Store
from clipstore.compare import compare
from clipstore.encoders.fake import FakeEncoder
from clipstore.evalset import load_systems, save
from clipstore.evaluate.measuring import measure_systems
from clipstore.formats import read_captions
from clipstore.significance import Settings, analyse

DIM, REFERENCES, LIMIT = 512, 5, 10.0
SCIPY_RESAMPLES, SCIPY_PAIRS = 999, 3


def filled(folder: Path, systems: int, images: int) -> Store:
    """Return a store with a saved set, its systems, and every vector."""
    store = Store.open(folder)
    keys = [f"img{row:05d}" for row in range(images)]
    pictures = {key: b"P5 4 4 255 " + row.to_bytes(16, "big") for row, key in enumerate(keys)}
    references = {key: [f"reference {n} about scene {row}" for n in range(REFERENCES)] for row, key in enumerate(keys)}
    evalset = EvalSet.read(images=pictures, refs=references)
    rng = np.random.default_rng(0)
    named = {
        f"system{one:02d}": read_captions(
            {key: f"a caption {rng.integers(4)} by {one % 7} of scene {row}" for row, key in enumerate(keys)}
        )
        for one in range(systems)
    }
    ids = store.identify(evalset.images()).ids
    save(store, "bench", evalset, named, ids)
    space = store.custom_space(FakeEncoder(DIM), "fake")
    space.ensure_images(evalset.images())
    measure_systems(space, load_systems(store, EvalSet.load(store, "bench")), EvalSet.load(store, "bench"))
    return store


def timed(folder: Path) -> tuple[dict[str, float], str]:
    """Open the store anew and compare; return the seconds of each stage, and the table."""
    stages: dict[str, float] = {}
    start, clock = time.perf_counter(), time.process_time()
    with Store.open(folder) as store:
        evalset = EvalSet.load(store, "bench")
        systems = load_systems(store, evalset)
        stages["read set and systems"] = time.perf_counter() - start
        space = store.custom_space(FakeEncoder(DIM), "fake")
        at = time.perf_counter()
        measured = measure_systems(space, systems, evalset, encode=False)
        stages["gather and score"] = time.perf_counter() - at
        at = time.perf_counter()
        done = compare(measured)
        stages["statistics"] = time.perf_counter() - at
        at = time.perf_counter()
        shown = str(done)
        stages["print"] = time.perf_counter() - at
    stages["all"] = time.perf_counter() - start
    stages["all, CPU"] = time.process_time() - clock
    return stages, shown


def against_scipy(images: int) -> float:
    """Return how many times quicker one pair-resample is here than in SciPy, on the same numbers."""
    from scipy.stats import permutation_test

    rng = np.random.default_rng(1)
    scores = rng.normal(0.7, 0.1, (30, images)).astype(np.float32)
    start = time.perf_counter()
    found = analyse(scores, settings=Settings())
    ours = (time.perf_counter() - start) / (len(found.pairs) * found.resamples)
    start = time.perf_counter()
    for other in range(1, 1 + SCIPY_PAIRS):
        differences = (scores[0] - scores[other]).astype(np.float64)
        permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=SCIPY_RESAMPLES)
    theirs = (time.perf_counter() - start) / (SCIPY_PAIRS * SCIPY_RESAMPLES)
    return theirs / ours


def main() -> int:
    """Print the table of times; return 1 where a claim fails."""
    systems, images = (int(one) for one in sys.argv[1:3]) if len(sys.argv) > 2 else (30, 5000)
    with tempfile.TemporaryDirectory(prefix="clipstore-bench-") as place:
        folder = Path(place) / "store"
        filled(folder, systems, images).close()
        stages, shown = timed(folder)
    print(shown.splitlines()[0])
    print(shown.splitlines()[1])
    for stage, seconds in stages.items():
        print(f"{stage:<22}{seconds:8.2f} s")
    ratio = against_scipy(images)
    print(f"statistics against scipy.stats.permutation_test, per pair and resample: {ratio:,.0f}x")
    small, large = (_statistics(systems, count) for count in (images // 2, images))
    print(f"images doubled: statistics x{large / small:.2f}")
    few = _statistics(max(2, systems // 2), images)
    print(f"systems doubled: statistics x{large / few:.2f}")
    return 0 if stages["all"] < LIMIT and ratio > 50 else 1


def _statistics(systems: int, images: int) -> float:
    scores = np.random.default_rng(2).normal(0.7, 0.1, (systems, images)).astype(np.float32)
    start = time.perf_counter()
    analyse(scores)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
