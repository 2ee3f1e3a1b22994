"""Distinct texts a second, ViT-B/32 on the CPU, against the official ``extract_all_captions`` procedure.

Claim: at least 4.5x in fp32 with features equal within 1e-5 in cosine. Texts are a fixed sample of the
distinct captions and references of ../shared/data/karpathy, with the prefix; tokenising counts for both.
The official procedure costs the same for each text (77 tokens), so it gets a share of the sample.
Random weights: the same file for both sides.

Timed in CPU seconds of one thread, which others on the machine disturb least; ``wall`` for wall seconds of all threads.

    python benchmarks/text_speed.py [texts, 4000] [repeats, 3] [cpu | wall]
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from rivals import official, random_model, timing

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CLIPSTORE_SHARED_DATA", HERE.parent.parent / "shared" / "data"))
SHARE = 16  # the official procedure gets one in so many texts


def sample(count: int) -> list[str]:
    """Return distinct captions and references, drawn with a fixed seed."""
    folder = SHARED / "karpathy"
    texts = {
        row["caption"] for path in sorted((folder / "systems").glob("*.json")) for row in json.loads(path.read_text())
    }
    texts |= {row["caption"] for row in json.loads((folder / "annotations.json").read_text())["annotations"]}
    return random.Random(0).sample(sorted(texts), count)


def main() -> None:
    """Time all in turns, compare the features, print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    wall = sys.argv[3:] == ["wall"]
    if not wall:
        torch.set_num_threads(1)
    texts = sample(count)
    few = texts[: max(32, count // SHARE)]
    with tempfile.TemporaryDirectory() as name:
        model, _, tokenizer, weights = random_model.rival(Path(name))
        full, half = (random_model.encoder(weights, device="cpu", precision=one) for one in ("fp32", "bf16"))
    prefixed = [official.PREFIX + text for text in texts]

    def rival() -> int:
        official.encode_texts(model, tokenizer, few)
        return len(few)

    def run(encoder: object) -> int:
        encoder.encode_texts(prefixed)
        return len(prefixed)

    base = "official procedure, fp32"
    rates = timing.medians(
        {base: rival, "clipstore, fp32": lambda: run(full), "clipstore, bf16 weights": lambda: run(half)},
        repeats,
        time.perf_counter if wall else time.process_time,
    )
    theirs = official.encode_texts(model, tokenizer, few)
    own, short = full.encode_texts(prefixed), half.encode_texts(prefixed)
    gaps = [1 - (theirs * found[: len(few)]).sum(1).min() for found in (own, short)]
    tokens = np.mean([len(item.ids) for item in full.tokenize([text.lower() for text in prefixed])])
    print(timing.machine())
    print("wall seconds, all threads" if wall else "CPU seconds, one thread")
    print(f"{count} distinct texts, {tokens:.1f} tokens in the mean with prefix, start and end; median of {repeats}")
    timing.show(rates, base, "texts")
    print(f"largest 1 - cosine to the official features: fp32 {gaps[0]:.1e}, bf16 {gaps[1]:.1e}")


if __name__ == "__main__":
    main()
