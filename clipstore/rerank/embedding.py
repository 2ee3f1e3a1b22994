"""From candidates to vectors in the store: only what is missing is encoded, images and texts apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.evaluate import fill
from clipstore.rerank.selecting import Embedded

if TYPE_CHECKING:
    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
    from clipstore.evaluate import Work
    from clipstore.metrics.recipes import Recipe
    from clipstore.rerank.candidates import Candidates
    from clipstore.store import Progress, Space

NO_IMAGE = -1


@final
@dataclass(frozen=True, slots=True)
class Switches:
    """What is the same for every look into the store.

    Parameters
    ----------
    recipe
        How a cosine becomes a score; gives the prefix.
    encode
        False refuses to encode.
    progress
        Told about the stages.
    """

    recipe: Recipe
    encode: bool
    progress: Progress


def place_images(space: Space, evalset: EvalSet, candidates: Candidates, switches: Switches) -> tuple[Ids, Work]:
    """Return the content id of each image, encoding those that have no vector; ``NO_IMAGE`` where one failed.

    Returns
    -------
    tuple
        int64 of shape (lists,), and what was done.
    """
    bare = replace(evalset, items=tuple(replace(item, references=()) for item in evalset.items))
    wanted = np.zeros(len(evalset.items), np.bool_)
    wanted[candidates.items] = True
    filled = fill(space, bare, (), switches.recipe, wanted.tolist(), encode=switches.encode, progress=switches.progress)
    ids = [NO_IMAGE if id_ is None else id_ for id_ in filled.ready]
    return np.array(ids, np.int64)[candidates.items], filled.work


def embedded(
    space: Space, candidates: Candidates, image_ids: Ids | None, switches: Switches
) -> tuple[Embedded, int, int]:
    """Encode the candidates that have no vector.

    Returns
    -------
    tuple
        The candidates with their vectors' keys, how many distinct texts were asked for, and how many were encoded.
    """
    numbers = candidates.numbers
    _, first = np.unique(numbers, return_index=True)
    distinct = [candidates.texts[row] for row in first.tolist()]
    done = space.ensure_texts(distinct, switches.recipe.prefix, encode=switches.encode, progress=switches.progress)
    placed = Embedded(space, switches.recipe, candidates, image_ids, done.keys[numbers])
    return placed, done.asked, done.encoded
