"""Golden values of CLIP-S and RefCLIP-S: embeddings, and what the official formula gives for them.

command:  python tests/golden/make.py
numpy:    2.4.6
formula:  written from its description (Hessel et al. 2021, arXiv 2104.08718, and jmhessel/clipscore
          as read): every vector over its own norm; 2.5 times the clipped cosine of image and
          candidate; the harmonic mean of that and the largest clipped cosine of candidate and
          reference. In float64 and one pair at a time: it shares no code with clipstore.
file:     hessel2021.npz; all arrays float32 but ``owner`` and ``expected_*``

Pairs 0 to 3 are the corners: a candidate that points away from its image (0, where the official
code also gives 0), one whose references all point away (0 by the paper; the official code forgets
this clip), one where both are so (0; the official code divides 0 by 0), and one that equals its
image and its reference (2.5 and 2 * 2.5 / 3.5). Pair 4 has no reference (NaN: not defined). The
rest are drawn to lean one way, as CLIP's vectors do; pair ``i`` has between one and five references.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

PAIRS, DIM, SEED = 40, 32, 2021
FILE = Path(__file__).with_name("hessel2021.npz")


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Return the cosine of two vectors, each divided by its own norm first."""
    one, other = one.astype(np.float64), other.astype(np.float64)
    return float(np.dot(one / np.sqrt(np.dot(one, one)), other / np.sqrt(np.dot(other, other))))


def clip_score(image: np.ndarray, candidate: np.ndarray) -> float:
    """Return w * max(cos, 0) with w = 2.5."""
    return 2.5 * max(cosine(image, candidate), 0.0)


def ref_clip_score(image: np.ndarray, candidate: np.ndarray, references: list[np.ndarray]) -> float:
    """Return the harmonic mean of CLIP-S and the best clipped reference cosine; NaN without references."""
    if not references:
        return float("nan")
    one = clip_score(image, candidate)
    other = max(max(cosine(candidate, reference), 0.0) for reference in references)
    return 0.0 if one == 0 or other == 0 else 2 * one * other / (one + other)


def drawn() -> tuple[np.ndarray, np.ndarray, list[list[np.ndarray]]]:
    """Return image and candidate vectors, float32 of shape (PAIRS, DIM), and the references of each pair."""
    rng = np.random.default_rng(SEED)

    def some(rows: int) -> np.ndarray:
        return (rng.standard_normal((rows, DIM)) + 0.5).astype(np.float32)

    images, candidates = some(PAIRS), some(PAIRS)
    references = [list(some(1 + pair % 5)) for pair in range(PAIRS)]
    candidates[0] = -images[0]
    references[1] = [-candidates[1], -2 * candidates[1]]
    candidates[2] = -images[2]
    references[2] = [-candidates[2]]
    candidates[3] = images[3]
    references[3] = [3 * images[3]]
    references[4] = []
    return images, candidates, references


def main() -> None:
    """Write the file."""
    images, candidates, references = drawn()
    pairs = list(zip(images, candidates, references, strict=True))
    np.savez(
        FILE,
        images=images,
        candidates=candidates,
        references=np.array([one for own in references for one in own], np.float32),
        owner=np.array([pair for pair, own in enumerate(references) for _ in own], np.int64),
        expected_clip_s=np.array([clip_score(image, caption) for image, caption, _ in pairs]),
        expected_ref_clip_s=np.array([ref_clip_score(*pair) for pair in pairs]),
    )


if __name__ == "__main__":
    main()
