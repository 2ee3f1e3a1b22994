"""Candidates: the n-best lists of the images of an eval set, in flat columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore import formats
from clipstore.errors import InputError
from clipstore.evalset.systems import check_missing, meet
from clipstore.rerank.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
    from clipstore.evalset.evalset import MissingRule
    from clipstore.formats import Captions, Hints
    from clipstore.items import ItemKey
    from clipstore.rerank.ragged import Flags, Numbers

_SHOWN = 5
_FAR = 10.0  # medians of log-probabilities this many times apart are of different scales
_IN_ORDER = 0.95  # share of lists whose log-probabilities fall with the rank, for beams


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of each image, image after image in the order of the eval set, by rank in an image.

    Parameters
    ----------
    keys
        The user's own id of each image that has candidates.
    items
        The item of the eval set behind each, int64, shape (lists,).
    lists
        Which candidates belong together.
    texts
        Captions as they came, one a candidate.
    logps
        The captioner's log-probability, NaN where there is none; float64, shape (total,).
    kinds
        What those numbers are (``mean``, ``sum``, ``unknown``), and a row of each kind; several are mixed.
    source
        What messages call the file.
    described
        What was recognised.
    warnings
        What the user should know.
    """

    keys: tuple[ItemKey, ...]
    items: Ids
    lists: Ragged
    texts: list[str]
    logps: Numbers
    kinds: Mapping[str, str]
    source: str
    described: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def numbers(self) -> Ids:
        """A number for each candidate's text, equal for equal texts; int64, shape (total,)."""
        return numbered(self.texts)

    @cached_property
    def folded(self) -> Ids:
        """The same, equal for texts that differ in case and spaces only."""
        return numbered([" ".join(text.split()).casefold() for text in self.texts])

    @cached_property
    def written(self) -> Flags:
        """Which candidates are not empty, shape (total,)."""
        return np.array([bool(text) and not text.isspace() for text in self.texts], np.bool_)

    @property
    def n(self) -> str:
        """How many candidates an image has, as words: ``10`` or ``3-11``."""
        low, high = int(self.lists.counts.min()), int(self.lists.counts.max())
        return str(low) if low == high else f"{low}-{high}"

    def where(self, flags: Flags) -> tuple[Candidates, Ids]:
        """Return the candidates where ``flags`` hold, images without any left out, and the images kept."""
        lists, kept = self.lists.within(flags)
        places = np.flatnonzero(flags).tolist()
        return Candidates(
            keys=tuple(self.keys[row] for row in kept.tolist()),
            items=self.items[kept],
            lists=lists,
            texts=[self.texts[place] for place in places],
            logps=self.logps[flags],
            kinds=self.kinds,
            source=self.source,
            described=self.described,
            warnings=self.warnings,
        ), kept

    @cached_property
    def are_beams(self) -> bool:
        """Whether the lists look like beams: log-probabilities that fall from each rank to the next."""
        if not len(self) or np.isnan(self.logps).any() or int(self.lists.counts.max()) == 1:
            return False
        rises = np.diff(self.logps, append=-np.inf) > 0
        rises[self.lists.starts[1:] - 1] = False
        return bool((self.lists.sums(rises.astype(np.float64)) == 0).mean() >= _IN_ORDER)

    def require_logps(self, method: str) -> None:
        """Refuse log-probabilities that are missing or of several kinds.

        Raises
        ------
        InputError
            Saying how many are missing, or which kinds met.
        """
        missing = int(np.isnan(self.logps).sum())
        if missing:
            every = "no candidate has" if missing == len(self.texts) else f"{missing:,} candidates have no"
            msg = (
                f"{self.source}: --by {method} needs log-probabilities, and {every} "
                f"{'one' if missing == len(self.texts) else 'such number'}: "
                "name their column with --score-col, or choose with --by clip, mbr, consensus or vote"
            )
            raise InputError(msg)
        if len(self.kinds) > 1:
            shown = ", ".join(f"{kind} ({row})" for kind, row in sorted(self.kinds.items()))
            msg = (
                f"{self.source}: the kinds of its log-probabilities are mixed: {shown}. They can't be compared, so "
                f"--by {method} is refused: give one kind, or choose with --by clip, mbr, consensus or vote"
            )
            raise InputError(msg)

    def scale_warnings(self) -> list[str]:
        """Say where the log-probabilities of one rank are on another scale than the others', as in pooled systems."""
        if np.isnan(self.logps).any() or not len(self):
            return []
        size = np.abs(self.logps)
        places = self.lists.places
        medians = {place: float(np.median(size[places == place])) for place in np.unique(places).tolist()[:64]}
        usual = float(np.median(list(medians.values())))
        odd = [place for place, median in medians.items() if usual and not usual / _FAR < median < usual * _FAR]
        if not odd:
            return []
        shown = ", ".join(f"place {place}: {medians[place]:,.3g}" for place in odd[:_SHOWN])
        return [
            (
                f"{self.source}: log-probabilities are on different scales (median size {usual:,.3g}; {shown}): "
                "within an image one such candidate is far from all the others, so its z decides and theirs are "
                "almost equal; logp and mix then compare systems, not captions: rank with --by clip, mbr, vote or rrf"
            )
        ]


