"""Picks that stay: as a system of a saved eval set, as a file, and as a run that cleaning up knows of."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore import formats, keys
from clipstore.errors import Busy, CannotWrite, InputError
from clipstore.evalset import save
from clipstore.formats import Captions
from clipstore.formats.writing import save as save_bytes
from clipstore.storage.catalogue import contents
from clipstore.storage.catalogue import runs as rows
from clipstore.storage.catalogue.runs import RunRow

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
    from clipstore.evalset.saved import Saved
    from clipstore.rerank.results import Reranked
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store import Store

FORMATS: Final = {"coco": "coco-results", "clipscore": "official", "jsonl": "jsonl", "parquet": "parquet"}
"""What ``--format`` calls a layout, and what :func:`clipstore.formats.write` does."""


def dumps(reranked: Reranked) -> str:
    """Return the picks as JSON lines: image, caption, picked, of, score, top1_score, every score."""
    lines = (json.dumps(pick.to_dict(), ensure_ascii=False, allow_nan=False) for pick in reranked.picks)
    return "".join(f"{line}\n" for line in lines)


def write(path: Path, reranked: Reranked, format_: str = "jsonl") -> None:
    """Write the picks, whole or not at all.

    Parameters
    ----------
    path
        Where.
    reranked
        What.
    format_
        ``coco`` or ``clipscore`` (submission files), ``jsonl`` or ``parquet`` (with places and scores).

    Raises
    ------
    InputError
        When there is no such format.
    CannotWrite
        When the file can't be written.
    """
    if format_ not in FORMATS:
        msg = f"can't write {format_!r}: one of {', '.join(FORMATS)}"
        raise InputError(msg)
    if format_ == "jsonl":
        save_bytes(path, dumps(reranked).encode())
    else:
        formats.write(path, reranked.to_rows(format_), FORMATS[format_])


def save_as(store: Store, evalset: EvalSet, name: str, reranked: Reranked, *, replace: bool = False) -> Saved:
    """Keep the picks as a system of a saved eval set, with their origin.

    Parameters
    ----------
    store, evalset
        A set that was loaded from the store.
    name
        Of the system.
    reranked
        The picks; with k above 1 an n-best system.
    replace
        Whether other captions under this name give way.

    Raises
    ------
    InputError
        When the set is not a saved one, or the name stands for other captions and ``replace`` is False.
    """
    if evalset.name is None:
        msg = f"--save-as {name} keeps picks as a system of a saved eval set: name it with -t SET (clipstore add)"
        raise InputError(msg)
    picks = reranked.picks
    several = reranked.chosen.shape[1] > 1
    captions = Captions(
        source=str(reranked.origin["source"]),
        format="picks",
        ids=[pick.key for pick in picks],
        texts=[pick.caption for pick in picks],
        ranks=[pick.rank for pick in picks] if several else None,
    )
    did = save(
        store,
        evalset.name,
        evalset,
        {name: captions},
        replace=replace,
        missing="skip",
        origins={name: reranked.origin},
    )
    return did[name]


def digest(reranked: Reranked) -> str:
    """Return the sha256 of the candidates, 64 hex digits: ids, counts and captions in the order of the set."""
    candidates = reranked.candidates
    parts = [*map(str, candidates.keys), *candidates.texts]
    counts = candidates.lists.counts.astype("<i8").tobytes()
    return hashlib.sha256(counts + "\x1e".join(parts).encode()).hexdigest()


def record(catalogue: Catalogue, reranked: Reranked, image_ids: Ids | None) -> None:
    """Keep what was reranked, once; nothing happens where it is known, or the store is read-only or busy."""
    request = {"signature": str(reranked.signature), "candidates": digest(reranked)}
    if reranked.gain is not None:
        request["judge"] = reranked.gain.judge
    run_id = keys.digest_json(request)
    with catalogue.read() as tx:
        known = rows.get(tx, run_id) is not None
    if known or catalogue.readonly:
        return
    raw = sorted(set(reranked.candidates.texts))
    ids = keys.text_ids(raw)
    used = np.empty(0, np.int64) if image_ids is None else np.unique(image_ids)
    row = RunRow(run_id, "rerank", request, reranked.to_dict(), np.array(ids, np.int64), used, time.time())
    try:
        with catalogue.write(patience=0) as tx:
            contents.add_texts(tx, ids, raw)
            rows.add(tx, row)
    except (Busy, CannotWrite):
        return
