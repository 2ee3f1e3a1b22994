"""Scores of every candidate by one method: vectors gathered from the store in blocks, then ``methods``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, final, get_args

import numpy as np

from clipstore.errors import InputError
from clipstore.metrics import clip_s
from clipstore.rerank import methods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.metrics.recipes import Recipe
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.ragged import Numbers
    from clipstore.store import Space

Method = Literal["clip", "logp", "mix", "mbr", "consensus", "vote", "rrf"]
"""The ways to choose."""

METHODS: Final[tuple[Method, ...]] = get_args(Method)

WEIGHT = 0.5
"""The weight of CLIP-S in ``mix`` where none was given or tuned."""

_BLOCK = 1 << 16  # candidates whose vectors are in memory at once

NEEDS_IMAGES: Final = frozenset({"clip", "mix"})
NEEDS_TEXTS: Final = frozenset({"mbr", "consensus"})
NEEDS_LOGPS: Final = frozenset({"logp", "mix"})


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """How to choose.

    Parameters
    ----------
    by
        The method.
    weight
        The weight of CLIP-S in ``mix``.
    fuse
        The selectors that ``rrf`` joins; None: those that the input allows.
    """

    by: Method
    weight: float = WEIGHT
    fuse: tuple[Method, ...] | None = None

    def __post_init__(self) -> None:
        for ok, fault in (
            (self.by in METHODS, f"no method is called {self.by!r}; there is: {', '.join(METHODS)}"),
            (0 <= self.weight <= 1, f"the weight of CLIP-S lies between 0 and 1, not {self.weight:g}"),
            (
                not self.fuse or set(self.fuse) <= set(METHODS) - {"mix", "rrf"},
                f"rrf joins clip, logp, mbr, consensus and vote, not {', '.join(self.fuse or ())}",
            ),
        ):
            if not ok:
                raise InputError(fault)

    @property
    def parts(self) -> tuple[Method, ...]:
        """The methods whose scores are needed."""
        return self.fuse or () if self.by == "rrf" else (self.by,)

    @property
    def by_itself(self) -> bool:
        """Whether a candidate's score does not depend on the other candidates of its image."""
        return self.by in {"clip", "logp"}

    def check(self, candidates: Candidates, *, model: bool, images: bool) -> None:
        """Refuse a choice that the input does not allow, before anything is encoded.

        Raises
        ------
        InputError
            When log-probabilities, images or a model are needed and not there.
        """
        for part in self.parts:
            if part in NEEDS_LOGPS:
                candidates.require_logps(part if self.by != "rrf" else "rrf")
            if part in NEEDS_IMAGES | NEEDS_TEXTS and not model:
                msg = f"--by {part} needs a model: name one with --model"
                raise InputError(msg)
            if part in NEEDS_IMAGES and not images:
                msg = "choosing by CLIP-S needs images: give --images DIR, or a saved set with images (-t SET)"
                raise InputError(msg)

    @property
    def needs_images(self) -> bool:
        """Whether image vectors are needed."""
        return not NEEDS_IMAGES.isdisjoint(self.parts)

    @property
    def needs_texts(self) -> bool:
        """Whether vectors of the candidates are needed."""
        return self.needs_images or not NEEDS_TEXTS.isdisjoint(self.parts)


@final
@dataclass(frozen=True, eq=False)
class Embedded:
    """Candidates whose vectors stand in a space.

    Parameters
    ----------
    space
        The vectors.
    recipe
        How a cosine becomes CLIP-S.
    candidates
        Non-empty captions only.
    image_ids
        Content id of each image, int64, shape (lists,); None where images are not needed.
    text_keys
        Vector key of each candidate, int64, shape (total,).
    """

    space: Space
    recipe: Recipe
    candidates: Candidates
    image_ids: Ids | None
    text_keys: Ids

    @cached_property
    def clip_s(self) -> Numbers:
        """CLIP-S of each candidate, float64, shape (total,): the same number that ``score`` gives."""
        if self.image_ids is None:
            raise AssertionError  # Choice.check refuses
        out = np.empty(self.candidates.lists.total, np.float64)
        for lists, rows in self.candidates.lists.blocks(_BLOCK):
            images = self.space.gather_images(self.image_ids[lists])
            texts = self.texts(rows)
            owners = self.candidates.lists.owners[rows] - lists.start
            cosines = clip_s.similarities(images, owners, texts, np.arange(len(texts)))
            out[rows] = clip_s.clip_s(cosines, self.recipe.weight, clamp=self.recipe.clamp)
        return out

    def texts(self, rows: slice) -> Vectors:
        """Return the vectors of some candidates."""
        return self.space.gather_texts(self.text_keys[rows])

    def similarity(self, method: Literal["mbr", "consensus"]) -> Numbers:
        """Return the scores of a method that compares the candidates with one another."""
        out = np.empty(self.candidates.lists.total, np.float64)
        score = methods.mbr if method == "mbr" else methods.consensus
        for lists, rows in self.candidates.lists.blocks(_BLOCK):
            out[rows] = score(self.texts(rows), self.candidates.lists.part(lists))
        return out


def scores_of(choice: Choice, candidates: Candidates, embedded: Embedded | None) -> Numbers:
    """Return the score of each candidate, larger is better; float64, shape (total,).

    Parameters
    ----------
    choice
        How to choose.
    candidates
        Non-empty captions only.
    embedded
        Their vectors, where the method needs any; :meth:`Choice.check` knows.
    """
    if choice.by == "rrf":
        return methods.rrf([_single(part, candidates, embedded) for part in choice.parts], candidates.lists)
    if choice.by != "mix":
        return _single(choice.by, candidates, embedded)
    clip = _single("clip", candidates, embedded)
    return methods.mix(clip, candidates.logps, choice.weight, candidates.lists, candidates.numbers)


def _single(method: Method, candidates: Candidates, embedded: Embedded | None) -> Numbers:
    if method == "vote":
        return methods.votes(candidates.folded, candidates.lists)
    if method == "logp":
        return candidates.logps
    if embedded is None:
        raise AssertionError  # Choice.check refuses
    if method == "mbr" or method == "consensus":  # noqa: PLR1714  mypy narrows the literal so
        return embedded.similarity(method)
    return embedded.clip_s


def fusable(candidates: Candidates, *, images: bool, model: bool) -> tuple[Method, ...]:
    """Return the selectors that ``rrf`` can join here, in a fixed order."""
    logps = not np.isnan(candidates.logps).any() and len(candidates.kinds) <= 1
    wanted: Sequence[tuple[Method, bool]] = (
        ("clip", images and model),
        ("logp", logps),
        ("mbr", model),
        ("vote", True),
    )
    return tuple(method for method, possible in wanted if possible)
