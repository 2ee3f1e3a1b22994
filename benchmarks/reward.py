"""Rewards of cached captions: pairs a second through ``RewardScorer``, beside the bare arithmetic.

Claim: at least 200,000 pairs a second, or within 3 times of the memory-bound figure (gather both
sides, one dot product a pair, on the same arrays).

    python benchmarks/reward.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import PIL.Image

from clipstore import EvalSet, Store
from clipstore.rerank import RewardScorer

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 7
IMAGES, CAPTIONS, PAIRS = 1000, 20_000, 40_000


def rate(work: Callable[[], object]) -> float:
    """Return the median pairs a second."""
    took = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return PAIRS / statistics.median(took)


def main() -> None:
    """Time three kinds of call."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name) / "store") as store:
        space = store.space("fake:512")
        images = {i: PIL.Image.new("RGB", (4, 4), (i % 256, i // 256, 0)) for i in range(IMAGES)}
        evalset = EvalSet.read(images=images, refs={i: [f"reference {i}"] for i in range(IMAGES)})
        captions = [f"a caption of {i} words or so, about as long as captions are" for i in range(CAPTIONS)]
        space.ensure_texts(captions, "A photo depicts ")
        scorer = RewardScorer(space, evalset)
        ids = random.integers(0, IMAGES, PAIRS).tolist()
        places = random.integers(0, CAPTIONS, PAIRS)
        texts = [captions[place] for place in places.tolist()]
        pictures, vectors = scorer._images, space.gather_texts(space.text_keys(captions, "A photo depicts "))
        rows = np.array([scorer._row[id_] for id_ in ids])

        def bare() -> np.ndarray:
            return np.einsum("ij,ij->i", pictures[rows], vectors[places])

        def from_store() -> np.ndarray:
            return RewardScorer(space, evalset)(ids, texts)

        assert np.allclose(2.5 * np.maximum(bare(), 0), scorer(ids, texts), atol=1e-5)
        base = rate(bare)
        print(f"{PAIRS} pairs of {IMAGES} images and {CAPTIONS} captions, 512 dimensions (median of {REPEATS})")
        print(f"{'bare NumPy gather + dot':44s} {base:12,.0f} pairs/s")
        for title, work in (
            ("RewardScorer, captions seen before", lambda: scorer(ids, texts)),
            ("... with the group as baseline", lambda: scorer(ids, texts, group=True)),
            ("a new RewardScorer, captions in the store", from_store),
        ):
            found = rate(work)
            print(f"{title:44s} {found:12,.0f} pairs/s   1/{base / found:.2f} of bare")


if __name__ == "__main__":
    main()
