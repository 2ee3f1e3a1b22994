"""Guards: what a reward can wreck without lowering itself. Repeats, length, leftovers, read beside the gain."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.encoders import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

_DRIFT = 0.15  # a change of mean length by this share is named
_REPEATS = 1.5  # so many times more captions with repeats are named
_LEAST = 0.01


@final
@dataclass(frozen=True, slots=True)
class Guard:
    """Plain counts over some captions.

    Parameters
    ----------
    n
        Captions.
    repeated
        Share of captions in which a pair of words comes twice, or one word twice in a row.
    words
        Mean number of words.
    specials
        Captions that hold a tokenizer's special string, such as ``<|endoftext|>``.
    empty
        Captions without a letter.
    distinct
        Different captions among them.
    """

    n: int
    repeated: float
    words: float
    specials: int
    empty: int
    distinct: int

    def to_dict(self) -> dict[str, object]:
        """Return the counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@final
@dataclass(frozen=True, slots=True)
class Guards:
    """The guards of the picks, beside those of the first candidates."""

    picked: Guard
    first: Guard

    def warnings(self) -> list[str]:
        """Return one sentence for each guard that fell."""
        lines = []
        now, before = self.picked, self.first
        if now.repeated > _LEAST and now.repeated > _REPEATS * before.repeated:
            lines.append(f"picks repeat themselves more: {now.repeated:.1%}, first captions {before.repeated:.1%}")
        if before.words and abs(now.words / before.words - 1) > _DRIFT:
            lines.append(f"picks drift in length: {now.words:.1f} words, first {before.words:.1f}")
        if now.specials:
            lines.append(f"{now.specials:,} picks hold special strings such as <|endoftext|>")
        if now.empty:
            lines.append(f"{now.empty:,} picks are empty: their images have no other caption")
        return lines

    def to_dict(self) -> dict[str, object]:
        """Return both guards."""
        return {"picked": self.picked.to_dict(), "first": self.first.to_dict()}


def repeats(words: Sequence[str]) -> bool:
    """Say whether a pair of words comes twice, or one word twice in a row."""
    pairs = list(itertools.pairwise(words))
    return len(set(pairs)) < len(pairs) or any(one == other for one, other in pairs)


def guard(captions: Sequence[str]) -> Guard:
    """Count over captions; all counts are 0 where there are none."""
    words = [text.lower().split() for text in captions]
    n = len(captions)
    return Guard(
        n=n,
        repeated=sum(map(repeats, words)) / n if n else 0.0,
        words=sum(map(len, words)) / n if n else 0.0,
        specials=sum(canonical.specials(text) > 0 for text in captions),
        empty=sum(not one for one in words),
        distinct=len(set(captions)),
    )
