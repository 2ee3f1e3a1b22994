"""Format 10: LLaVA answers, which name a question and no image; the questions file names the image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.errors import BadFormat, InputError
from clipstore.formats import columns, source
from clipstore.formats.format import Format
from clipstore.formats.values import Hints, Table

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.formats.source import Content

_SHOWN = 5


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether the first row is an answer: ``question_id``, ``text`` and its model or answer id."""
    row = content.first_row()
    return "question_id" in row and "text" in row and ("model_id" in row or "answer_id" in row)


def read(content: Content, hints: Hints) -> Table:
    """Read the answers; ids are the images of their questions.

    Raises
    ------
    InputError
        When the questions were not given, or an answer's question is not among them.
    """
    if hints.questions is None:
        msg = f"{content.name}: LLaVA answers name no image: give the questions they answer with --questions FILE"
        raise InputError(msg)
    images = _images_of(hints.questions)
    asked = columns.field_of(content.rows, "question_id", content.name, content.where)
    texts = columns.field_of(content.rows, "text", content.name, content.where)
    lost = [key for key in asked if str(key) not in images]
    if lost:
        first = ", ".join(map(repr, lost[:_SHOWN]))
        what = f"{len(lost):,} answers are to questions that {hints.questions.name} does not hold (first: {first})"
        msg = f"{content.name}: {what}: give the questions file of this run with --questions"
        raise InputError(msg)
    return Table([images[str(key)] for key in asked], texts, where=content.where, id_kind="path")


def _images_of(path: Path) -> dict[str, str]:
    content = source.open_path(path)
    keys = columns.field_of(content.rows, "question_id", content.name, content.where)
    images = columns.field_of(content.rows, "image", content.name, content.where)
    found: dict[str, str] = {}
    for row, (key, image) in enumerate(zip(keys, images, strict=True)):
        if not isinstance(image, str) or found.setdefault(str(key), image) != image:
            msg = f"{content.name}: {content.where(row)}: question {key!r} does not name exactly one image"
            raise BadFormat(msg)
    return found


FORMAT = Format("llava", "LLaVA answers", ("rows",), recognise, read)
