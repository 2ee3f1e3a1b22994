"""Candidates and images looked at together: what a pair scorer says of them, kept in the store like vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import BadImage, InputError
from clipstore.evaluate.pair_scores import pair_scores
from clipstore.store import known_images
from clipstore.store.identify import content
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable

    import PIL.Image

    from clipstore.arrays import Ids
    from clipstore.encoders.protocol import PairScorer
    from clipstore.evalset import EvalSet
    from clipstore.items import Image
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.embedding import Switches
    from clipstore.rerank.ragged import Numbers
    from clipstore.storage.catalogue import Catalogue

    Picture = bytes | PIL.Image.Image


@final
@dataclass(frozen=True, slots=True)
class Pictures:
    """The images of a set for scorers that look at them: read where a number is missing, not before.

    Parameters
    ----------
    catalogue
        Where numbers are kept, and where the files of a saved set's images are known.
    evalset
        The images that count.
    switches
        Whether to compute, and who is told.
    """

    catalogue: Catalogue
    evalset: EvalSet
    switches: Switches

    def scores(self, scorer: PairScorer, candidates: Candidates, image_ids: Ids) -> Numbers:
        """Return the scorer's number of each candidate, float64, shape (total,).

        Raises
        ------
        NotStored
            When a number is missing and computing is switched off.
        InputError
            When an image can't be read.
        """
        items = self.evalset.items
        read: dict[int, Callable[[], Picture]] = {}
        for row, id_ in zip(candidates.items.tolist(), image_ids.tolist(), strict=True):
            image = items[row].image
            read[id_] = partial(self._known, id_) if image is None else partial(_read, image)
        contexts, scored = image_ids[candidates.lists.owners], 0

        def told(stage: str, done: int, total: int) -> None:
            nonlocal scored
            scored = done
            self.switches.progress(stage, done, total)

        found = pair_scores(
            self.catalogue,
            scorer.fingerprint,
            lambda: scorer,
            contexts,
            candidates.texts,
            read,
            encode=self.switches.encode,
            progress=told,
        )
        self.switches.tally.pairs += len(set(zip(contexts.tolist(), candidates.texts, strict=True)))
        self.switches.tally.pairs_scored += scored
        lost = np.unique(candidates.lists.owners[np.isnan(found)]).tolist()
        if lost:
            first = ", ".join(str(candidates.keys[row]) for row in lost[:5])
            msg = f"{len(lost):,} images can't be read for the pair scorer (first: {first}): leave them out of the set"
            raise InputError(msg)
        return found.astype(np.float64)

    def _known(self, id_: int) -> Picture:
        """Read an image that the store has seen as a file."""
        found = known_images.find(self.catalogue, [id_], "the pair scorer", silent)
        if not found.images:
            raise BadImage(found.failures[0].reason)
        return _read(found.images[0])


def _read(image: Image) -> Picture:
    return content(image) if isinstance(image.source, (bytes, Path)) else image.source
