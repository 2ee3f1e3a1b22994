"""What ``rerank`` gives back: one typed pick an image, and what choosing bought."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.formats import Row
from clipstore.rerank.summary import rows_of
from clipstore.tables import Column, Table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clipstore.arrays import Ids
    from clipstore.items import ItemKey
    from clipstore.metrics.score import Signature
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.embedding import Tally
    from clipstore.rerank.gain import Gain
    from clipstore.rerank.guards import Guards
    from clipstore.rerank.ragged import Numbers
    from clipstore.rerank.tuning import Tuned
    from clipstore.store import Failure

SCHEMA = 1
_DIGITS = 6


@final
@dataclass(frozen=True, slots=True)
class Pick:
    """One chosen caption.

    Parameters
    ----------
    key
        The user's own id of the image, as it came.
    caption
        The caption, as it came.
    picked
        Its place among the image's candidates, 0 first.
    of
        How many candidates the image has.
    score
        The selector's number for it; None where the selector had none.
    top1_score
        The selector's number for the first candidate.
    scores
        Of every candidate, in their order.
    rank
        0 for the pick, 1 for the next where several were asked for.
    """

    key: ItemKey
    caption: str
    picked: int
    of: int
    score: float | None
    top1_score: float | None
    scores: tuple[float | None, ...]
    rank: int = 0

    def to_dict(self) -> dict[str, object]:
        """Return the pick as a row of JSON."""
        return {
            "image": self.key,
            "rank": self.rank,
            "caption": self.caption,
            "picked": self.picked,
            "of": self.of,
            "score": _rounded(self.score),
            "top1_score": _rounded(self.top1_score),
            "scores": [_rounded(score) for score in self.scores],
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


@final
@dataclass(frozen=True, eq=False)
class Reranked:
    """The picks of an n-best file: a sequence of :class:`Pick`, by image id with ``reranked[key]``.

    Parameters
    ----------
    candidates
        What was chosen from.
    chosen
        Flat places of the picks, int64, shape (images, k); -1 where an image has fewer than k candidates.
    scores
        The selector's score of each candidate, NaN where it has none; float64, shape (total,).
    signature
        How the choice was made.
    gain
        What it bought; None where nothing could judge it.
    guards
        Repeats, length, leftovers.
    tuned
        How the weight was found, if it was tuned.
    work
        What was looked at and encoded, by the selector, the judge and in tuning.
    origin
        What a saved system keeps: method, selector fingerprints, N.
    failures
        Images that could not be read.
    described, warnings
        Lines for the user.
    """

    candidates: Candidates
    chosen: Ids
    scores: Numbers
    signature: Signature
    gain: Gain | None
    guards: Guards
    tuned: Tuned | None
    work: Tally
    origin: Mapping[str, object]
    failures: tuple[Failure, ...] = ()
    described: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @cached_property
    def picks(self) -> tuple[Pick, ...]:
        """The picks, image after image in the order of the set; with k above 1 the best of each image first."""
        lists, texts = self.candidates.lists, self.candidates.texts
        numbers: list[float | None] = self.scores.tolist()
        for place in np.flatnonzero(np.isnan(self.scores)).tolist():
            numbers[place] = None
        out = []
        columns = (lists.starts.tolist(), lists.counts.tolist(), self.chosen.tolist())
        rows = zip(self.candidates.keys, *columns, strict=True)
        for key, start, count, places in rows:
            every = tuple(numbers[start : start + count])
            for rank, place in enumerate(places):
                if place >= 0:
                    at = place - start
                    out.append(Pick(key, texts[place], at, count, every[at], every[0], every, rank))
        return tuple(out)

    @cached_property
    def _best(self) -> dict[ItemKey, Pick]:
        return {pick.key: pick for pick in reversed(self.picks)}

    def __getitem__(self, key: ItemKey) -> Pick:
        """Return the pick of one image by the user's own id."""
        return self._best[key]

    def __len__(self) -> int:
        return len(self.picks)

    def __iter__(self) -> Iterator[Pick]:
        return iter(self.picks)

    @property
    def captions(self) -> dict[ItemKey, str]:
        """Image id -> picked caption: what ``score`` takes."""
        places = self.chosen[:, 0].tolist()
        return {key: self.candidates.texts[place] for key, place in zip(self.candidates.keys, places, strict=True)}

    def to_rows(self, format_: str = "jsonl") -> list[Row]:
        """Return the picks for :func:`clipstore.formats.write`.

        Parameters
        ----------
        format_
            ``coco`` and ``clipscore`` hold id and caption only; others keep place and scores.
        """
        plain = format_ in {"coco", "clipscore"}
        return [
            Row(
                pick.key,
                pick.caption,
                rank=pick.rank,
                values={}
                if plain
                else {"picked": pick.picked, "of": pick.of, "score": pick.score, "top1_score": pick.top1_score},
            )
            for pick in self.picks
        ]

    def table(self) -> Table:
        """Return the gain, the curve and the guards as one table, notes below."""
        names = ("value", "95% CI", "words", "repeats", "specials")
        columns = (Column("choice", "left"), *map(Column, names))
        notes = [str(self.signature), *([self.tuned.described()] if self.tuned else []), *self.guards.warnings()]
        return Table(columns, rows_of(self.gain, self.guards), (*self._gain_notes(), *notes))

    def changes(self) -> Table:
        """Return the images that gained and lost most by the judge, one a row."""
        columns = (Column("image", "left"), Column("change"), Column("first", "left"), Column("picked", "left"))
        most = () if self.gain is None else (*self.gain.gains, *reversed(self.gain.losses))
        rows = [(str(one.key), f"{one.difference:+.4f}", one.first, one.picked) for one in most]
        return Table(columns, tuple(rows))

    def _gain_notes(self) -> tuple[str, ...]:
        if self.gain is None:
            return ("nothing to judge the picks by: give images, or references for CIDEr",)
        name = f"by {self.gain.judge}"
        title = f"{name}: upper bound" if self.gain.upper_bound else name
        said = [line for line in (self.gain.note, self.gain.curve_note) if line]
        return (title, *said, self._intervals(self.gain), f"{self.gain.changed:.1%} of picks changed")

    @staticmethod
    def _intervals(gain: Gain) -> str:
        if gain.picked.ci is None:
            return "no intervals: fewer than two images have a value"
        drawn = f"{gain.resamples:,} resamples of them" if gain.resamples else "Student's t"
        return f"95% intervals over {gain.n:,} images: {drawn}"

    def __str__(self) -> str:
        return text(self.table())

    def to_dict(self) -> dict[str, object]:
        """Return the summary as JSON: gain, guards, tuning, signature; the picks are :meth:`Pick.to_dict`."""
        return {
            "schema": SCHEMA,
            "signature": self.signature.to_dict(),
            "n": len(self.candidates),
            "candidates": len(self.candidates.texts),
            "gain": None if self.gain is None else self.gain.to_dict(),
            "guards": self.guards.to_dict(),
            "tuned": None if self.tuned is None else self.tuned.to_dict(),
            "origin": dict(self.origin),
            "failures": [failure.name for failure in self.failures],
            "warnings": list(self.warnings),
        }
