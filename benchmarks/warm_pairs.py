"""Claim: a warm score through the store costs at most 3 times the bare NumPy on matrices already gathered.

35,000 cached (image, caption) pairs, five references an image, to per-item CLIP-S and
RefCLIP-S: seven systems on 5,000 images, and one system on 35,000. Then the whole command
``clipstore score -t SET`` on the first: under 2 s, torch not imported.

    python benchmarks/warm_pairs.py [IMAGES]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measured import machine
from measured.stores import DIM, MODEL, PREFIX, add, unit_vectors

from clipstore import EvalSet, Store, keys
from clipstore.evalset.saved import load_systems
from clipstore.evaluate.verb import score_systems
from clipstore.metrics import recipes
from clipstore.storage.catalogue import sets
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.store.writing import Writer

EACH, REPEATS, LIMIT = 5, 7, 2.0
ROOT = Path(__file__).resolve().parent.parent


def make(folder: Path, images: int, systems: int) -> None:
    """Make a store with everything that scoring needs, images included, and nothing to encode."""
    digests = [keys.sha256(str(row).encode()) for row in range(images)]
    ids = [keys.from_sha256(digest) for digest in digests]
    references = [[f"words {one} about picture {row} with a horse" for one in range(EACH)] for row in range(images)]
    captions = [[f"system {one} sees a horse in picture {row}" for row in range(images)] for one in range(systems)]
    with Store.open(folder) as store:
        space = store.space(MODEL)
        add(store, space, [text for row in references for text in row] + [text for row in captions for text in row])
        writer = Writer(store.catalogue, space._row, "image", {"device": "fake"})
        rows = [ImageRow(id_, digest, 1, "RGB", 1, 1) for id_, digest in zip(ids, digests, strict=True)]
        writer.add_images(np.array(ids, np.int64), unit_vectors(images, 5), rows)
        writer.flush()
        with store.catalogue.write() as tx:
            items = [ItemRow(row, ids[row], tuple(references[row]), {}) for row in range(images)]
            sets.add(tx, "coco", items, "0" * 64, {})
            for one in range(systems):
                said = [CandidateRow(row, 0, captions[one][row]) for row in range(images)]
                sets.add_system(tx, "coco", f"system{one}", f"{one}", said, {})


def through_store(folder: Path) -> np.ndarray:
    """Open the store, load the set and its systems, score; nothing is kept from one call to the next."""
    with Store.open(folder) as store:
        evalset = EvalSet.load(store, "coco")
        systems = load_systems(store, evalset, [])
        scores = score_systems(store.space(MODEL), systems, evalset, recipes.HESSEL2021)
    return np.stack([[one.metrics[name].per_item for name in ("clip-s", "ref-clip-s")] for one in scores.systems])


def gathered(folder: Path, images: int, systems: int) -> list[np.ndarray]:
    """Return images (images, dim), captions (systems, images, dim), references (images, each, dim)."""
    with Store.open(folder) as store:
        space = store.space(MODEL)
        with store.catalogue.read() as tx:
            found = sets.get(tx, "coco")
        assert found is not None
        pictures = space.gather_images(np.array([item.image_id for item in found.items], np.int64))
        texts = [text for item in found.items for text in item.references]
        references = space.gather_texts(space.text_keys(texts, PREFIX)).reshape(images, EACH, DIM)
        said = [f"system {one} sees a horse in picture {row}" for one in range(systems) for row in range(images)]
        captions = space.gather_texts(space.text_keys(said, PREFIX)).reshape(systems, images, DIM)
    return [pictures, captions, references]


def bare(pictures: np.ndarray, captions: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return CLIP-S and RefCLIP-S of every pair, with NumPy alone."""
    weight = recipes.HESSEL2021.weight
    results = []
    for said in captions:
        image = weight * np.maximum(np.einsum("nd,nd->n", said, pictures), 0)
        reference = np.maximum(np.einsum("nd,nkd->nk", said, references).max(axis=1), 0)
        total = image + reference
        joined = np.divide(2 * image * reference, total, out=np.zeros_like(image), where=total > 0)
        results.append([image, joined])
    return np.array(results)


def compare(folder: Path, images: int, systems: int) -> None:
    """Print the time through the store, of bare NumPy, and their ratio."""
    matrices = gathered(folder, images, systems)
    if not np.allclose(through_store(folder), bare(*matrices), atol=1e-5):
        print("the numbers differ")
    ours = machine.repeated(lambda: through_store(folder), REPEATS)
    numpy = machine.repeated(lambda: bare(*matrices), REPEATS)
    print(f"{systems} systems x {images:,} images: store {machine.spread(ours)}, bare NumPy {machine.spread(numpy)}")
    print(f"  store / bare NumPy: {machine.verdict(statistics.median(ours) / statistics.median(numpy), 3)}")


def command(folder: Path) -> None:
    """Print the wall time of the whole command, and whether it imported torch."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "cli"), os.environ.get("PYTHONPATH", "")])
    code = (
        "import sys; from clipstore_cli.main import run\n"
        "try:\n    run()\nfinally:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    arguments = ["score", "-t", "coco", "--store", str(folder), "--model", MODEL]
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        taken.append(time.perf_counter() - start)
        if "True" in done.stderr.splitlines()[-1]:
            print("torch was imported")
    print(f"clipstore score -t SET, the whole command: {machine.spread(taken)}")
    print(f"  {machine.verdict(statistics.median(taken), LIMIT, ' s')}")


def main() -> None:
    """Measure both shapes and the command."""
    images = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    print(machine.line("numpy", "sqlalchemy"))
    with tempfile.TemporaryDirectory() as spare:
        make(Path(spare) / "seven", images, 7)
        compare(Path(spare) / "seven", images, 7)
        command(Path(spare) / "seven")
        make(Path(spare) / "one", 7 * images, 1)
        compare(Path(spare) / "one", 7 * images, 1)


if __name__ == "__main__":
    main()
