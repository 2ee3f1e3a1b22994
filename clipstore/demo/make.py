"""The demo's files: drawn images, references, and the captions of three systems of different quality."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.demo import scenes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clipstore.demo.scenes import Scene

FIRST_SEED = 5_000_000
"""Scenes from this seed on were never seen in training."""

SYSTEMS: dict[str, Callable[[Scene, random.Random], str]] = {
    "good": scenes.good_caption,
    "mixed": scenes.mixed_caption,
    "poor": scenes.poor_caption,
}


@final
@dataclass(frozen=True, slots=True)
class Files:
    """Where the demo's files lie.

    Parameters
    ----------
    images
        Folder of the drawn images.
    references
        References in the official layout.
    systems
        Name -> captions in COCO results layout.
    """

    images: Path
    references: Path
    systems: dict[str, Path]


def make(folder: Path, count: int = 200) -> Files:
    """Draw scenes and write their images, references and captions into a folder.

    Parameters
    ----------
    folder
        Made if absent; files of these names are written over.
    count
        How many scenes.
    """
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    references: dict[str, list[str]] = {}
    captions: dict[str, list[dict[str, object]]] = {name: [] for name in SYSTEMS}
    for number in range(count):
        scene = scenes.draw(FIRST_SEED + number)
        stem = f"scene_{number:06d}"
        scene.image.save(images / f"{stem}.png")
        references[stem] = list(scene.references)
        for name, write in SYSTEMS.items():
            rng = random.Random(f"{name} {number}")  # noqa: S311 - a caption, not a secret
            captions[name].append({"image_id": number, "caption": write(scene, rng)})
    files = Files(images, folder / "references.json", {name: folder / f"{name}.json" for name in SYSTEMS})
    files.references.write_text(json.dumps(references, indent=1), encoding="utf-8")
    for name, rows in captions.items():
        files.systems[name].write_text(json.dumps(rows), encoding="utf-8")
    return files
