"""Pair scorers on a benchmark: numbers of an image and a caption together, kept in the store like vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clipstore.evaluate.pair_scores import pair_scores
from clipstore.items import Image
from clipstore.store.identify import identify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clipstore.encoders.protocol import PairScorer
    from clipstore.metaeval.protocols import Numbers
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store import Progress


def score(
    scorer: PairScorer,
    catalogue: Catalogue,
    images: Sequence[str],
    captions: Sequence[str],
    files: Mapping[str, Path],
    *,
    encode: bool,
    progress: Progress,
) -> Numbers:
    """Return the number of each row; pairs that the store knows are not computed again.

    Parameters
    ----------
    scorer
        Such as BLIP's or ImageReward.
    catalogue
        Where the numbers are kept.
    images, captions
        Of each row.
    files
        Image name -> its file; rows of other images have no number.
    encode
        False refuses to compute.
    progress
        Told about the stages.

    Returns
    -------
    Numbers
        float64, shape (rows,); NaN where there is no image or it can't be read.

    Raises
    ------
    NotStored
        When a pair is missing and ``encode`` is False.
    """
    names = [name for name in dict.fromkeys(images) if name in files]
    found = identify(catalogue, [Image(files[name], files[name].name) for name in names], progress)
    ids = {name: id_ for name, id_ in zip(names, found.ids, strict=True) if id_ is not None}
    rows = [row for row, image in enumerate(images) if image in ids]
    values = np.full(len(images), np.nan)
    if rows:
        values[rows] = pair_scores(
            catalogue,
            scorer.fingerprint,
            lambda: scorer,
            np.array([ids[images[row]] for row in rows], np.int64),
            [captions[row] for row in rows],
            {id_: files[name].read_bytes for name, id_ in ids.items()},
            encode=encode,
            progress=progress,
        )
    return values
