"""``retrieve``: to every image its nearest caption of a pool, as a system that can be scored and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import InputError
from clipstore.evaluate import fill
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.formats import Captions, Row
from clipstore.search.nearest import Nearest, sample
from clipstore.storage.search import NOTHING
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from clipstore.evalset import EvalSet
    from clipstore.items import ItemKey
    from clipstore.search.pools import TextPool
    from clipstore.search.verb import Approximate
    from clipstore.store import Failure, Progress, Space

_BATCH = 4096  # images searched at once


@final
@dataclass(frozen=True, slots=True)
class Match:
    """The caption that an image got: its id, the caption, the cosine, and its rank (0 is the nearest)."""

    key: ItemKey
    caption: str
    score: float
    rank: int = 0


@final
@dataclass(frozen=True, eq=False)
class Retrieved:
    """What :func:`retrieve` found.

    Parameters
    ----------
    matches
        Image after image in the order of the set, the nearest first.
    pool
        Where was searched.
    selector
        Fingerprint of the space.
    empty
        Ids of images for which the pool holds nothing but their own captions.
    failures
        Images that could not be read.
    recall
        Of a trained index in this pool, on an even sample of the images.
    """

    matches: tuple[Match, ...]
    pool: str
    selector: str
    empty: tuple[ItemKey, ...] = ()
    failures: tuple[Failure, ...] = ()
    recall: float | None = None

    @property
    def captions(self) -> dict[ItemKey, str]:
        """Image id -> nearest caption: what ``score`` takes."""
        return {match.key: match.caption for match in self.matches if not match.rank}

    @property
    def origin(self) -> dict[str, object]:
        """What a system saved from it keeps."""
        return {"verb": "retrieve", "method": "retrieve", "selectors": [self.selector], "source": self.pool}

    def as_system(self) -> Captions:
        """Return the captions as a system, several an image where several were asked for."""
        several = any(match.rank for match in self.matches)
        return Captions(
            source=f"retrieved from {self.pool}",
            format="retrieved",
            ids=[match.key for match in self.matches],
            texts=[match.caption for match in self.matches],
            ranks=[match.rank for match in self.matches] if several else None,
        )

    def to_rows(self, *, plain: bool = False) -> list[Row]:
        """Return rows for :func:`clipstore.formats.write`; ``plain`` leaves the cosine out."""
        return [
            Row(one.key, one.caption, rank=one.rank, values={} if plain else {"cosine": one.score})
            for one in self.matches
        ]


def retrieve(
    space: Space,
    evalset: EvalSet,
    pool: TextPool,
    *,
    k: int = 1,
    exclude_own: bool = False,
    index: Approximate | None = None,
    recipe: str | None = None,
    encode: bool = True,
    progress: Progress = silent,
) -> Retrieved:
    """Give every image of a set its nearest caption of a pool: a retrieval baseline.

    Parameters
    ----------
    space
        The vectors of one encoder.
    evalset
        An eval set with images; of a folder alone all of them.
    pool
        The captions.
    k
        How many an image.
    exclude_own
        Leave out an image's own captions: its references, and those that the pool says are its own.
    index
        A trained index in place of an exact search.
    recipe
        Gives the prefix of captions; None: the model's own.
    encode, progress
        As in :func:`clipstore.score`.

    Raises
    ------
    InputError
        When the pool holds nothing, or the set no images.
    NotStored
        When something is missing and ``encode`` is False.
    """
    evalset = evalset.of_all_images()
    if evalset.is_open:
        msg = "nothing says which images are to get a caption: give the set images"
        raise InputError(msg)
    filled = fill(space, evalset.without_references(), (), recipe_of(space, recipe), encode=encode, progress=progress)
    rows = [row for row, id_ in enumerate(filled.ready) if id_ is not None]
    ids = np.array([id_ for id_ in filled.ready if id_ is not None], np.int64)
    own = _own(space, evalset, pool, recipe_of(space, recipe).prefix) if exclude_own else {}
    most = k + max((len(one) for one in own.values()), default=0)
    matches: list[Match] = []
    empty: list[ItemKey] = []
    finder = Nearest(space, pool, index)
    for start in range(0, len(rows), _BATCH):
        hits = finder.search(space.gather_images(ids[start : start + _BATCH]), most)
        batch = zip(rows[start : start + _BATCH], hits.ids.tolist(), hits.scores.tolist(), strict=True)
        for row, near, scores in batch:
            kept = _kept(evalset.keys[row], near, scores, own, pool, k)
            matches += kept
            if not kept:
                empty.append(evalset.keys[row])
    recall = None if index is None else finder.recall(space.gather_images(ids[sample(len(ids))]))
    selector = space.fingerprint.digest
    return Retrieved(tuple(matches), pool.name, selector, tuple(empty), filled.work.images.failures, recall)


def _own(space: Space, evalset: EvalSet, pool: TextPool, prefix: str) -> dict[ItemKey, frozenset[int]]:
    """Return the vector keys of each image's own captions that stand in the pool."""
    owned = {item.key: pool.owners.get(item.key, frozenset()) for item in evalset.items}
    texts = [(item.key, text) for item in evalset.items for text in item.references]
    keys = space.text_keys([text for _, text in texts], prefix).tolist()
    for (image, _), key in zip(texts, keys, strict=True):
        owned[image] |= {key}
    return {image: frozenset(key for key in own if key in pool.texts) for image, own in owned.items()}


def _kept(
    key: ItemKey,
    near: list[int],
    scores: list[float],
    own: dict[ItemKey, frozenset[int]],
    pool: TextPool,
    k: int,
) -> list[Match]:
    mine = own.get(key, frozenset())
    left = [(id_, score) for id_, score in zip(near, scores, strict=True) if id_ != NOTHING and id_ not in mine]
    return [Match(key, pool.texts[id_], score, rank) for rank, (id_, score) in enumerate(left[:k])]
