"""Selectors in a row: each keeps the best of what it is shown, and the last decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import InputError
from clipstore.rerank.embedding import embedded
from clipstore.store import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids
    from clipstore.encoders.protocol import PairScorer
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.paired import Pictures
    from clipstore.rerank.ragged import Numbers, Ragged


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """One selector of a cascade: who scores, and how many candidates of each image it keeps."""

    scorer: Space | PairScorer
    keep: int


@final
@dataclass(frozen=True, eq=False)
class Chosen:
    """An order of the candidates, as a selector left them.

    Parameters
    ----------
    scores
        The deciding selector's score of each candidate, float64, shape (total,); NaN where it saw none.
    standing
        Their order as numbers, larger is better, no NaN, shape (total,).
    """

    scores: Numbers
    standing: Numbers


def check(stages: Sequence[Stage]) -> None:
    """Refuse a cascade that does not narrow.

    Raises
    ------
    InputError
        When there are fewer than two stages, one keeps none or more than the one before, or the
        first is no encoder.
    """
    keeps = [stage.keep for stage in stages]
    if len(keeps) < 2 or min(keeps) < 1 or sorted(keeps, reverse=True) != keeps:
        shown = ", ".join(map(str, keeps))
        msg = f"a cascade has two or more models, each keeping no more than the one before, not {shown or 'none'}"
        raise InputError(msg)
    if not isinstance(stages[0].scorer, Space):
        msg = "the first model of a cascade is an encoder, whose vectors are kept: put pair scorers after it"
        raise InputError(msg)


def run(stages: Sequence[Stage], candidates: Candidates, image_ids: Ids, pictures: Pictures) -> Chosen:
    """Let each stage score what the one before kept; only survivors are encoded by the later ones.

    Parameters
    ----------
    stages
        In order.
    candidates
        Non-empty captions only.
    image_ids
        Content id of each image; every stage's space holds its vector.
    pictures
        For pair scorers; also says whether to encode.
    """
    lists = candidates.lists
    alive = np.ones(lists.total, np.bool_)
    level = np.zeros(lists.total)
    scores = np.full(lists.total, np.nan)
    for number, stage in enumerate(stages):
        shown, kept_lists = candidates.where(alive)
        places = np.flatnonzero(alive)
        found = _scored(stage.scorer, shown, image_ids[kept_lists], pictures)
        scores = np.full(lists.total, np.nan)
        scores[places] = found
        order = shown.lists.order(found)
        position = np.empty(len(order), np.int64)
        position[order] = shown.lists.places
        level[places] = _placed(number, position, lists)
        alive = np.zeros(lists.total, np.bool_)
        alive[places[position < stage.keep]] = True
    return Chosen(scores, level)


def _placed(stage: int, position: Ids, lists: Ragged) -> Numbers:
    """Return numbers that order candidates by how far they came, then by their place there."""
    longest = int(lists.counts.max(initial=1)) + 1
    return (stage + 1.0) * longest - position


def _scored(scorer: Space | PairScorer, shown: Candidates, image_ids: Ids, pictures: Pictures) -> Numbers:
    if isinstance(scorer, Space):
        return embedded(scorer, shown, image_ids, pictures.switches).clip_s
    return pictures.scores(scorer, shown, image_ids)
