"""Spaces: which encoders made the vectors, by what names they are called, and which prompts their texts carry."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from clipstore.errors import NotStored
from clipstore.storage.catalogue import settings
from clipstore.storage.catalogue.statements import Tx, first, next_id, rows, run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clipstore.storage.layout import Dtype


@final
@dataclass(frozen=True, slots=True)
class SpaceRow:
    """The vectors of one encoder.

    Parameters
    ----------
    digest
        The encoder's fingerprint, 16 hex digits.
    fields
        What the fingerprint is made of; empty where a lost catalogue was rebuilt from segments.
    dim
        Length of a vector.
    dtype
        How vectors are stored: ``float32`` or ``float16``.
    created
        Seconds since the epoch.
    """

    digest: str
    fields: dict[str, Any]
    dim: int
    dtype: Dtype
    created: float


@final
@dataclass(frozen=True, slots=True)
class AliasKey:
    """The arguments that name an encoder; an empty string stands for "not given"."""

    model: str
    weights: str = ""
    precision: str = ""
    preprocess: str = ""
    exif: str = ""


@final
@dataclass(frozen=True, slots=True)
class AliasRow:
    """What a name loaded when it was last used.

    Parameters
    ----------
    key
        The name.
    digest
        The fingerprint that it gave.
    weights_size, weights_mtime_ns, weights_inode
        The stat of its weights file, where it had one: bytes, nanoseconds, number.
    """

    key: AliasKey
    digest: str
    weights_size: int | None = None
    weights_mtime_ns: int | None = None
    weights_inode: int | None = None


_KNOWN = "SELECT id FROM spaces WHERE digest = ?"
_SPACE = "SELECT digest, fields, dim, dtype, created FROM spaces"
_ALIAS = (
    "SELECT a.model, a.weights, a.precision_name, a.preprocess, a.exif, s.digest, "
    "a.weights_size, a.weights_mtime_ns, a.weights_inode FROM aliases a JOIN spaces s ON s.id = a.space_id"
)
_NAMED = " WHERE a.model = ? AND a.weights = ? AND a.precision_name = ? AND a.preprocess = ? AND a.exif = ?"


def register(tx: Tx, digest: str, fields: Mapping[str, object], dim: int, dtype: Dtype | None = None) -> None:
    """Make a space known; nothing happens when it is, except that missing fields are filled in.

    Without ``dtype`` its vectors are stored as the store's setting ``dtype`` says, else as ``float32``.
    """
    found = first(tx, "SELECT id, fields FROM spaces WHERE digest = ?", digest)
    text = json.dumps(dict(fields), sort_keys=True)
    if found is None:
        number = dtype or settings.get(tx, "dtype") or "float32"
        values = (next_id(tx, "spaces"), digest, text, dim, number, time.time())
        run(tx, "INSERT INTO spaces (id, digest, fields, dim, dtype, created) VALUES (?, ?, ?, ?, ?, ?)", *values)
    elif found[1] == "{}" != text:
        run(tx, "UPDATE spaces SET fields = ? WHERE id = ?", text, found[0])


def number_of(tx: Tx, digest: str) -> int:
    """Return the row number of a space.

    Raises
    ------
    NotStored
        When no space has this fingerprint.
    """
    found = first(tx, _KNOWN, digest)
    if found is None:
        msg = f"the store holds no space with fingerprint {digest}: see `clipstore ls models`"
        raise NotStored(msg)
    return int(found[0])


def get(tx: Tx, digest: str) -> SpaceRow | None:
    """Return the space with this fingerprint, or None."""
    found = first(tx, f"{_SPACE} WHERE digest = ?", digest)
    return None if found is None else _space(found)


def all(tx: Tx) -> list[SpaceRow]:  # noqa: A001  read as spaces.all
    """Return all spaces, oldest first."""
    return [_space(row) for row in rows(tx, f"{_SPACE} ORDER BY id")]


def _space(row: Any) -> SpaceRow:
    return SpaceRow(row[0], json.loads(row[1]), row[2], row[3], row[4])


def alias(tx: Tx, key: AliasKey) -> AliasRow | None:
    """Return what the name ``key`` loaded last, or None."""
    found = first(tx, _ALIAS + _NAMED, *_parts(key))
    return None if found is None else _alias(found)


def aliases(tx: Tx) -> list[AliasRow]:
    """Return all known names."""
    order = "ORDER BY s.id, a.model, a.weights, a.precision_name, a.preprocess, a.exif"
    return [_alias(row) for row in rows(tx, f"{_ALIAS} {order}")]


def set_alias(tx: Tx, row: AliasRow) -> None:
    """Remember what a name loads, in place of what it loaded before.

    Raises
    ------
    NotStored
        When the space is not registered.
    """
    values = (number_of(tx, row.digest), row.weights_size, row.weights_mtime_ns, row.weights_inode)
    run(
        tx,
        "INSERT INTO aliases (model, weights, precision_name, preprocess, exif, "
        "space_id, weights_size, weights_mtime_ns, weights_inode) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (model, weights, precision_name, preprocess, exif) DO UPDATE SET space_id = excluded.space_id, "
        "weights_size = excluded.weights_size, weights_mtime_ns = excluded.weights_mtime_ns, "
        "weights_inode = excluded.weights_inode",
        *_parts(row.key),
        *values,
    )


def _parts(key: AliasKey) -> tuple[str, str, str, str, str]:
    return key.model, key.weights, key.precision, key.preprocess, key.exif


def _alias(row: Any) -> AliasRow:
    return AliasRow(AliasKey(*row[:5]), *row[5:])


def add_prompt(tx: Tx, digest: str, prefix: str) -> None:
    """Remember that texts of a space were encoded with ``prefix``; nothing happens when it is known."""
    statement = "INSERT INTO prompts (space_id, prefix) VALUES (?, ?) ON CONFLICT DO NOTHING"
    run(tx, statement, number_of(tx, digest), prefix)


def prompts(tx: Tx, digest: str) -> list[str]:
    """Return the prefixes that texts of a space were encoded with, sorted."""
    query = "SELECT p.prefix FROM prompts p JOIN spaces s ON s.id = p.space_id WHERE s.digest = ?"
    return sorted(row[0] for row in rows(tx, query, digest))
