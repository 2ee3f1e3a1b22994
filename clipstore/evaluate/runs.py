"""The record of a scoring: content-addressed, so that cleaning up and replay know what was used."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from clipstore import keys
from clipstore.errors import Busy, CannotWrite
from clipstore.storage.catalogue import contents
from clipstore.storage.catalogue import runs as rows
from clipstore.storage.catalogue.runs import RunRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.evalset import EvalSet
    from clipstore.evalset.systems import System
    from clipstore.evaluate.results import Scores
    from clipstore.store import Space


def record(
    space: Space, scores: Scores, systems: Sequence[System], evalset: EvalSet, image_ids: Sequence[int | None]
) -> None:
    """Keep what was scored, once; a known run is asked again, and a store that is read-only or busy stays as it is."""
    request = {
        "set": scores.set_digest,
        "space": space.fingerprint.digest,
        "signatures": {metric: str(signature) for metric, signature in scores.signatures.items()},
        "systems": [[system.name, system.digest] for system in systems],
    }
    run_id = keys.digest_json(request)
    catalogue = space.catalogue
    if rows.known(catalogue, run_id) or catalogue.readonly:
        return
    texts = {text for system in systems for text in system.texts if text is not None}
    texts |= {text for item in evalset.items for text in item.references}
    raw = sorted(texts)
    ids = keys.text_ids(raw)
    row = RunRow(
        id=run_id,
        verb="score",
        request=request,
        result=scores.to_dict(),
        used_texts=np.array(ids, np.int64),
        used_images=np.array(sorted({id_ for id_ in image_ids if id_ is not None}), np.int64),
        at=time.time(),
    )
    try:
        with catalogue.write(patience=0) as tx:
            contents.add_texts(tx, ids, raw)
            rows.add(tx, row)
    except (Busy, CannotWrite):
        return
