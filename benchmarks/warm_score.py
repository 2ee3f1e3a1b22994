"""A second ``clipstore score`` of many systems, against the official procedure run for each system.

Claim: once encoded, scoring is a look-up. Same model (tiny), same images, same captions. Uses the
14 systems on 200 photographs of ../shared/data/coco200 where they are, else drawn scenes.

    python benchmarks/warm_score.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import open_clip
from rivals import official
from safetensors.torch import load_file

from clipstore.demo.make import make

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CLIPSTORE_SHARED_DATA", HERE.parent.parent / "shared" / "data"))
REPEATS = 5


def tiny() -> tuple[open_clip.model.CLIP, object, object]:
    """Return the shipped model through plain open_clip."""
    folder = HERE.parent / "clipstore" / "encoders" / "tiny"
    config = json.loads((folder / "config.json").read_text())
    model = open_clip.model.CLIP(**config)
    model.load_state_dict({name: value.float() for name, value in load_file(folder / "model.safetensors").items()})
    size = config["vision_cfg"]["image_size"]
    transform = open_clip.image_transform(size, is_train=False, resize_mode="shortest", interpolation="bicubic")
    return model.eval(), transform, open_clip.tokenizer.SimpleTokenizer()


def material(folder: Path) -> tuple[Path, Path, dict[str, Path]]:
    """Return images, references and systems: real photographs, or drawn scenes as 14 systems."""
    real = SHARED / "coco200"
    if real.is_dir():
        systems = {path.stem: path for path in sorted((real / "systems").glob("*.json"))}
        return real / "images", real / "references.json", systems
    files = make(folder / "drawn", 200)
    names = list(files.systems.values())
    return files.images, files.references, {f"system-{i}": names[i % len(names)] for i in range(14)}


def main() -> None:
    """Time both and print the ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        images, refs, systems = material(folder)
        command = [sys.executable, "-m", "clipstore", "score", *(f"{n}={p}" for n, p in systems.items())]
        command += ["--images", str(images), "--refs", str(refs), "--model", "tiny", "--missing", "skip"]
        command += ["--store", str(folder / "store"), "-q"]
        took = []
        for _ in range(REPEATS + 1):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            took.append(time.perf_counter() - start)
        cold, warm = took[0], statistics.median(took[1:])
        model, transform, tokenizer = tiny()
        references = json.loads(refs.read_text())
        files = {path.stem: path for path in images.iterdir()}
        numbers = {int(stem.rsplit("_", 1)[-1]): path for stem, path in files.items()}
        start = time.perf_counter()
        for path in systems.values():
            rows = [row for row in json.loads(path.read_text()) if int(row["image_id"]) in numbers]
            keys = [str(row["image_id"]) for row in rows]
            keyed = [references.get(key) or references[numbers[int(key)].stem] for key in keys]
            paths = [numbers[int(row["image_id"])] for row in rows]
            official.score(model, transform, tokenizer, paths, [row["caption"] for row in rows], keyed)
        rival = time.perf_counter() - start
    print(f"{len(systems)} systems, {len(references)} images, tiny model, whole command (median of {REPEATS})")
    print(f"{'official procedure, once a system':40s} {rival:8.2f} s")
    print(f"{'clipstore score, first run':40s} {cold:8.2f} s   {rival / cold:6.1f}x")
    print(f"{'clipstore score, second run':40s} {warm:8.2f} s   {rival / warm:6.1f}x")


if __name__ == "__main__":
    main()
