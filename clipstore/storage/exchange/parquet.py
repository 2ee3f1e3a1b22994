"""Parquet: one file a space and modality, one row a vector, with what it is of and the encoder's description."""

from __future__ import annotations

import json
import os
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from clipstore import keys
from clipstore.errors import BadFormat, InputError
from clipstore.storage import durable
from clipstore.storage.exchange import intake
from clipstore.storage.exchange.intake import Taken
from clipstore.storage.exchange.listing import BLOCK, hex_ids
from clipstore.storage.translate import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.segments import Modality
    from clipstore.storage.collect import KeysOf
    from clipstore.storage.exchange.listing import Block, Listing
    from clipstore.storage.exchange.manifest import Record

_NAMES = b"clipstore"
_FACTS: dict[str, tuple[str, ...]] = {
    "text": ("prefix", "text"),
    "image": ("sha256", "bytes", "mode", "width", "height", "flags"),
}


def _arrow(source: str) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        msg = f"{source}: Parquet needs the package pyarrow: install it"
        raise InputError(msg) from error
    return pa, pq


def write(listing: Listing, folder: Path, names: list[Record]) -> Path:
    """Write one space and modality; return the file's path."""
    pa, pq = _arrow(str(folder))
    path = folder / f"{listing.space.digest}-{listing.modality}.parquet"
    temporary = folder / f"{uuid.uuid4().hex}{durable.UNFINISHED}"
    schema = _schema(pa, listing).with_metadata({_NAMES: json.dumps(names).encode()})
    with writing(str(path)):
        durable.make_folder(folder)
        try:
            with temporary.open("xb") as file:
                with pq.ParquetWriter(file, schema) as writer:
                    for block in listing.blocks():
                        writer.write_batch(_batch(pa, schema, listing, block))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            durable.sync_folder(folder)
        finally:
            durable.discard(temporary)
    return path


def _schema(pa: Any, listing: Listing) -> Any:
    kinds = {"bytes": pa.int64(), "width": pa.int32(), "height": pa.int32(), "flags": pa.list_(pa.string())}
    return pa.schema(
        [
            ("id", pa.string()),
            ("kind", pa.string()),
            *((name, kinds.get(name, pa.string())) for name in _FACTS[listing.modality]),
            ("vector", pa.list_(pa.float32(), listing.space.dim)),
            ("fingerprint", pa.string()),
        ]
    )


def _batch(pa: Any, schema: Any, listing: Listing, block: Block) -> Any:
    size = len(block.ids)
    facts = [
        pa.array([fact.get(name) for fact in block.facts], schema.field(name).type) for name in _FACTS[listing.modality]
    ]
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.vectors.reshape(-1)), listing.space.dim)
    columns = [
        pa.array(hex_ids(block.ids)),
        pa.array([listing.modality] * size),
        *facts,
        vectors,
        pa.array([listing.space.digest] * size),
    ]
    return pa.record_batch(columns, schema=schema)


def read(catalogue: Catalogue, path: Path, keys_of: KeysOf) -> Taken:
    """Take in one file that :func:`write` wrote.

    Raises
    ------
    BadFormat
        When it is no such file, is damaged, its vectors have another length, or an id is not that of its text or image.
    """
    _pa, pq = _arrow(str(path))
    with _translated(path), pq.ParquetFile(path) as file:
        names = json.loads((file.schema_arrow.metadata or {}).get(_NAMES, b"[]"))
        space = intake.names(catalogue, names, str(path))
        taken = Taken()
        for batch in file.iter_batches(batch_size=BLOCK):
            taken += _take(catalogue, space, batch, keys_of, path)
    return taken


def _take(catalogue: Catalogue, space: Any, batch: Any, keys_of: KeysOf, path: Path) -> Taken:
    kinds = set(batch.column("kind").to_pylist())
    prints = set(batch.column("fingerprint").to_pylist())
    if prints != {space.digest} or len(kinds) != 1 or not kinds <= set(_FACTS):
        msg = f"{path}: holds rows of another encoder or kind than it says: the file was changed"
        raise BadFormat(msg)
    modality: Modality = kinds.pop()
    ids = np.array([keys.from_hex(text) for text in batch.column("id").to_pylist()], np.int64)
    vectors = np.asarray(batch.column("vector").flatten().to_numpy(zero_copy_only=False), np.float32)
    vectors = vectors.reshape(len(ids), -1)
    intake.check_length(space, vectors.shape[1], str(path))
    columns = [batch.column(name).to_pylist() for name in _FACTS[modality]]
    facts = [
        {name: value for name, value in zip(_FACTS[modality], row, strict=True) if value is not None}
        for row in zip(*columns, strict=True)
    ]
    intake.check_ids(space, ids, facts, keys_of, str(path))
    return intake.take(catalogue, space, modality, ids, vectors, facts)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    pa, _pq = _arrow(str(path))
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        msg = f"{path}: can't be read as an export of clipstore ({lines[0]})"
        raise BadFormat(msg) from error
