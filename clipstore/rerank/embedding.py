"""From candidates to vectors in the store: only what is missing is encoded, images and texts apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.evaluate import fill
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.metrics.recipes import spoken
from clipstore.rerank.selecting import Embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
    from clipstore.metrics.recipes import Recipe
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.ragged import Flags
    from clipstore.store import Failure, Progress, Space

NO_IMAGE = -1


@final
@dataclass(slots=True)
class Tally:
    """What the models of one request looked at: the selector's, the judge's, and those on development images.

    Parameters
    ----------
    images, texts
        Looked at, the largest number in one space.
    images_encoded, texts_encoded
        Encoded, over all spaces.
    pairs, pairs_scored
        Distinct pairs of image and caption that pair scorers looked at, and those that were computed.
    """

    images: int = 0
    images_encoded: int = 0
    texts: int = 0
    texts_encoded: int = 0
    pairs: int = 0
    pairs_scored: int = 0

    def __str__(self) -> str:
        def part(count: int, made: int, what: str, how: str = "encoded") -> list[str]:
            return [f"{count:,} {what}: " + (f"{made:,} {how}" if made else "all cached")] if count else []

        parts = part(self.images, self.images_encoded, "images")
        parts += part(self.texts, self.texts_encoded, "distinct candidates")
        parts += part(self.pairs, self.pairs_scored, "pairs", "scored")
        return "; ".join(parts) or "no model looked: nothing to encode"


@final
@dataclass(frozen=True, slots=True)
class Switches:
    """What is the same for every look into the store.

    Parameters
    ----------
    recipe
        How a cosine becomes a score, and the prefix, by name; None: each model's own.
    encode
        False refuses to encode.
    progress
        Told about the stages.
    tally
        Counts what was looked at and encoded.
    """

    recipe: str | None
    encode: bool
    progress: Progress
    tally: Tally = field(default_factory=Tally)

    def recipe_of(self, space: Space) -> Recipe:
        """Return the recipe of a model."""
        return recipe_of(space, self.recipe)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """The images of the candidates, in the spaces that look at them.

    Parameters
    ----------
    image_ids
        Content id of each list's image, int64, shape (lists,); ``NO_IMAGE`` where it failed in the
        last space. None where no space looks.
    failed
        Which lists' images failed in any space, shape (lists,).
    known
        Content id of each item of the set, encoded or not; None where it is not known.
    failures
        Images that could not be read.
    """

    image_ids: Ids | None
    failed: Flags
    known: tuple[int | None, ...]
    failures: tuple[Failure, ...] = ()


def place(spaces: Sequence[Space], evalset: EvalSet, candidates: Candidates, switches: Switches) -> Placed:
    """Find the images of the candidates in every space, encoding those that have no vector there."""
    out = Placed(None, np.zeros(len(candidates), np.bool_), tuple(item.image_id for item in evalset.items))
    if not evalset.has_images:
        return out
    bare = evalset.without_references()
    wanted = np.zeros(len(evalset.items), np.bool_)
    wanted[candidates.items] = True
    for space in spaces:
        recipe, encode = switches.recipe_of(space), switches.encode
        filled = fill(space, bare, (), recipe, wanted.tolist(), encode=encode, progress=switches.progress)
        ready = np.array([NO_IMAGE if id_ is None else id_ for id_ in filled.ready], np.int64)
        ids, done = ready[candidates.items], filled.work.images
        failed = out.failed | (ids == NO_IMAGE)
        out = Placed(ids, failed, tuple(filled.image_ids), out.failures or done.failures)
        switches.tally.images = max(switches.tally.images, done.asked)
        switches.tally.images_encoded += done.encoded
    return out


def embedded(space: Space, candidates: Candidates, image_ids: Ids | None, switches: Switches) -> Embedded:
    """Encode the candidates that have no vector, and return them with their vectors' keys."""
    numbers = candidates.numbers
    _, first = np.unique(numbers, return_index=True)
    distinct = [candidates.texts[row] for row in first.tolist()]
    recipe = switches.recipe_of(space)
    said = spoken(recipe, distinct)
    strings = [said[text] for text in distinct]
    done = space.ensure_texts(strings, recipe.prefix, encode=switches.encode, progress=switches.progress)
    switches.tally.texts = max(switches.tally.texts, done.asked)
    switches.tally.texts_encoded += done.encoded
    return Embedded(space, recipe, candidates, image_ids, done.keys[numbers])
