"""Plain NumPy files: ``FINGERPRINT-KIND.npy``, its keys beside it as JSON lines, and the encoder's description.

Whatever comes in is looked at before it is mapped: header, number format, size. Nothing is unpickled.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from clipstore import keys
from clipstore.errors import BadFormat
from clipstore.storage import durable
from clipstore.storage.exchange import intake
from clipstore.storage.exchange.intake import Taken
from clipstore.storage.exchange.listing import BLOCK, hex_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.segments import Modality
    from clipstore.storage.collect import KeysOf
    from clipstore.storage.exchange.listing import Listing
    from clipstore.storage.exchange.manifest import Record

KEYS = ".keys.jsonl"
NAMES = ".space.json"
_MOST_DIMENSIONS = 1 << 16
_VERSIONS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def write(listing: Listing, folder: Path, names: list[Record]) -> Path:
    """Write one space and modality; return the path of its vectors."""
    stem = f"{listing.space.digest}-{listing.modality}"
    _write(folder, f"{stem}{NAMES}", [json.dumps(names).encode()])
    _write(folder, f"{stem}{KEYS}", _key_lines(listing))
    return _write(folder, f"{stem}.npy", _array(listing))


def _write(folder: Path, name: str, parts: Iterable[bytes]) -> Path:
    return durable.write(folder, parts, lambda _digest: name)[0]


def _key_lines(listing: Listing) -> Iterator[bytes]:
    for block in listing.blocks():
        lines = zip(hex_ids(block.ids), block.facts, strict=True)
        yield "".join(json.dumps({"id": id_, **fact}) + "\n" for id_, fact in lines).encode()


def _array(listing: Listing) -> Iterator[bytes]:
    header = io.BytesIO()
    shape = len(listing), listing.space.dim
    npy.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    yield header.getvalue()
    for block in listing.blocks():
        yield block.vectors.astype("<f4").tobytes()


def mapped(path: Path) -> np.ndarray:
    """Map a ``.npy`` file of vectors after a look at its header and size: float16, 32 or 64 of shape (rows, dim).

    Raises
    ------
    BadFormat
        When it is no two-dimensional array of numbers, or its size is not what its header says.
    """
    try:
        with path.open("rb") as file:
            read_header = _VERSIONS.get(npy.read_magic(file))
            if read_header is None:
                msg = f"{path}: is a .npy of a version that is not read here: save it again with numpy.save"
                raise BadFormat(msg)
            shape, fortran, dtype = read_header(file)
            offset = file.tell()
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        msg = f"{path}: is no .npy file that can be read ({error})"
        raise BadFormat(msg) from error
    if dtype.kind != "f" or len(shape) != 2 or fortran or not 0 < shape[1] <= _MOST_DIMENSIONS:
        msg = f"{path}: holds {dtype} of shape {shape}, not rows of vectors"
        raise BadFormat(msg)
    if size != offset + shape[0] * shape[1] * dtype.itemsize:
        msg = f"{path}: has {size:,} bytes, which is not what its header says ({shape}, {dtype}): it is cut off"
        raise BadFormat(msg)
    if shape[0] == 0:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(path, dtype, "r", offset=offset, shape=shape))


def read(catalogue: Catalogue, path: Path, keys_of: KeysOf) -> Taken:
    """Take in one ``.npy`` file that :func:`write` wrote, with its keys.

    Raises
    ------
    BadFormat
        When files are missing or damaged, vectors have another length, or an id is not that of its text or image.
    """
    stem = path.name.removesuffix(".npy")
    space = intake.names(catalogue, _json(path.with_name(f"{stem}{NAMES}")), str(path))
    modality: Modality = "image" if stem.endswith("-image") else "text"
    vectors = mapped(path)
    intake.check_length(space, vectors.shape[1], str(path))
    taken, start = Taken(), 0
    for facts in _facts(path.with_name(f"{stem}{KEYS}")):
        block = np.asarray(vectors[start : start + len(facts)], dtype=np.float32)
        if len(block) != len(facts):
            break
        ids = np.array([fact.pop("id") for fact in facts], np.int64)
        intake.check_ids(space, ids, facts, keys_of, str(path))
        taken += intake.take(catalogue, space, modality, ids, block, facts)
        start += len(facts)
    else:
        if start == len(vectors):
            return taken
    msg = f"{path}: its keys and its {len(vectors):,} vectors differ in number: one of the two files is cut off"
    raise BadFormat(msg)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        msg = f"{path}: can't be read ({error}): export again"
        raise BadFormat(msg) from error


def _facts(path: Path) -> Iterator[list[dict[str, Any]]]:
    facts = []
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                fact = json.loads(line)
                fact["id"] = keys.from_hex(fact["id"])
                facts.append(fact)
                if len(facts) == BLOCK:
                    yield facts
                    facts = []
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path}: can't be read as keys ({error}): export again"
        raise BadFormat(msg) from error
    if facts:
        yield facts
