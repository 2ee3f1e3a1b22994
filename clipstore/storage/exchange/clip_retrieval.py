"""Folders of clip-retrieval: ``img_emb/*.npy``, ``text_emb/*.npy`` and ``metadata/*.parquet``, row by row.

What encoder made them is only what the user declares, so they go into a space of their own,
marked foreign: they never mix with vectors of an encoder that was seen.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from clipstore import keys
from clipstore.errors import BadFormat, InputError
from clipstore.storage.exchange import intake
from clipstore.storage.exchange.arrays import mapped
from clipstore.storage.exchange.intake import Taken
from clipstore.storage.exchange.listing import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.segments import Modality
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.exchange.manifest import Record

FOREIGN = "foreign:"
"""What the model name of a space begins with whose encoder was never seen here."""

_FORMAT = 1
_FOLDERS: tuple[tuple[Modality, str], ...] = (("image", "img_emb"), ("text", "text_emb"))


def is_one(folder: Path) -> bool:
    """Say whether a folder looks like clip-retrieval's output."""
    return any((folder / name).is_dir() for _, name in _FOLDERS)


def read(catalogue: Catalogue, folder: Path, declared: str, images: Path | None = None) -> Taken:
    """Take in the embeddings of a folder under a declared encoder.

    Parameters
    ----------
    catalogue
        Of the store.
    folder
        Holds ``img_emb``, ``text_emb``, ``metadata``.
    declared
        What encoder made them, as the user says; the space is called ``foreign:DECLARED``.
    images
        Where the image files lie that ``image_path`` names: an image's id is a hash of its bytes, so
        embeddings of images that are not there can't be used, and are counted.

    Raises
    ------
    BadFormat
        When arrays and metadata do not fit each other, or a file is damaged.
    """
    taken = Taken()
    for modality, name in _FOLDERS:
        for path in sorted((folder / name).glob("*.npy")):
            vectors = mapped(path)
            space = _space(catalogue, declared, vectors.shape[1])
            start = 0
            for rows in _metadata(_partner(folder, path)):
                block = _unit(vectors[start : start + len(rows)], path)
                if len(block) != len(rows):
                    break
                taken += _take(catalogue, space, modality, block, rows, images)
                start += len(rows)
            if start != len(vectors):
                msg = f"{path}: has {len(vectors):,} rows, and its metadata another number: they don't belong together"
                raise BadFormat(msg)
    return taken


def _space(catalogue: Catalogue, declared: str, dim: int) -> SpaceRow:
    fields = {
        "kind": "foreign",
        "declared": declared,
        "source": "clip-retrieval",
        "dim": dim,
        "cleaning": "identity",
        "format": _FORMAT,
    }
    digest = keys.digest_json(dict(fields))[: keys.HEX_DIGITS]
    alias: Record = ["alias", f"{FOREIGN}{declared}", "", "fp32", "exact", "ignore", digest, None, None, None]
    records: list[Record] = [["space", digest, fields, dim], alias]
    return intake.names(catalogue, records, "the import")


def _partner(folder: Path, path: Path) -> Path:
    number = path.stem.rpartition("_")[2]
    found = sorted((folder / "metadata").glob(f"*_{number}.parquet"))
    if len(found) != 1:
        msg = f"{path}: no metadata/metadata_{number}.parquet beside it says what its rows are"
        raise BadFormat(msg)
    return found[0]


def _metadata(path: Path) -> Iterator[list[dict[str, Any]]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        msg = f"{path}: Parquet needs the package pyarrow: install it"
        raise InputError(msg) from error
    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in ("image_path", "caption") if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=BLOCK, columns=columns):
                yield batch.to_pylist() if columns else [{}] * batch.num_rows
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        msg = f"{path}: Parquet that can't be read ({str(error).splitlines()[:1]})"
        raise BadFormat(msg) from error


def _unit(rows: np.ndarray, path: Path) -> np.ndarray:
    vectors = np.asarray(rows, dtype=np.float32)
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms == 0).any():
        msg = f"{path}: holds vectors that are zero or not finite: they have no direction to compare"
        raise BadFormat(msg)
    return np.asarray((vectors / norms).astype(np.float32))


def _take(
    catalogue: Catalogue,
    space: SpaceRow,
    modality: Modality,
    vectors: np.ndarray,
    rows: Sequence[dict[str, Any]],
    images: Path | None,
) -> Taken:
    facts = [_text(row) if modality == "text" else _image(row, images) for row in rows]
    usable = [index for index, fact in enumerate(facts) if fact is not None]
    known = [fact for fact in facts if fact is not None]
    ids = np.array(
        [
            keys.text_id(fact["text"]) if modality == "text" else keys.from_sha256(bytes.fromhex(fact["sha256"]))
            for fact in known
        ],
        np.int64,
    )
    lost = Taken(unusable=len(rows) - len(usable))
    return intake.take(catalogue, space, modality, ids, vectors[usable], known) + lost if usable else lost


def _text(row: dict[str, Any]) -> dict[str, Any] | None:
    caption = row.get("caption")
    return {"prefix": "", "text": caption} if isinstance(caption, str) else None


def _image(row: dict[str, Any], images: Path | None) -> dict[str, Any] | None:
    named = row.get("image_path")
    if images is None or not isinstance(named, str):
        return None
    for path in (images / named.lstrip("/"), images / named.rpartition("/")[2]):
        if ".." not in path.parts and path.is_file():
            data = path.read_bytes()
            return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    return None
