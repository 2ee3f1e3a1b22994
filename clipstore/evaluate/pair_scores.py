"""Pair scores: numbers of an image and a text together, computed once and kept like vectors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from clipstore import keys
from clipstore.errors import BadImage, EncoderError, NotStored
from clipstore.storage.catalogue import pairs
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import PIL.Image

    from clipstore.arrays import Ids, Scores
    from clipstore.encoders.protocol import Fingerprint, PairScorer
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store import Progress

_PAIRS = 512  # in a commit ...
_SECONDS = 10.0  # ... or after so long


def pair_scores(
    catalogue: Catalogue,
    fingerprint: Fingerprint,
    load: Callable[[], PairScorer],
    contexts: Ids,
    texts: Sequence[str],
    read: Mapping[int, Callable[[], bytes | PIL.Image.Image]],
    *,
    encode: bool = True,
    progress: Progress = silent,
) -> Scores:
    """Return the number of each pair; only pairs that the store lacks are computed, each once.

    Parameters
    ----------
    catalogue
        Where the numbers are kept, by (scorer fingerprint, context id, text id).
    fingerprint
        Of the scorer; it is loaded only when something is missing.
    load
        Gives the scorer.
    contexts
        Image id of each pair, int64 of shape (pairs,).
    texts
        Raw text of each pair.
    read
        Image id -> what reads the image; called for images of missing pairs.
    encode
        False refuses to compute.
    progress
        Told as stage ``pairs``.

    Returns
    -------
    Scores
        float32 of shape (pairs,); NaN where the image can't be read.

    Raises
    ------
    NotStored
        When a pair is missing and ``encode`` is False.
    EncoderError
        When the scorer that was loaded is another one.
    """
    ids = np.array(keys.text_ids(texts), np.int64)
    with catalogue.read() as tx:
        found = pairs.get(tx, fingerprint.digest, contexts, ids)
    missing = np.flatnonzero(np.isnan(found))
    if not len(missing):
        return found
    if not encode:
        msg = f"{len(missing):,} pairs have no score of this scorer, and computing is switched off (encode=True)"
        raise NotStored(msg)
    wanted: dict[int, dict[int, str]] = {}  # image -> text id -> text
    for row in missing.tolist():
        wanted.setdefault(int(contexts[row]), {})[int(ids[row])] = texts[row]
    made = _computed(catalogue, fingerprint, load, wanted, read, progress)
    for row in missing.tolist():
        found[row] = made.get((int(contexts[row]), int(ids[row])), np.nan)
    return found


def _computed(
    catalogue: Catalogue,
    fingerprint: Fingerprint,
    load: Callable[[], PairScorer],
    wanted: Mapping[int, Mapping[int, str]],
    read: Mapping[int, Callable[[], bytes | PIL.Image.Image]],
    progress: Progress,
) -> dict[tuple[int, int], float]:
    """Compute what is wanted, an image at a time; what was done before an interruption is committed."""
    scorer = load()
    if scorer.fingerprint.digest != fingerprint.digest:
        lines = "; ".join(fingerprint.difference(scorer.fingerprint))
        msg = f"the scorer that was loaded is not the one asked for: {lines}"
        raise EncoderError(msg)
    total, since = sum(map(len, wanted.values())), time.monotonic()
    made: dict[tuple[int, int], float] = {}
    waiting: dict[tuple[int, int], float] = {}
    try:
        for context, texts in wanted.items():
            try:
                numbers = scorer.score(scorer.prepare_image(read[context]()), list(texts.values()))
            except (OSError, BadImage):
                continue
            waiting |= {(context, text): float(number) for text, number in zip(texts, numbers, strict=True)}
            if len(waiting) >= _PAIRS or time.monotonic() - since > _SECONDS:
                _commit(catalogue, fingerprint, waiting)
                made, waiting, since = made | waiting, {}, time.monotonic()
            progress("pairs", len(made) + len(waiting), total)
    finally:
        _commit(catalogue, fingerprint, waiting)
    return made | waiting


def _commit(catalogue: Catalogue, fingerprint: Fingerprint, numbers: Mapping[tuple[int, int], float]) -> None:
    if not numbers:
        return
    contexts, texts = (np.array(column, np.int64) for column in zip(*numbers, strict=True))
    with catalogue.write() as tx:
        pairs.add(tx, fingerprint.digest, contexts, texts, np.array(list(numbers.values()), np.float32))