def numbered(texts: Sequence[str]) -> Ids:
    """Return a number for each text, equal for equal texts, by first appearance; int64, shape (len(texts),)."""
    known: dict[str, int] = {}
    return np.fromiter((known.setdefault(text, len(known)) for text in texts), np.int64, len(texts))


def gathered(
    given: Sequence[Captions], evalset: EvalSet, hints: Hints | None = None, missing: MissingRule = "error"
) -> Candidates:
    """Meet n-best lists with the images of a closed eval set.

    Parameters
    ----------
    given
        One n-best file, or several: then each image's candidates stand in the order of the files.
    evalset
        The images that count.
    hints, missing
        As in :func:`clipstore.evaluate.score`; each file's ids are matched on their own.

    Raises
    ------
    Unpaired
        When captions and images do not cover each other and ``missing`` is ``error``.
    InputError
        When no candidate has an image.
    """
    met = [meet(one, evalset, hints) for one in given]
    source = given[0].source if len(given) == 1 else f"{given[0].source} and {len(given) - 1} more"
    strangers = [key for one in met for key in one.strangers]
    left_out = check_missing(source, strangers, {row for one in met for row in one.rows}, evalset, missing)
    rows = np.array([row for one in met for row in one.rows], np.int64)
    files = np.repeat(np.arange(len(given)), [len(one.ids) for one in given])
    ranks = np.concatenate([np.array(one.ranks or np.zeros(len(one.ids)), np.int64) for one in given])
    order = np.lexsort((ranks, files, rows))
    order = order[rows[order] >= 0]
    if not len(order):
        msg = f"{source}: no candidate has an image in the eval set: nothing to choose from"
        raise InputError(msg)
    items, counts = np.unique(rows[order], return_counts=True)
    texts = [text for one in given for text in one.texts]
    scores = [score for one in given for score in one.scores or [None] * len(one.ids)]
    logps = np.array([np.nan if score is None else score for score in scores], np.float64)
    keys = evalset.keys
    return Candidates(
        keys=tuple(keys[row] for row in items.tolist()),
        items=items,
        lists=Ragged.of_counts(counts.astype(np.int64)),
        texts=[texts[place] for place in order.tolist()],
        logps=logps[order],
        kinds={kind: row for one in reversed(given) for kind, row in one.first_of_kinds().items()},
        source=source,
        described=tuple(formats.describe(one, how.matched) for one, how in zip(given, met, strict=True)),
        warnings=(*(line for one in met for line in one.matched.warnings), *(f"{source}: {one}" for one in left_out)),
    )
