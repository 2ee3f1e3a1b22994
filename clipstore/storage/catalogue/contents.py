"""Contents: what an id stands for. Texts by their id, images by their id, texts that did not fit an encoder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from clipstore import keys
from clipstore.errors import IdCollision
from clipstore.storage.catalogue.spaces import number_of
from clipstore.storage.catalogue.statements import Tx, first, number, rows, rows_in, run_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.arrays import Ids


@final
@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image that was decoded.

    Parameters
    ----------
    id
        First 63 bits of ``sha256``.
    sha256
        Digest of its bytes, 32 bytes.
    bytes
        How many bytes it has.
    mode, width, height
        Pillow's mode, and pixels, as it was decoded.
    flags
        What was done beyond the official preprocessing.
    """

    id: int
    sha256: bytes
    bytes: int
    mode: str
    width: int
    height: int
    flags: tuple[str, ...] = ()


_ADD_TEXT = "INSERT INTO texts (id, text) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
_ADD_IMAGE = (
    "INSERT INTO images (id, sha256, byte_count, mode, width, height, flags) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (id) DO NOTHING"
)
_ADD_CUT = (
    "INSERT INTO cuts (space_id, vector_key, tokens, cut) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (space_id, vector_key) DO NOTHING"
)
_FEW = 2000  # keys; above this one pass over the table is quicker than asking for each


def add_texts(tx: Tx, ids: Sequence[int], texts: Sequence[str]) -> None:
    """Store raw texts by id; those that are there stay.

    Raises
    ------
    IdCollision
        When an id already stands for another text.
    """
    new: dict[int, str] = {}
    for key, text in zip(ids, texts, strict=True):
        if new.setdefault(int(key), text) != text:
            raise _collision(int(key), "texts")
    if run_many(tx, _ADD_TEXT, sorted(new.items())) == len(new):
        return
    for key, text in rows_in(tx, "SELECT id, text FROM texts WHERE id IN ({marks})", new):
        if new[key] != text:
            raise _collision(key, "texts")


def _collision(key: int, what: str) -> IdCollision:
    msg = f"id {keys.to_hex(key)} stands for two different {what}: keep one of them in another store, and report this"
    return IdCollision(msg)


def texts(tx: Tx, ids: Iterable[int]) -> dict[int, str]:
    """Return the texts of those ids that are stored."""
    wanted = sorted({int(key) for key in ids})
    return dict(rows_in(tx, "SELECT id, text FROM texts WHERE id IN ({marks})", wanted))


def text_count(tx: Tx) -> int:
    """Return how many texts are stored."""
    return number(tx, "SELECT count(*) FROM texts")


def add_images(tx: Tx, images: Sequence[ImageRow]) -> None:
    """Store images by id; those that are there stay.

    Raises
    ------
    IdCollision
        When an id already stands for other bytes.
    """
    new: dict[int, ImageRow] = {}
    for image in images:
        if new.setdefault(image.id, image).sha256 != image.sha256:
            raise _collision(image.id, "images")
    if run_many(tx, _ADD_IMAGE, [_image_values(new[key]) for key in sorted(new)]) == len(new):
        return
    for key, digest in rows_in(tx, "SELECT id, sha256 FROM images WHERE id IN ({marks})", new):
        if new[key].sha256 != bytes(digest):
            raise _collision(key, "images")


def _image_values(row: ImageRow) -> tuple[object, ...]:
    return row.id, row.sha256, row.bytes, row.mode, row.width, row.height, json.dumps(row.flags)


def images(tx: Tx, ids: Iterable[int]) -> dict[int, ImageRow]:
    """Return the rows of those images that are stored."""
    query = "SELECT id, sha256, byte_count, mode, width, height, flags FROM images WHERE id IN ({marks})"
    return {row[0]: _image(row) for row in rows_in(tx, query, sorted({int(key) for key in ids}))}


def flagged(tx: Tx, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the flags of those images that have any."""
    query = "SELECT id, flags FROM images WHERE flags <> '[]' AND id IN ({marks})"
    return {key: tuple(json.loads(held)) for key, held in rows_in(tx, query, sorted({int(key) for key in ids}))}


def _image(row: Any) -> ImageRow:
    return ImageRow(row[0], bytes(row[1]), row[2], row[3], row[4], row[5], tuple(json.loads(row[6])))


def image_count(tx: Tx) -> int:
    """Return how many images are stored."""
    return number(tx, "SELECT count(*) FROM images")


def add_cuts(tx: Tx, digest: str, cuts: Iterable[tuple[int, int, int]]) -> None:
    """Store, for vector keys of a space, how many tokens a text had and how many were left out."""
    space = number_of(tx, digest)
    new = sorted((space, int(key), int(tokens), int(cut)) for key, tokens, cut in cuts)
    run_many(tx, _ADD_CUT, new)


def cuts(tx: Tx, digest: str, wanted: Ids) -> dict[int, int]:
    """Return how many tokens were left out, for those vector keys where any were.

    Parameters
    ----------
    tx
        A transaction.
    digest
        The space.
    wanted
        Vector keys, int64 of shape (rows,); any number of them.
    """
    space = number_of(tx, digest)
    if first(tx, "SELECT 1 FROM cuts WHERE space_id = ? AND cut > 0 LIMIT 1", space) is None:
        return {}
    asked = {int(key) for key in wanted.tolist()}
    if len(asked) > _FEW:
        found = rows(tx, "SELECT vector_key, cut FROM cuts WHERE space_id = ? AND cut > 0", space)
        return {key: cut for key, cut in found if key in asked}
    query = "SELECT vector_key, cut FROM cuts WHERE space_id = ? AND cut > 0 AND vector_key IN ({marks})"
    return dict(rows_in(tx, query, sorted(asked), space))
