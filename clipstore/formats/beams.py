"""Format 12: beams and samples, nested (``captions`` and ``scores`` of each image) or as flat sequences.

``sequences_scores`` of Hugging Face is a sum over length to a power, and older versions counted
the prompt: its kind is unknown. ``cumulative_logprob`` is a sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clipstore.errors import BadFormat
from clipstore.formats import columns, roles
from clipstore.formats.format import Format
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from clipstore.formats.source import Content

_LISTS = ("captions", "candidates", "beams", "hypotheses", "sequences", "texts")


def recognise(content: Content, hints: Hints) -> bool:
    """Return whether a row has a list of captions, or the object a batch's ``sequences`` and image ids."""
    if "sequences" in content.object and "image_ids" in content.object:
        return True
    row = content.first_row()
    return any(isinstance(row.get(name), list) for name in _LISTS) and roles.has_columns(row, hints)


def read(content: Content, hints: Hints) -> Table:
    """Read the candidates of each image, in their order."""
    if "sequences" in content.object and "image_ids" in content.object:
        return _read_flat(content, hints)
    return columns.from_rows(content, hints)


def _read_flat(content: Content, hints: Hints) -> Table:
    ids, texts = (_list(content, name) for name in ("image_ids", "sequences"))
    count = hints.num_candidates or max(len(texts) // max(len(ids), 1), 1)
    where = Where("sequence")
    owners = spread_ids(ids, len(texts), count, content.name)
    name = next((name for name in roles.SCORES if content.object.get(name) is not None), None)
    scores = None if name is None else _list(content, name)
    if scores is not None and len(scores) != len(texts):
        msg = f"{content.name}: {len(texts):,} sequences but {len(scores):,} scores"
        raise BadFormat(msg)
    return Table(
        owners,
        texts,
        scores=columns.numbers(scores, content.name, where),
        score_kind=None if name is None else roles.SCORES[name],
        where=where,
        nested=count > 1,
    )


def _list(content: Content, name: str) -> list[Any]:
    value = content.object[name]
    if not isinstance(value, list):
        msg = f"{content.name}: {name!r} is not a list"
        raise BadFormat(msg)
    return value


def spread_ids(ids: list[Any], texts: int, count: int, source: str) -> list[Any]:
    """Return the id of each of ``texts`` captions that stand ``count`` to an image.

    Raises
    ------
    BadFormat
        With both counts, when they do not fit.
    """
    if len(ids) * count != texts:
        each = f" x {count} candidates" if count > 1 else ""
        counts = f"{texts:,} captions for {len(ids):,} ids{each}"
        msg = f"{source}: {counts}: the counts must agree (see --order and --num-candidates)"
        raise BadFormat(msg)
    return [key for key in ids for _ in range(count)]


FORMAT = Format("beams", "n-best rows", ("rows", "object"), recognise, read, columns=True)
