"""On a CUDA device: images and texts end to end against the bare model; says so where there is none.

Claim: at least 90 % of the bare model's rate on ready tensors. ViT-B/32, random weights, fp32 and fp16; photographs
of ../shared/data/coco200 repeated to ``images``, else drawn ones.

    python benchmarks/cuda.py [images, 4000] [texts, 20000] [repeats, 3]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import torch
from memory_images import drawn
from rivals import official, random_model, timing

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CLIPSTORE_SHARED_DATA", HERE.parent.parent / "shared" / "data"))
BATCH = 256


def photographs(count: int) -> list[bytes]:
    """Return the bytes of ``count`` images."""
    folder = SHARED / "coco200" / "images"
    if not folder.is_dir():
        return [drawn(number) for number in range(count)]
    files = [path.read_bytes() for path in sorted(folder.iterdir())]
    return (files * (count // len(files) + 1))[:count]


def captions(count: int) -> list[str]:
    """Return distinct captions with the prefix."""
    things = ("dog", "cat", "man", "woman", "child", "red car", "small boat", "old train")
    places = ("on a beach", "in the rain", "near a lake", "under a tree", "beside a busy road")
    return [
        f"{official.PREFIX}a {things[n % 8]} {places[n // 8 % 5]} with {n} flowers in the background"
        for n in range(count)
    ]


def main() -> None:
    """Time all in turns and print the table."""
    if not torch.cuda.is_available():
        print("not run: this machine has no CUDA device")
        return
    numbers = [int(one) for one in sys.argv[1:]]
    images, texts, repeats = numbers + [4000, 20_000, 3][len(numbers) :]
    files, said = photographs(images), captions(texts)
    print(timing.machine(), torch.cuda.get_device_name())
    with tempfile.TemporaryDirectory() as name:
        model, _, tokenizer, weights = random_model.rival(Path(name))
        encoders = {one: random_model.encoder(weights, device="cuda", precision=one) for one in ("fp32", "fp16")}
        auto = random_model.encoder(weights, device="cuda", precision="fp16", batch_size="auto").image_batch
    print(f"--batch-size auto found {auto} in fp16")
    for precision, dtype in (("fp32", torch.float32), ("fp16", torch.float16)):
        bare = model.cuda().to(dtype)
        ready = torch.randn(BATCH, 3, 224, 224, device="cuda", dtype=dtype)
        ids = tokenizer(said[:BATCH]).cuda()

        def run(call: object, batch: torch.Tensor, count: int) -> int:
            with torch.inference_mode():
                for _ in range(0, count, BATCH):
                    call(batch)
            torch.cuda.synchronize()
            return count

        encoder, base = encoders[precision], f"bare model on ready tensors, {precision}"
        encoder.encode_images(files[:BATCH])
        rates = timing.medians(
            {
                base: lambda bare=bare, ready=ready: run(bare.encode_image, ready, images),
                f"clipstore, {precision}, images": lambda encoder=encoder: len(encoder.encode_images(files)),
            },
            repeats,
        )
        timing.show(rates, base, "images")
        base = f"bare model, 77 tokens, {precision}"
        rates = timing.medians(
            {
                base: lambda bare=bare, ids=ids: run(bare.encode_text, ids, texts),
                f"clipstore, {precision}, texts": lambda encoder=encoder: len(encoder.encode_texts(said)),
            },
            repeats,
        )
        timing.show(rates, base, "texts")


if __name__ == "__main__":
    main()
