"""The best of several captions of each image, over and over, as in a training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import InputError
from clipstore.rerank.ragged import Ragged
from clipstore.rerank.reward import blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.arrays import Ids, Scores
    from clipstore.items import ItemKey
    from clipstore.rerank.reward import RewardScorer


@final
class Reranker:
    """Picks the best of several captions of each image, over and over, by a :class:`RewardScorer`.

    Parameters
    ----------
    scorer
        Who scores.
    """

    def __init__(self, scorer: RewardScorer) -> None:
        self._scorer = scorer

    def __call__(self, image_ids: Sequence[ItemKey], candidates: Sequence[Sequence[str]]) -> tuple[Ids, Scores]:
        """Return the place of the best candidate of each image, and its reward.

        Parameters
        ----------
        image_ids
            One an image.
        candidates
            One or more captions of each; a tie goes to the earlier.

        Raises
        ------
        InputError
            When an image has none, or an id is not of the set.
        """
        counts = [len(one) for one in candidates]
        if len(image_ids) != len(counts) or not all(counts):
            msg = f"every image needs candidates: {len(image_ids):,} ids, {sum(count > 0 for count in counts):,} lists"
            raise InputError(msg)
        lists = Ragged.of_counts(np.array(counts, np.int64))
        flat = [text for one in candidates for text in one]
        rewards: Scores = self._scorer(_repeated(image_ids, counts), flat)
        written = np.array([not blank(text) for text in flat], np.bool_)
        best = lists.best(np.where(written, rewards, -np.inf))
        return best - lists.starts, rewards[best]


def _repeated(image_ids: Iterable[ItemKey], counts: Iterable[int]) -> list[ItemKey]:
    return [key for key, count in zip(image_ids, counts, strict=True) for _ in range(count)]
