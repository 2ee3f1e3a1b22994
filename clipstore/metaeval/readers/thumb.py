"""THumB: 500 COCO images, captions of four systems and one person, rated for precision and recall.

Kasai et al. 2022 (arXiv 2111.08940): human_score = (P + R) / 2 + fluency + conciseness +
inclusive language, the last three being penalties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.errors import BadFormat
from clipstore.formats import read_references
from clipstore.metaeval.pictures import image_key
from clipstore.metaeval.protocols import Ratings
from clipstore.metaeval.readers.files import Wanted, column, joined, number, records

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.metaeval.protocols import References

_ORIGIN: Final = "github.com/jungokasai/THumB, folder mscoco"
RATED: Final = Wanted("mscoco_THumB-1.0.jsonl", _ORIGIN, "2,500 lines, 585,296 bytes")
REFERENCES: Final = Wanted("mscoco_references.json", _ORIGIN, "500 lines of seg_id and four refs")
COCO: Final = Wanted("captions_val2014.json", "annotations_trainval2014.zip of cocodataset.org", "40,504 images")
KARPATHY: Final = Wanted("annotations.json", "the Karpathy test split in COCO's layout", "5,000 images")
_PARTS: Final = (("P",), ("R",), ("Fl", "Flu"), ("Con",), ("Inc",))


def read(folder: Path) -> Ratings:
    """Read THumB with the four references an image that it comes with; they do not hold the rated human caption.

    Parameters
    ----------
    folder
        Holds ``mscoco_THumB-1.0.jsonl`` and ``mscoco_references.json``; in place of that ``captions_val2014.json``
        or ``annotations.json``, whose references lose the rated caption.
    """
    path = RATED.find(folder)
    known = _references(folder)
    rows = records(path)
    images, captions, systems, human = [], [], [], []
    for at, row in enumerate(rows, 1):
        images.append(str(column(row, ("image", "img", "seg_id"), path, at)))
        captions.append(joined(str(column(row, ("hyp", "caption"), path, at))))
        systems.append(str(column(row, ("SYS", "system"), path, at)))
        human.append(_human(row, path, at))
    found: list[References] = [known.get(_number(image)) or known.get(image_key(image), ()) for image in images]
    references = [
        tuple(one for one in own if one.casefold() != caption.casefold())
        for own, caption in zip(found, captions, strict=True)
    ]
    removed = sum(len(before) - len(after) for before, after in zip(found, references, strict=True))
    without = sum(not own for own in references)
    return Ratings(
        "thumb",
        tuple(images),
        tuple(captions),
        tuple(references),
        np.array(human, np.float64)[:, None],
        "tau_c",
        {"rated caption among the references (removed)": removed},
        tuple(systems),
        (f"{without:,} rows have no references: {REFERENCES.described}",) if without else (),
    )


def _number(image: str) -> str:
    """Return the number of a COCO image: ``COCO_val2014_000000000974.jpg`` is 974, THumB's ``seg_id``."""
    return image_key(image).rpartition("_")[2].lstrip("0") or "0"


def _human(row: dict[str, Any], path: Path, at: int) -> float:
    if row.get("human_score") is not None:
        return number(row["human_score"], path, at)
    held = [next((row[name] for name in names if row.get(name) is not None), None) for names in _PARTS]
    missing = [names[0] for names, cell in zip(_PARTS, held, strict=True) if cell is None]
    if missing:
        msg = f"{path.name}: row {at} has neither human_score nor {', '.join(missing)}"
        raise BadFormat(msg)
    precision, recall, *penalties = (number(cell, path, at) for cell in held)
    return (precision + recall) / 2 + sum(penalties)


def _references(folder: Path) -> dict[str, References]:
    """Return the references of each image, by the number in its name or by its whole name."""
    own = REFERENCES.search(folder)
    if own is not None:
        found_rows = enumerate(records(own), 1)
        return {
            str(column(row, ("seg_id",), own, at)): tuple(joined(str(one)) for one in column(row, ("refs",), own, at))
            for at, row in found_rows
        }
    place = COCO.search(folder) or KARPATHY.search(folder)
    if place is None:
        return {}
    found = read_references(place)
    names = found.file_names or {}
    pairs = zip(found.ids, found.texts, strict=True)
    return {image_key(str(names.get(key, key))): tuple(map(joined, some)) for key, some in pairs}
