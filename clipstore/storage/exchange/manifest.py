"""A manifest: rows of a catalogue as plain records that JSON can hold, to carry them into another store.

A record is a list that begins with its kind. Ids of texts and images are not carried where
their content is: they follow from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clipstore import keys
from clipstore.errors import InputError
from clipstore.storage.catalogue import contents, files, pairs, references, runs, sets, spaces, whole
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.storage.catalogue.engine import WRITE_PATIENCE
from clipstore.storage.catalogue.files import FileRow
from clipstore.storage.catalogue.runs import RunRow
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.storage.catalogue.spaces import AliasKey, AliasRow
from clipstore.storage.catalogue.statements import batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clipstore.storage.catalogue import Catalogue, Tx

    Record = list[Any]
    Records = Callable[[], Iterable[Record]]

_CHUNK = 10_000  # records in one transaction: other writers have their turn in between


def pack_names(tx: Tx) -> Iterator[Record]:
    """Yield what names encoders: spaces, the prefixes of their texts, and the model names that load them."""
    for space in spaces.all(tx):
        yield ["space", space.digest, space.fields, space.dim]
        for prefix in spaces.prompts(tx, space.digest):
            yield ["prompt", space.digest, prefix]
    for alias in spaces.aliases(tx):
        key, stat = alias.key, [alias.weights_size, alias.weights_mtime_ns, alias.weights_inode]
        yield ["alias", key.model, key.weights, key.precision, key.preprocess, key.exif, alias.digest, *stat]


def pack_contents(tx: Tx) -> Iterator[Record]:
    """Yield texts, images and what is known of them."""
    for _ids, texts in references.all_texts(tx):
        for text in texts:
            yield ["text", text]
    for one in whole.images(tx):
        yield ["image", one.sha256.hex(), one.bytes, one.mode, one.width, one.height, list(one.flags)]
    for space in spaces.all(tx):
        for cut in whole.cuts(tx, space.digest):
            yield ["cut", space.digest, *cut]
    for file in whole.files(tx):
        yield ["file", *file]
    for pair in whole.pairs(tx):
        yield ["pair", *pair]
    for run in runs.all(tx):
        used = run.used_texts.tolist(), run.used_images.tolist()
        yield ["run", run.id, run.verb, run.request, run.result, *used, run.at]


def pack_sets(tx: Tx) -> Iterator[Record]:
    """Yield eval sets, then their systems, older captions before the current ones."""
    for summary in sets.names(tx):
        row = sets.get(tx, summary.name)
        if row is not None:
            yield ["set", row.name, row.digest, row.origin, [list(item) for item in row.items]]
    for one in whole.systems(tx):
        found = sets.candidates(tx, one.set_name, one.name, one.digest)
        yield ["system", one.set_name, one.name, one.digest, one.origin, [list(row) for row in found], one.current]


def clashes(tx: Tx, records: Iterable[Record]) -> list[str]:
    """Return what can't come in because a name stands for other content here, one phrase each."""
    known = {summary.name: summary.digest for summary in sets.names(tx)}
    systems = {(name, row.name): row.digest for name in known for row in sets.systems(tx, name)}
    found = []
    for record in records:
        if record[0] == "set" and known.get(record[1], record[2]) != record[2]:
            found.append(f"eval set {record[1]!r} has other images or references")
        if record[0] == "system" and record[6] and systems.get((record[1], record[2]), record[3]) != record[3]:
            found.append(f"system {record[2]!r} of {record[1]!r} has other captions")
    return found


def refuse_clashes(catalogue: Catalogue, records: Iterable[Record], source: str) -> None:
    """Raise where names would change their meaning.

    Raises
    ------
    InputError
        When an eval set or a system of ``records`` is here with other content.
    """
    with catalogue.read() as tx:
        found = clashes(tx, records)
    if found:
        msg = f"{source}: nothing was taken over: {'; '.join(found[:5])} here: remove one of the two with clipstore rm"
        raise InputError(msg)


def unpack(catalogue: Catalogue, records: Iterable[Record], patience: float = WRITE_PATIENCE) -> None:
    """Put records into a catalogue, a chunk at a time; what is there stays as it is.

    Parameters
    ----------
    catalogue
        The catalogue.
    records
        The records.
    patience
        Seconds to wait for other writers at each chunk.

    Raises
    ------
    IdCollision
        When an id stands for another content here.
    """
    for chunk in batches(records, _CHUNK):
        with catalogue.write(patience) as tx:
            put(tx, chunk)


