"""Picks that stay: as a system of a saved eval set, as a file, and as a run that cleaning up knows of."""

from __future__ import annotations

import json
import time
from dataclasses import replace
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
    from collections.abc import Sequence
    from pathlib import Path

    from clipstore.evalset import EvalSet
    from clipstore.evalset.saved import Saved
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.results import Reranked
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store import Store

VERB: Final = "rerank"

FORMATS: Final = {"coco": "coco-results", "clipscore": "official", "jsonl": "jsonl", "parquet": "parquet"}
"""What ``--format`` calls a layout, and what :func:`clipstore.formats.write` does."""


def dumps(reranked: Reranked, format_: str = "jsonl") -> bytes:
    """Return the picks in a format of :data:`FORMATS`; in JSON lines a pick has every score.

    Raises
    ------
    InputError
        When there is no such format.
    """
    if format_ not in FORMATS:
        msg = f"can't write {format_!r}: one of {', '.join(FORMATS)}"
        raise InputError(msg)
    if format_ != "jsonl":
        return formats.dumps(reranked.to_rows(format_), FORMATS[format_])
    lines = (json.dumps(pick.to_dict(), ensure_ascii=False, allow_nan=False) for pick in reranked.picks)
    return "".join(f"{line}\n" for line in lines).encode()


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
    save_bytes(path, dumps(reranked, format_))


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


def digest(candidates: Candidates) -> str:
    """Return the sha256 of candidates, 64 hex digits: ids, captions and log-probabilities in the order of the set."""
    logps = [None if number != number else number for number in candidates.logps.tolist()]  # noqa: PLR0124 - NaN
    return keys.digest_json(
        {
            "ids": list(map(str, candidates.keys)),
            "counts": candidates.lists.counts.tolist(),
            "texts": candidates.texts,
            "logps": logps,
            "kinds": sorted(candidates.kinds),
        }
    )


def named(reranked: Reranked, set_digest: str, *, ordered: bool) -> tuple[Reranked, dict[str, object]]:
    """Return the result with its run's id in its origin, and the request that the id is the hash of.

    Parameters
    ----------
    reranked
        What was chosen, and of what.
    set_digest
        The eval set's hash: its images and references.
    ordered
        Whether the candidates were taken for beams.
    """
    request: dict[str, object] = {
        "signature": str(reranked.signature),
        "set": set_digest,
        "candidates": digest(reranked.candidates),
        "k": reranked.chosen.shape[1],
        "ordered": ordered,
        "judge": None if reranked.gain is None else reranked.gain.judge,
        "tuned": None if reranked.tuned is None else reranked.tuned.to_dict(),
    }
    run_id = keys.digest_json({"verb": VERB, "request": request})
    return replace(reranked, origin={**reranked.origin, "run": run_id}), request


def record(
    catalogue: Catalogue,
    reranked: Reranked,
    request: dict[str, object],
    evalset: EvalSet,
    image_ids: Sequence[int | None],
) -> None:
    """Keep what was reranked, once; a known run is asked again, and a store that is read-only or busy stays as it is.

    Parameters
    ----------
    catalogue
        Of the store.
    reranked, request
        As :func:`named` gave them.
    evalset, image_ids
        What was used: its references, and the content id of each item's image.
    """
    run_id = str(reranked.origin["run"])
    if rows.known(catalogue, run_id) or catalogue.readonly:
        return
    raw = sorted({*reranked.candidates.texts, *(text for item in evalset.items for text in item.references)})
    ids = keys.text_ids(raw)
    used = np.array(sorted({id_ for id_ in image_ids if id_ is not None}), np.int64)
    row = RunRow(run_id, VERB, request, reranked.to_dict(), np.array(ids, np.int64), used, time.time())
    try:
        with catalogue.write(patience=0) as tx:
            contents.add_texts(tx, ids, raw)
            rows.add(tx, row)
    except (Busy, CannotWrite):
        return
