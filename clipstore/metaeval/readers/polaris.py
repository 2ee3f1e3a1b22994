"""Polaris and Nebula: captions of many systems rated by hundreds of people, in the layout of Polos.

Wada et al. 2024 (Polaris, CVPR), Matsuda et al. 2024 (Nebula, ACCV): columns mt, refs, score, imgid.
"""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.errors import BadFormat
from clipstore.metaeval.pictures import image_key
from clipstore.metaeval.protocols import Ratings
from clipstore.metaeval.readers.files import Wanted, column, joined, number, records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NAMES: Final = ("csv", "parquet", "jsonl")


def _either(stem: str, origin: str, count: str) -> tuple[Wanted, ...]:
    return tuple(Wanted(f"{stem}.{ending}", origin, count) for ending in _NAMES)


POLARIS: Final = _either("polaris_test", "yuwd/Polaris on the hub, the test split", "26,122 rows of 131,020")
NEBULA: Final = _either(
    "nebula_test",
    "Ka2ukiMatsuda/Nebula on the hub, the test split; beside it spica_train.csv, spica_val.csv and spica_test.csv of "
    "hiranohachiman/Spica, which hold its corrected scores",
    "of 32,978 images in all",
)
CORRECTED: Final = tuple(
    Wanted(f"{name}.csv", "hiranohachiman/Spica on the hub: imgid, mt and score")
    for name in ("spica_train", "spica_val", "spica_test", "nebula_test_corrected")
)


def polaris(folder: Path) -> Ratings:
    """Read Polaris' test split: one mean score a row, tau_c."""
    return _read("polaris", _find(POLARIS, folder), {})


def nebula(folder: Path) -> Ratings:
    """Read Nebula's test split; scores are those of the ``spica_*.csv`` that lie beside, where they have one.

    A caption that they rate several times gets the mean, as in CaptionEvalKit.
    """
    said: dict[tuple[str, str], list[float]] = {}
    for path in filter(None, (one.search(folder) for one in CORRECTED)):
        for at, row in enumerate(records(path), 1):
            key = (image_key(str(column(row, ("imgid",), path, at))), joined(str(column(row, ("mt",), path, at))))
            said.setdefault(key, []).append(number(column(row, ("score",), path, at), path, at))
    made = _read("nebula", _find(NEBULA, folder), {key: sum(own) / len(own) for key, own in said.items()})
    if said:
        return made
    return replace(made, notes=(*made.notes, f"scores as released, not corrected: no {CORRECTED[2].name} beside them"))


def _find(wanted: Sequence[Wanted], folder: Path) -> Path:
    found = [path for one in wanted if (path := one.search(folder)) is not None]
    return found[0] if found else wanted[0].find(folder)


def _read(name: str, path: Path, corrected: dict[tuple[str, str], float]) -> Ratings:
    images, captions, references, human = [], [], [], []
    changed = 0
    for at, row in enumerate(records(path), 1):
        image = str(column(row, ("imgid", "file_name", "image", "img_id"), path, at))
        caption = joined(str(column(row, ("mt", "cand", "caption"), path, at)))
        own = corrected.get((image_key(image), caption))
        changed += own is not None
        images.append(image)
        captions.append(caption)
        references.append(texts(column(row, ("refs", "references"), path, at), path, at))
        human.append(number(column(row, ("score", "human_score"), path, at), path, at) if own is None else own)
    notes = (f"{changed:,} scores are the corrected ones",) if corrected else ()
    ratings = np.array(human, np.float64)[:, None]
    return Ratings(name, tuple(images), tuple(captions), tuple(references), ratings, "tau_c", notes=notes)


def texts(value: Any, path: Path, at: int) -> tuple[str, ...]:
    """Return a cell of references: a list, or one written as JSON, as Python, or as lines.

    Raises
    ------
    BadFormat
        When a list that was started does not end.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            try:
                value = ast.literal_eval(value)
            except (ValueError, SyntaxError) as error:
                msg = f"{path.name}: row {at}: references are no list: {value[:60]!r}"
                raise BadFormat(msg) from error
    if isinstance(value, str):
        value = value.split("\n")
    return tuple(text for one in value if (text := joined(str(one))))
