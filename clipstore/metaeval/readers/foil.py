"""FOIL: a caption against the same caption with one noun changed, with one and with four references.

Shekhar et al. 2017 (arXiv 1705.01359), on COCO val2014 images. As in the CLIPScore paper one
(foil, true) pair is drawn for each test image, and the true caption is no reference.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.errors import BadFormat
from clipstore.metaeval.protocols import Pairs
from clipstore.metaeval.readers.files import Wanted, find_all, joined, read_json

if TYPE_CHECKING:
    from pathlib import Path

FOILS: Final = Wanted(
    "foilv1.0_test_2017.json", "foilunitn.github.io", "32,150 images, 198,960 captions, half of them foils"
)
COCO: Final = Wanted("captions_val2014.json", "annotations_trainval2014.zip of cocodataset.org", "40,504 images")
SEED: Final = 0
SIZES: Final = (1, 4)


def read(folder: Path, seed: int = SEED) -> Pairs:
    """Read FOIL: A is the true caption, B the foil; categories are the numbers of references.

    Parameters
    ----------
    folder
        Holds ``foilv1.0_test_2017.json`` and COCO's ``captions_val2014.json``.
    seed
        Of the pair drawn for each image, and of its one reference.
    """
    path, coco = find_all(folder, FOILS, COCO)
    known: dict[int, list[str]] = {}
    for one in _list(read_json(coco), "annotations", coco):
        known.setdefault(one["image_id"], []).append(joined(one["caption"]))
    value = read_json(path)
    names = {one["id"]: one["file_name"] for one in _list(value, "images", path)}
    pairs = _pairs(_list(value, "annotations", path), path)
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    rows: list[tuple[str, str, str, tuple[str, ...]]] = []
    lost = 0
    for image, own in pairs.items():
        true, foil = rng.choice(own)
        references = [one for one in known.get(image, []) if one != true]
        if len(references) < max(SIZES):
            lost += 1
            continue
        chosen = tuple(rng.sample(references, max(SIZES)))
        rows.append((names.get(image, f"COCO_val2014_{image:012d}.jpg"), true, foil, chosen))
    draws = [tuple(row[3][:size] for row in rows) for size in SIZES]
    return Pairs(
        "foil",
        tuple(row[0] for row in rows) * len(SIZES),
        tuple(row[1] for row in rows) * len(SIZES),
        tuple(row[2] for row in rows) * len(SIZES),
        (draws[0] + draws[1],),
        np.zeros(len(SIZES) * len(rows), np.int64),
        ("1 reference",) * len(rows) + ("4 references",) * len(rows),
        {"image with fewer than 4 other references": lost},
        (f"one pair an image, seed {seed}; PAC-S uses an 8,000-image subset, Polos every foil: not comparable",),
    )


def _pairs(annotations: list[dict[str, Any]], path: Path) -> dict[int, list[tuple[str, str]]]:
    """Return image -> its (true caption, foil) pairs: a foil names the caption that it was made from by ``id``."""
    try:
        true = {one["id"]: joined(one["caption"]) for one in annotations if not one["foil"]}
        out: dict[int, list[tuple[str, str]]] = {}
        for one in annotations:
            if one["foil"] and one["id"] in true:
                out.setdefault(one["image_id"], []).append((true[one["id"]], joined(one["caption"])))
    except (KeyError, TypeError) as error:
        msg = f"{path.name}: annotations need id, image_id, caption and foil: {error!r}"
        raise BadFormat(msg) from error
    return out


def _list(value: Any, name: str, path: Path) -> list[dict[str, Any]]:
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, list):
        msg = f"{path.name}: has no list {name!r}"
        raise BadFormat(msg)
    return found
