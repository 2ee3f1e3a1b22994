"""Intake: vectors from outside become segments; what they are said to be of is checked against their ids."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clipstore import keys
from clipstore.errors import BadFormat
from clipstore.storage import compact, halves
from clipstore.storage import segments as files
from clipstore.storage.catalogue import segments, spaces
from clipstore.storage.catalogue.segments import SegmentRow
from clipstore.storage.exchange import manifest
from clipstore.storage.location import VECTORS
from clipstore.storage.lookup import Shelf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.segments import Modality
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.collect import KeysOf
    from clipstore.storage.exchange.manifest import Record


@final
@dataclass(frozen=True, slots=True)
class Taken:
    """How many vectors came in, how many were here already, and how many could not be used."""

    vectors: int = 0
    known: int = 0
    unusable: int = 0

    def __add__(self, other: Taken) -> Taken:
        return Taken(self.vectors + other.vectors, self.known + other.known, self.unusable + other.unusable)


def names(catalogue: Catalogue, records: Sequence[Record], source: str) -> SpaceRow:
    """Make the one space that records name known, and return it.

    Raises
    ------
    BadFormat
        When they name none or several, or a fingerprint is not that of its fields.
    """
    found = [record for record in records if record[0] == "space"]
    if len(found) != 1:
        msg = f"{source}: names {len(found)} spaces instead of one: it is no export of clipstore"
        raise BadFormat(msg)
    digest, fields = found[0][1], found[0][2]
    if fields and keys.digest_json(fields)[: keys.HEX_DIGITS] != digest:
        msg = f"{source}: the fingerprint {digest} is not that of the encoder it describes: the file was changed"
        raise BadFormat(msg)
    with catalogue.write() as tx:
        manifest.put(tx, records)
        space = spaces.get(tx, digest)
    assert space is not None  # registered in the same transaction
    return space


def check_length(space: SpaceRow, length: int, source: str) -> None:
    """Make sure that vectors are as long as those of their space.

    Raises
    ------
    BadFormat
        When they are not.
    """
    if length != space.dim:
        msg = f"{source}: its vectors have {length} numbers, those of its encoder {space.dim}: export again"
        raise BadFormat(msg)


def check_ids(space: SpaceRow, ids: Ids, facts: Sequence[dict[str, Any]], keys_of: KeysOf, source: str) -> None:
    """Make sure that each id is that of the text or image that it is said to be.

    Raises
    ------
    BadFormat
        When one is not.
    """
    for id_, fact in zip(ids.tolist(), facts, strict=True):
        expected: int | None = None
        if "sha256" in fact:
            expected = keys.from_sha256(bytes.fromhex(fact["sha256"]))
        elif "text" in fact:
            found = keys_of(space, [fact["prefix"]], [fact["text"]])
            expected = None if found is None else int(found[0])
        if expected is not None and expected != id_:
            msg = f"{source}: the id {keys.to_hex(id_)} is not that of {str(fact)[:80]}: the file was changed"
            raise BadFormat(msg)


def take(
    catalogue: Catalogue,
    space: SpaceRow,
    modality: Modality,
    ids: Ids,
    vectors: Vectors,
    facts: Sequence[dict[str, Any]],
) -> Taken:
    """Store the vectors that this store lacks, with the rows of what they are of.

    Raises
    ------
    InputError
        When a vector is not finite or not of unit norm.
    CannotWrite
        When the store is read-only or the disk is full.
    """
    with catalogue.read() as tx:
        here = Shelf(catalogue.folder, segments.all(tx, space.digest, modality))
    distinct, first = np.unique(ids, return_index=True)
    fresh = first[~here.contains(distinct)]
    if not len(fresh):
        return Taken(known=len(ids))
    folder = catalogue.folder / VECTORS / space.digest / modality
    written = files.write(folder, ids[fresh], vectors[fresh], space.dtype)
    row = SegmentRow(
        written.name,
        space.digest,
        modality,
        written.rows,
        written.dim,
        written.dtype,
        written.vectors_offset,
        written.ids_offset,
        written.bytes,
        written.sha256,
        written.layout,
        None,
        time.time(),
    )
    with catalogue.write() as tx:
        manifest.put(tx, _records(space, [facts[index] for index in fresh.tolist()]))
        segments.add(tx, row)
        halves.record(tx, space, vectors[fresh])
    compact.tidy(catalogue, space.digest, modality)
    return Taken(len(fresh), len(ids) - len(fresh))


def _records(space: SpaceRow, facts: Sequence[dict[str, Any]]) -> list[Record]:
    texts = [["text", fact["text"]] for fact in facts if "text" in fact]
    prompts = {fact["prefix"] for fact in facts if "prefix" in fact}
    images = [
        [
            "image",
            fact["sha256"],
            fact.get("bytes") or 0,
            fact.get("mode") or "",
            fact.get("width") or 0,
            fact.get("height") or 0,
            fact.get("flags") or [],
        ]
        for fact in facts
        if "sha256" in fact
    ]
    return [*(["prompt", space.digest, prefix] for prefix in sorted(prompts)), *texts, *images]
