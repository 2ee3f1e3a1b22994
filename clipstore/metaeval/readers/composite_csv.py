"""Composite as its authors gave it out: three tables of a crowd's answers, a row an image, with semicolons.

``Input.image_url``, ``Input.text1`` and so on, ``Answer.Q1Answer`` and so on: captions and ratings in the same order.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any, Final

from clipstore.errors import BadFormat
from clipstore.metaeval.readers.files import Wanted, number, read_text

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_ORIGIN: Final = "AMT_Eval.zip of imagesdg.wordpress.com/image-to-scene-description-graph (Aditya et al. 2015)"
PARTS: Final = {
    "composite_8k": Wanted("8k_correctness.csv", _ORIGIN, "997 images with 3 rated captions"),
    "composite_30k": Wanted("30k_correctness.csv", _ORIGIN, "991 images with 4 rated captions"),
    "composite_coco": Wanted("coco_correctness.csv", _ORIGIN, "2,007 images with 4 rated captions"),
}
_IMAGE: Final = "Input.image_url"
USED: Final = 3
"""Captions of an image that published tables use: of four, the first three, which makes 11,985."""


def rows(part: str, path: Path, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield a row a rated caption: ``part``, ``image``, ``caption``, ``human``.

    Parameters
    ----------
    part
        One of :data:`PARTS`.
    path
        Its file.
    left_out
        Counts what is not yielded, by reason.

    Raises
    ------
    BadFormat
        When the table has no columns of an image, three captions and three answers.
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter=";")
    header = [name for name in reader.fieldnames or () if name]
    texts, answers = (
        {int(found[1]): name for name in header if (found := re.fullmatch(pattern, name))}
        for pattern in (r"Input\.text(\d+)", r"Answer\.Q(\d+)Answer")
    )
    if _IMAGE not in header or not all(at in texts and at in answers for at in range(1, USED + 1)):
        msg = (
            f"{path.name}: no table of Composite: it takes columns Input.image_url, Input.text1 to {USED} and "
            f"Answer.Q1Answer to {USED}, with ';' between (it has: {', '.join(header[:9])})"
        )
        raise BadFormat(msg)
    try:
        for row in reader:
            for caption, answer in _rated(row, texts, answers, left_out):
                human = number(answer, path, reader.line_num)
                yield {
                    "part": part,
                    "image": _cell(row, _IMAGE).rpartition("/")[2],
                    "caption": caption,
                    "human": human,
                }
    except csv.Error as error:
        msg = f"{path.name}: line {reader.line_num}: {error}"
        raise BadFormat(msg) from error


def _rated(
    row: dict[str, Any], texts: Mapping[int, str], answers: Mapping[int, str], left_out: Counter[str]
) -> Iterator[tuple[str, str]]:
    """Yield each caption of an image that counts, and the answer; columns by their number."""
    if not _cell(row, _IMAGE):
        left_out["row without an image (the tables end with two)"] += 1
        return
    for place, text in sorted(texts.items()):
        caption, human = _cell(row, text), _cell(row, answers.get(place, ""))
        if place > USED:
            if caption:
                left_out[f"caption {place} of an image (published tables use {USED})"] += 1
        elif not caption or not human:
            left_out["caption without a rating"] += 1
        else:
            yield caption, human


def _cell(row: dict[str, Any], name: str) -> str:
    found = (row.get(name) or "").strip()
    return "" if found.casefold() == "nan" else found
