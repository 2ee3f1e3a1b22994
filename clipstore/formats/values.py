"""What reading gives: Captions of one system, References of a set, and the Hints that steer both.

Readers themselves give a :class:`Table`, one row a caption, which says nothing about its
role: the same file may be a system's captions or somebody's references.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clipstore.items import ItemKey, ScoreKind


@final
@dataclass(frozen=True, slots=True)
class Hints:
    """What the user said about a file; each field overrides what would be guessed.

    Parameters
    ----------
    input_format
        The name of a format (``--input-format``), see :func:`clipstore.formats.format_names`.
    id_key
        What the ids are (``--id-key``): path, name, stem, number, cocoid, imgid or row.
    split
        The split of a Karpathy file or of rows with a ``split`` column; several with commas.
    questions
        The questions that LLaVA answers belong to.
    order
        The ids that plain lines (or ``--id-key row``) belong to, one a line.
    image_col, caption_col, score_col
        Names of columns or fields.
    num_candidates
        How many captions each image has in a flat n-best file.
    shared
        The hints were given for captions and references at once, as on a command line: references
        follow them where they fit, and are read as recognised where not.
    """

    input_format: str | None = None
    id_key: str | None = None
    split: str | None = None
    questions: Path | None = None
    order: Path | None = None
    image_col: str | None = None
    caption_col: str | None = None
    score_col: str | None = None
    num_candidates: int | None = None
    shared: bool = False


NO_HINTS = Hints()


@final
@dataclass(frozen=True, slots=True)
class Where:
    """How a message names row ``i``: ``row 17``, ``line 17``, or ``part-2.jsonl line 17`` among shards.

    Parameters
    ----------
    unit
        ``row`` or ``line``.
    numbers
        The number shown for each row; None: the first is 1.
    parts
        For shards: (first row, shard's name, its own Where), in order.
    picked
        Where rows were left out: the place of each row before that.
    """

    unit: str = "row"
    numbers: Sequence[int] | None = None
    parts: tuple[tuple[int, str, Where], ...] = ()
    picked: Sequence[int] | None = None

    def __call__(self, row: int) -> str:
        """Return the words for row ``row`` (0 first)."""
        row = row if self.picked is None else self.picked[row]
        for start, name, where in reversed(self.parts):
            if row >= start:
                return f"{name} {where(row - start)}"
        return f"{self.unit} {row + 1 if self.numbers is None else self.numbers[row]}"

    def pick(self, rows: Sequence[int]) -> Where:
        """Return the Where of those rows only, in that order."""
        return replace(self, picked=rows if self.picked is None else [self.picked[row] for row in rows])


@final
@dataclass(frozen=True, slots=True)
class Table:
    """What a reader gives: one row a caption, whatever its role.

    ``texts`` and ``ids`` may still hold values of a wrong type; assembling names and refuses them.

    Parameters
    ----------
    ids, texts
        One a caption, in file order.
    ranks
        Only where the file itself gives a rank.
    scores, score_kind
        The captioner's own numbers, where it gave some.
    score_kinds
        The kind of each row's number, where they are mixed: then ``score_kind`` is unknown.
    where
        How to name a row.
    notes
        What was left out and why.
    id_kind
        What the ids are, when the format itself says so.
    nested
        Whether the layout itself says that several captions are candidates of one image.
    images
        All images that the file names, captioned or not, in file order; None: those of ``ids``.
    file_names
        Image id -> file name or relative path.
    tags
        Image id -> named facts.
    alternates
        Other ids of each image, by their name, in the order of ``images``.
    """

    ids: list[ItemKey]
    texts: list[str]
    ranks: list[int] | None = None
    scores: list[float | None] | None = None
    score_kind: ScoreKind | None = None
    score_kinds: list[ScoreKind] | None = None
    where: Where = field(default_factory=Where)
    notes: tuple[str, ...] = ()
    id_kind: str | None = None
    nested: bool = False
    images: list[ItemKey] | None = None
    file_names: dict[ItemKey, str] | None = None
    tags: dict[ItemKey, dict[str, str]] | None = None
    alternates: dict[str, list[ItemKey]] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Captions:
    """One system's captions, or a pool of captions, in file order.

    Parameters
    ----------
    source
        What messages call it: a file's name, ``standard input`` or ``dict``; never an absolute path.
    format
        The format in words, such as ``COCO results``.
    ids
        Image ids as they came, one a row.
    texts
        Captions as they came, one a row.
    ranks
        None: one caption an image. Else each row's place among the captions of its image.
    scores
        The captioner's own log-probabilities, None where a row has none.
    score_kind
        What those numbers are.
    score_kinds
        What each row's number is, where they are mixed: then ``score_kind`` is unknown.
    notes
        What was left out or merged, one sentence each.
    where
        Names a row in a message: ``captions.where(16)`` is ``row 17``.
    id_kind
        What the ids are, when the format says so.
    file_names
        Image id -> file name, where the file itself says it.
    without
        Images that the file names without giving a caption, such as failed lines of a batch.
    """

    source: str
    format: str
    ids: list[ItemKey]
    texts: list[str]
    ranks: list[int] | None = None
    scores: list[float | None] | None = None
    score_kind: ScoreKind | None = None
    score_kinds: list[ScoreKind] | None = None
    notes: tuple[str, ...] = ()
    where: Where = field(default_factory=Where)
    id_kind: str | None = None
    file_names: dict[ItemKey, str] | None = None
    without: tuple[ItemKey, ...] = ()

    def kinds(self) -> list[ScoreKind | None]:
        """Return what each row's log-probability is, None where a row has none."""
        scores = self.scores or [None] * len(self.ids)
        every: Sequence[ScoreKind | None] = self.score_kinds or [self.score_kind] * len(self.ids)
        return [None if score is None else kind for score, kind in zip(scores, every, strict=True)]

    def first_of_kinds(self) -> dict[ScoreKind, str]:
        """Return each kind of log-probability that is there, and the first row that has it, in words."""
        rows: dict[ScoreKind, int] = {}
        for row, (score, kind) in enumerate(zip(self.scores or (), self.kinds(), strict=self.scores is not None)):
            if score is not None:
                rows.setdefault(kind or "unknown", row)
        return {kind: f"{self.source} {self.where(row)}" for kind, row in rows.items()}

    @property
    def is_nbest(self) -> bool:
        """Whether some image has several captions."""
        return self.ranks is not None

    def distinct_ids(self) -> list[ItemKey]:
        """Return each image id once, in the order of first appearance."""
        return list(dict.fromkeys(self.ids))

    def named_ids(self) -> list[ItemKey]:
        """Return each image id that the file names, those without a caption last."""
        return [*dict.fromkeys(self.ids), *self.without]

    def first(self) -> Captions:
        """Return the caption of rank 0 of each image only (``--take first``)."""
        if self.ranks is None:
            return self
        best: dict[ItemKey, int] = {}
        for row, key in enumerate(self.ids):
            if key not in best or self.ranks[row] < self.ranks[best[key]]:
                best[key] = row
        rows = list(best.values())
        return replace(
            self,
            ids=[self.ids[row] for row in rows],
            texts=[self.texts[row] for row in rows],
            ranks=None,
            scores=None if self.scores is None else [self.scores[row] for row in rows],
            score_kinds=None if self.score_kinds is None else [self.score_kinds[row] for row in rows],
            notes=(*self.notes, f"the first of several captions was taken for {len(rows):,} images"),
            where=self.where.pick(rows),
        )


@final
@dataclass(frozen=True, slots=True)
class References:
    """What references or annotations say of each image, in file order.

    Parameters
    ----------
    source, format, notes, id_kind
        As in :class:`Captions`.
    ids
        Each image once.
    texts
        Its references, zero or more.
    file_names
        Image id -> file name or relative path, where the file says it.
    tags
        Named facts of each image, such as ``domain``, in the order of ``ids``.
    alternate_ids
        Other ids of each image by name (``cocoid``, ``imgid``), each in the order of ``ids``.
    """

    source: str
    format: str
    ids: list[ItemKey]
    texts: list[tuple[str, ...]]
    file_names: dict[ItemKey, str] | None = None
    tags: list[dict[str, str]] | None = None
    alternate_ids: dict[str, list[ItemKey]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    id_kind: str | None = None
