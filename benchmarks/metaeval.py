"""A benchmark the size of Flickr8k-CF: the table from a warm store, and the interval of a tau.

Claims: 47,830 pairs of 1,000 images for CLIP-S and RefCLIP-S from a warm store in under 5 s;
tau of 47,830 pairs with 1,000 bootstrap resamples of images in under 60 s.

    python benchmarks/metaeval.py [PAIRS IMAGES]

Vectors are the fake encoder's: a gather and a score cost the same whatever made them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import PIL.Image

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.metaeval import Ratings, intervals, metaeval
from clipstore.metaeval.tau import Ordered

PAIRS, IMAGES, CAPTIONS, REFERENCES, DIM = 47_830, 1_000, 1_000, 5, 512
TABLE_LIMIT, TAU_LIMIT, RESAMPLES = 5.0, 60.0, 1_000


def drawn(folder: Path, pairs: int, images: int) -> Ratings:
    """Return ratings of as many pairs, with a picture written for each image."""
    folder.mkdir()
    for row in range(images):
        colour = (row % 256, row // 256 % 256, 90)
        PIL.Image.new("RGB", (8, 8), colour).save(folder / f"img{row:05d}.png")
    rng = np.random.default_rng(0)
    own = [row % images for row in range(pairs)]
    votes = rng.integers(3, 7, pairs)
    return Ratings(
        "made-up",
        tuple(f"img{row:05d}.jpg" for row in own),
        tuple(f"caption {(row // images + row * 17) % CAPTIONS} says a few words more" for row in range(pairs)),
        tuple(tuple(f"reference {number} of image {row}" for number in range(REFERENCES)) for row in own),
        (rng.integers(0, 7, pairs) % (votes + 1) / votes)[:, None],
        "tau_b",
    )


def main(pairs: int = PAIRS, images: int = IMAGES) -> int:
    """Measure both; return 1 where a claim does not hold."""
    metrics = ["clip-s", "ref-clip-s"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        judged = drawn(folder / "images", pairs, images)
        with Store.open(folder / "store") as store:
            space = store.custom_space(FakeEncoder(DIM), "fake")
            metaeval(judged, space, images=folder / "images", metrics=metrics, resamples=0)
        with Store.open(folder / "store") as store:
            start = time.perf_counter()
            space = store.custom_space(FakeEncoder(DIM), "fake")
            done = metaeval(judged, space, images=folder / "images", metrics=metrics, resamples=0, encode=False)
            table = time.perf_counter() - start
    print(done)
    rows, values = judged.flat()
    start = time.perf_counter()
    intervals.of_agreement(
        Ordered(done.scores["clip-s"][rows], values), intervals.image_numbers(judged.images), RESAMPLES, 0
    )
    tau = time.perf_counter() - start
    print(f"{pairs:,} pairs, CLIP-S and RefCLIP-S from a warm store: {table:.2f} s (claim: under {TABLE_LIMIT:.0f} s)")
    print(f"tau with {RESAMPLES:,} resamples of {images:,} images: {tau:.1f} s (claim: under {TAU_LIMIT:.0f} s)")
    return 0 if table < TABLE_LIMIT and tau < TAU_LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
