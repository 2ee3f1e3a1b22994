"""Images a second, ViT-B/32 on the CPU: end to end against the bare model, and the fast transform against the official.

Claims: end to end (decoding included) at least 95 % of the bare model's rate on ready tensors in fp32; bf16 weights at
least 3x the official procedure on a CPU with AMX; preprocess="fast" alone at least 1.8x the official transform.
Photographs of ../shared/data/coco200. Timed in CPU seconds with one thread of torch, which others on the machine
disturb least: decoding then counts in full, though it runs beside the model. ``wall``: wall seconds, all threads.

    python benchmarks/image_speed.py [photographs, 200] [repeats, 3] [cpu | wall]
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from pathlib import Path

import PIL.Image
import torch
from rivals import official, random_model, timing

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CLIPSTORE_SHARED_DATA", HERE.parent.parent / "shared" / "data"))
BATCH = 64


def preprocessing(transform: object, encoders: dict[str, object], files: list[bytes], repeats: int) -> None:
    """Time decoding and resizing alone."""
    variants = {"official transform": lambda: [transform(PIL.Image.open(io.BytesIO(file))) for file in files]}
    for name, encoder in encoders.items():
        variants[name] = lambda encoder=encoder: [encoder.prepare_image(file) for file in files]
    counted = {name: lambda run=run: len(run()) for name, run in variants.items()}
    rates = timing.medians(counted, 2 * repeats + 1, time.thread_time)
    timing.show(rates, "official transform", "images")


def main() -> None:
    """Time all in turns and print the tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    wall = sys.argv[3:] == ["wall"]
    if not wall:
        torch.set_num_threads(1)
    paths = sorted((SHARED / "coco200" / "images").iterdir())[:count]
    files = [path.read_bytes() for path in paths]
    with tempfile.TemporaryDirectory() as name:
        model, transform, _, weights = random_model.rival(Path(name))
        exact = random_model.encoder(weights, device="cpu")
        fast = random_model.encoder(weights, device="cpu", preprocess="fast")
        half = random_model.encoder(weights, device="cpu", precision="bf16")
    ready = torch.stack([transform(PIL.Image.open(path)) for path in paths])

    def bare() -> int:
        with torch.inference_mode():
            for start in range(0, len(ready), BATCH):
                model.encode_image(ready[start : start + BATCH])
        return len(ready)

    def script() -> int:
        return len(official.encode_images(model, transform, paths, BATCH))

    print(timing.machine())
    print(f"{len(paths)} photographs; preprocessing alone, CPU seconds of one thread")
    preprocessing(transform, {"clipstore exact": exact, "clipstore fast": fast}, files, repeats)
    bare_name = "bare model on ready tensors, fp32"
    rates = timing.medians(
        {
            bare_name: bare,
            "official procedure, fp32": script,
            "clipstore, fp32, exact": lambda: len(exact.encode_images(files)),
            "clipstore, fp32, fast": lambda: len(fast.encode_images(files)),
            "clipstore, bf16 weights, exact": lambda: len(half.encode_images(files)),
        },
        repeats,
        time.perf_counter if wall else time.process_time,
    )
    print(f"end to end, {'wall' if wall else 'CPU'} seconds, rivals in batches of {BATCH}, median of {repeats}")
    timing.show(rates, bare_name, "images")
    ratio = rates["clipstore, bf16 weights, exact"] / rates["official procedure, fp32"]
    print(f"bf16 weights against the official procedure in fp32: {ratio:.2f}x")


if __name__ == "__main__":
    main()
