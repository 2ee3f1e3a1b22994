"""NeuralTalk's output, ``imgblobs`` with ``img_path``, ``candidate`` and ``candidatelist``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clipstore.errors import BadFormat
from clipstore.formats import columns
from clipstore.formats.format import Format
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.items import ScoreKind


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether there is a list of ``imgblobs``."""
    return isinstance(content.object.get("imgblobs"), list)


def read(content: Content, hints: Hints) -> Table:  # noqa: ARG001
    """Read the candidates of each blob, or its one candidate where there is no list.

    Raises
    ------
    BadFormat
        Naming the first blob that lacks its path or captions.
    """
    blobs = content.object.get("imgblobs")
    where = Where("blob")
    if not isinstance(blobs, list) or not all(isinstance(blob, dict) for blob in blobs):
        msg = f"{content.name}: 'imgblobs' is not a list of objects"
        raise BadFormat(msg)
    ids = columns.field_of(blobs, "img_path", content.name, where)
    cells = [_cell(blob) for blob in blobs]
    flat = columns.spread(ids, cells, None, content.name, where)
    scores = columns.numbers(flat.scores, content.name, flat.where)
    kind: ScoreKind | None = None if scores is None else "unknown"
    return Table(
        flat.ids,
        flat.texts,
        scores=scores,
        score_kind=kind,
        where=flat.where,
        nested=flat.nested,
        id_kind="path",
    )


def _cell(blob: dict[str, Any]) -> Any:
    found = blob.get("candidatelist")
    return found if isinstance(found, list) and found else blob.get("candidate")


FORMAT = Format("neuraltalk", "NeuralTalk blobs", ("object",), recognise, read)
