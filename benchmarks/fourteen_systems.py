"""The 14 systems of ../shared/data/coco200, from an empty store, against the official procedure once a system.

Claim: at least 20x for images, references and candidates together. ViT-B/32 on the CPU, random weights, fp32, the
same file for both sides. The official procedure costs the same for each system, so it is run for the first
few systems and its time multiplied up; nothing of ours is. CPU seconds with one thread of torch, or wall seconds.

    python benchmarks/fourteen_systems.py [images, 40] [systems run officially, 1] [cpu | wall]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from rivals import official, random_model, timing

import clipstore as cs

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CLIPSTORE_SHARED_DATA", HERE.parent.parent / "shared" / "data"))


def main() -> None:
    """Time both and print the ratio."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    rivals = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    wall = sys.argv[3:] == ["wall"]
    clock = time.perf_counter if wall else time.process_time
    if not wall:
        torch.set_num_threads(1)
    data = SHARED / "coco200"
    references = dict(list(json.loads((data / "references.json").read_text()).items())[:count])
    files = {int(path.stem.rsplit("_", 1)[-1]): path for path in (data / "images").iterdir()}
    systems = {}
    for path in sorted((data / "systems").glob("*.json")):
        rows = {str(row["image_id"]): row["caption"] for row in json.loads(path.read_text())}
        systems[path.stem] = {key: rows[key] for key in references if key in rows}
    systems = {name: captions for name, captions in systems.items() if len(captions) == len(references)}
    print(timing.machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, transform, tokenizer, weights = random_model.rival(folder)
        start = clock()
        with cs.Store.open(folder / "store") as store:
            space = store.space(random_model.ARCHITECTURE, weights=weights, device="cpu")
            evalset = cs.EvalSet.read(images=data / "images", refs=references)
            cs.score(space, systems, evalset)
            ours = clock() - start
            start = clock()
            cs.score(space, systems, evalset)
            again = clock() - start
        start = clock()
        for captions in list(systems.values())[:rivals]:
            official.score(
                model,
                transform,
                tokenizer,
                [files[int(key)] for key in references],
                list(captions.values()),
                list(references.values()),
            )
        rival = (clock() - start) / rivals * len(systems)
    print(f"{len(systems)} systems, {count} images, {sum(map(len, references.values()))} references; load included")
    print(f"official procedure, once a system ({rivals} run)   {rival:9.1f} s")
    print(f"clipstore, empty store                        {ours:9.1f} s {rival / ours:8.1f}x")
    print(f"clipstore, second run                         {again:9.2f} s {rival / again:8.0f}x")


if __name__ == "__main__":
    main()