def put(tx: Tx, records: Sequence[Record]) -> None:
    """Put records into a catalogue in the transaction that is open; all versions of a system together.

    Raises
    ------
    InputError
        When a name stands for other content: the store changed since :func:`refuse_clashes`.
    IdCollision
        When an id stands for another content here.
    """
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(record[0], []).append(record[1:])
    for kind, write in _WRITERS.items():
        if kind in grouped:
            write(tx, grouped[kind])


def _spaces(tx: Tx, found: list[Record]) -> None:
    for digest, fields, dim in found:
        known = spaces.get(tx, digest)
        if known is not None and known.dim != dim:
            msg = f"space {digest} has vectors of length {dim}, and {known.dim} here: one of the two is damaged"
            raise InputError(msg)
        spaces.register(tx, digest, fields, dim)  # in this store's own number format


def _prompts(tx: Tx, found: list[Record]) -> None:
    for digest, prefix in found:
        spaces.add_prompt(tx, digest, prefix)


def _aliases(tx: Tx, found: list[Record]) -> None:
    for record in found:
        key = AliasKey(*record[:5])
        if spaces.alias(tx, key) is None:
            spaces.set_alias(tx, AliasRow(key, *record[5:]))


def _texts(tx: Tx, found: list[Record]) -> None:
    texts = [record[0] for record in found]
    contents.add_texts(tx, keys.text_ids(texts), texts)


def _images(tx: Tx, found: list[Record]) -> None:
    rows = []
    for sha256, size, mode, width, height, flags in found:
        digest = bytes.fromhex(sha256)
        rows.append(ImageRow(keys.from_sha256(digest), digest, size, mode, width, height, tuple(flags)))
    contents.add_images(tx, rows)


def _cuts(tx: Tx, found: list[Record]) -> None:
    by_space: dict[str, list[tuple[int, int, int]]] = {}
    for digest, key, tokens, cut in found:
        by_space.setdefault(digest, []).append((key, tokens, cut))
    for digest, cuts in by_space.items():
        contents.add_cuts(tx, digest, cuts)


def _files(tx: Tx, found: list[Record]) -> None:
    rows = [FileRow(*record) for record in found]
    known = files.known(tx, [row.path for row in rows])
    files.remember(tx, [row for row in rows if row.path not in known])


def _pairs(tx: Tx, found: list[Record]) -> None:
    by_scorer: dict[str, list[Record]] = {}
    for record in found:
        by_scorer.setdefault(record[0], []).append(record[1:])
    for scorer, rows in by_scorer.items():
        contexts, texts, scores = zip(*rows, strict=True)
        pairs.add(
            tx, scorer, np.array(contexts, np.int64), np.array(texts, np.int64), np.array(scores, dtype=np.float32)
        )


def _runs(tx: Tx, found: list[Record]) -> None:
    for run_id, verb, request, result, texts, images, at in found:
        if runs.get(tx, run_id) is None:
            used = np.array(texts, np.int64), np.array(images, np.int64)
            runs.add(tx, RunRow(run_id, verb, request, result, *used, at))


def _sets(tx: Tx, found: list[Record]) -> None:
    known = {summary.name: summary.digest for summary in sets.names(tx)}
    for name, digest, origin, items in found:
        if known.get(name, digest) != digest:
            _refuse(f"eval set {name!r}")
        if name not in known:
            rows = [ItemRow(key, image, tuple(references), tags) for key, image, references, tags in items]
            sets.add(tx, name, rows, digest, origin)


def _systems(tx: Tx, found: list[Record]) -> None:
    before = {(record[0], row.name): row.digest for record in found for row in sets.systems(tx, record[0])}
    for set_name, name, digest, origin, candidates, current in found:
        known = before.get((set_name, name))
        if known is None:
            sets.add_system(tx, set_name, name, digest, [CandidateRow(*row) for row in candidates], origin)
        elif current and known != digest:
            _refuse(f"system {name!r} of {set_name!r}")


def _refuse(what: str) -> None:
    msg = f"{what} was given other content meanwhile; what else was taken over stays: remove one of the two"
    raise InputError(msg)


_WRITERS: dict[str, Callable[[Tx, list[Record]], None]] = {
    "space": _spaces,
    "prompt": _prompts,
    "alias": _aliases,
    "text": _texts,
    "image": _images,
    "cut": _cuts,
    "file": _files,
    "pair": _pairs,
    "run": _runs,
    "set": _sets,
    "system": _systems,
}
