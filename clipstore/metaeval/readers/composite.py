"""Composite: 11,985 ratings (1 to 5) of captions of COCO, Flickr8k and Flickr30k images, pooled.

Aditya et al. 2015 (arXiv 1511.03292); the "correctness" judgement, not the "thoroughness" one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.errors import BadFormat
from clipstore.formats import read_references
from clipstore.metaeval.pictures import image_key
from clipstore.metaeval.protocols import Ratings
from clipstore.metaeval.readers import composite_csv, flickr8k
from clipstore.metaeval.readers.files import Wanted, column, either, find_all, joined, number, read_json, records

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clipstore.metaeval.readers.flickr8k import Own

ROWS: Final = Wanted(
    "composite.tsv",
    "FLEUR's repository or yuwd/Composite on the hub, written as one table with columns part, image, caption, "
    f"human_1to5; or {', '.join(one.name for one in composite_csv.PARTS.values())} of AMT_Eval.zip beside it",
    "11,985 rows of 3,995 images",
    "d2f86838b48212fa45364650790cf98b",
)
COCO: Final = Wanted(
    "annotations.json",
    "captions_val2014.json of cocodataset.org's annotations_trainval2014.zip, or the Karpathy test split so written",
    "40,504 images, or 5,000",
)
COCO_PUBLISHED: Final = Wanted("captions_val2014.json", "cocodataset.org's annotations_trainval2014.zip")
FLICKR30K: Final = Wanted(
    "references.json", "Flickr30k's test split (dataset_flickr30k.json), written as id -> references", "1,000 images"
)
FLICKR30K_PUBLISHED: Final = Wanted("results_20130124.token", "Flickr30k's own archive", "31,783 images")
EXPECTED: Final = 11_985
_WHAT: Final = {
    "remove": "rated caption among the references (removed for all rows of its image)",
    "remove-row": "rated caption among the references (removed for its own row alone)",
    "drop": "rated caption among the references (row dropped)",
}


def read(folder: Path, own: Own = "remove") -> Ratings:
    """Read Composite; rated references are removed from their image's references, for all its rows (4 are left).

    Parameters
    ----------
    folder
        Holds ``composite.tsv`` or the three tables of :mod:`composite_csv`, COCO's ``annotations.json`` or
        ``captions_val2014.json``, Flickr30k's ``references.json`` or ``results_20130124.token``, and
        ``Flickr8k.token.txt``, or folders with them.
    own
        What happens to a candidate that is among its references; published tables remove it there.
    """
    table, left_out, path, (tokens, coco) = _found(folder)
    near = _near(folder, "flickr30k")
    known = _references(tokens, either(near, FLICKR30K, FLICKR30K_PUBLISHED).find(near), coco)
    read_rows, lost = _rows(table, path, known)
    rated: dict[str, set[str]] = {}
    for image, caption, *_ in read_rows:
        rated.setdefault(image, set()).add(_bare(caption))
    kept, references, among = [], [], 0
    for row in read_rows:
        found = known[image_key(row[0])]
        own_text = {_bare(row[1])}
        held = any(_bare(one) in own_text for one in found)
        among += held
        if own == "drop" and held:
            continue
        gone = {"keep": set[str](), "drop": set[str](), "remove": rated[row[0]], "remove-row": own_text}[own]
        kept.append(row)
        references.append(tuple(one for one in found if _bare(one) not in gone))
    parts = Counter(row[3] for row in kept)
    joint = path.name == ROWS.name
    notes = [note for note in (ROWS.differs(path) if joint else "",) if note]
    if len(table) != EXPECTED:
        has = f"{path.name} has" if joint else "the three tables have"
        notes.append(f"{has} {len(table):,} rows, the published evaluation {EXPECTED:,}")
    notes.append(f"rows: {', '.join(f'{count:,} {part}' for part, count in sorted(parts.items()))}")
    excluded = {**left_out, "row whose image has no references": lost}
    if own != "keep":
        excluded[_WHAT[own]] = among
    images, captions, human, _ = zip(*kept, strict=True) if kept else ((), (), (), ())
    ratings = np.array(human, np.float64)[:, None]
    return Ratings("composite", images, captions, tuple(references), ratings, "tau_c", excluded, notes=tuple(notes))


def _found(folder: Path) -> tuple[list[dict[str, Any]], Counter[str], Path, list[Path]]:
    """Return the rows, what of the authors' tables was left out, a file to name, and those of references."""
    left_out: Counter[str] = Counter()
    others = (flickr8k.TOKENS, either(folder, COCO, COCO_PUBLISHED))
    parts = composite_csv.PARTS
    if ROWS.search(folder) is not None or not any(one.search(folder) for one in parts.values()):
        path, *found = find_all(folder, ROWS, *others)
        return records(path), left_out, path, found
    *paths, tokens, coco = find_all(folder, *parts.values(), *others)
    rows = [row for part, path in zip(parts, paths, strict=True) for row in composite_csv.rows(part, path, left_out)]
    return rows, left_out, paths[0], [tokens, coco]


def _rows(
    table: list[dict[str, Any]], path: Path, known: Mapping[str, object]
) -> tuple[list[tuple[str, str, float, str]], int]:
    """Return (image, caption, rating, part) of each row whose image has references, and how many have none."""
    out, lost = [], 0
    for at, row in enumerate(table, 1):
        image, caption = str(column(row, ("image",), path, at)), joined(str(column(row, ("caption",), path, at)))
        if image_key(image) not in known:
            lost += 1
            continue
        human = number(column(row, ("human_1to5", "human", "score"), path, at), path, at)
        out.append((image, caption, human, str(row.get("part", ""))))
    return out, lost


def _bare(text: str) -> str:
    """Return the letters and digits of a caption: the two sources of a row differ in spaces and stops."""
    return "".join(mark for mark in text.casefold() if mark.isalnum())


def _references(tokens: Path, flickr30k: Path, coco: Path) -> dict[str, tuple[str, ...]]:
    out = {image: tuple(some.values()) for image, some in flickr8k.captions_of(tokens).items()}
    read_30k = read_references(flickr30k)
    pairs = zip(read_30k.ids, read_30k.texts, strict=True)
    out |= {image_key(str(key)): tuple(map(joined, some)) for key, some in pairs}
    value = read_json(coco)
    try:
        names = {image["id"]: image_key(image["file_name"]) for image in value["images"]}
        found: dict[str, list[str]] = {}
        for one in value["annotations"]:
            found.setdefault(names[one["image_id"]], []).append(joined(one["caption"]))
    except (KeyError, TypeError) as error:
        msg = f"{coco.name}: not COCO annotations ('images' and 'annotations' with captions)"
        raise BadFormat(msg) from error
    return out | {image: tuple(some) for image, some in found.items()}


def _near(folder: Path, name: str) -> Path:
    """Return the folder of a part where there is one: ``references.json`` is a common name."""
    return folder / name if (folder / name).is_dir() else folder
