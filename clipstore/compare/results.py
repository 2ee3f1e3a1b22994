"""What ``compare`` gives back: a table to read, JSON to keep, rows to plot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, final

from clipstore.compare import exports, grid, grouped, leaderboard, notes, record
from clipstore.compare.board import arranged
from clipstore.tables import FORMS, Table, latex, text, tsv

if TYPE_CHECKING:
    import os

    from clipstore.compare.board import Board
    from clipstore.compare.fields import Field
    from clipstore.compare.parts import Part
    from clipstore.compare.style import Style
    from clipstore.metrics.score import Signature
    from clipstore.significance import Settings

_BOLD: Final = "bold"

Form = Literal["table", "md", "latex", "csv", "tsv"]
"""The forms of a table: aligned text, Markdown, LaTeX, CSV, TSV."""


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Systems compared: ``str()`` is the table, :meth:`to_dict` the JSON.

    Parameters
    ----------
    parts
        Eval sets and slices; the first is what the leaderboard shows.
    settings
        Test, correction, seed.
    baseline
        The system that others are compared with, or None.
    sort
        The column sorted by; None: the first metric.
    style
        How numbers are written.
    all_pairs
        Whether every pair was asked for.
    run
        Its id in the store, where it was kept for ``replay``.
    """

    parts: tuple[Part, ...]
    settings: Settings
    baseline: str | None
    sort: str | None
    style: Style
    all_pairs: bool = False
    run: str | None = None

    def styled(self, style: Style, sort: str | None = None) -> Comparison:
        """Return the same comparison written another way; nothing is computed again."""
        return replace(self, style=style, sort=sort or self.sort)

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """Each part with its systems in order."""
        return tuple(
            arranged(part, self.sort if self.sort is None or self._can_sort(part) else None, self.baseline, self.style)
            for part in self.parts
        )

    def _can_sort(self, part: Part) -> bool:
        return part is self.parts[0] or self.sort in part.measured.measures

    @property
    def several_sets(self) -> bool:
        """Whether more than one eval set stands side by side."""
        return sum(part.slice is None for part in self.parts) > 1

    @property
    def signature(self) -> Signature:
        """How the leading column was made and tested."""
        return self.parts[0].signature(self.boards[0].lead)

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signature of each metric of the first part."""
        return {metric: self.parts[0].signature(metric) for metric in self.parts[0].measured.measures}

    @property
    def pairs(self) -> tuple[dict[str, Any], ...]:
        """Every test of the first part, as in the JSON: a, b, metric, delta, ci, p, p_adj, wins, ties, losses."""
        return tuple(record.pairs_of(self.parts[0]))

    @property
    def per_item(self) -> tuple[dict[str, Any], ...]:
        """One row an image and system of each eval set: set, image, system, rank, caption, and each metric."""
        return tuple(row for part in self.parts if part.slice is None for row in exports.per_item(part))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of the input."""
        return tuple(dict.fromkeys(line for part in self.parts for line in part.measured.warnings))

    # -- tables ----------------------------------------------------------------------------------

    def main(self, width: int | None = None, *, mark: str = "") -> tuple[list[Table], list[str]]:
        """Return the leaderboard, or the table of several sets, and the lines below it.

        Parameters
        ----------
        width
            What a line may take; None: as much as it needs.
        mark
            How the form shows the best: ``bold``, or a star, which only the table of several parts gets.
        """
        if self.several_sets:
            starred = mark == grouped.STAR
            return grouped.blocks(grouped.table(self.boards, starred=starred), width), self._lines(mark)
        chosen, left = leaderboard.fitted(self._fields(), width)
        lines = self._lines(mark)
        if left:
            lines = [*lines, f"left out to fit {width} columns: {', '.join(left)} (a pipe, -o or --columns has them)"]
        return [leaderboard.table(chosen)], lines

    def _fields(self) -> list[Field]:
        return leaderboard.fields(self.boards[0])

    def grid(self, width: int | None = None) -> list[Table]:
        """Return the significance grid of the leading metric, in blocks where a width is given; none without pairs.

        With a baseline the leaderboard's own columns say all, unless every pair was tested.
        """
        board = self.boards[0]
        count = len(board.order)
        pairs = len(board.part.statistics[board.lead].pairs)
        if self.several_sets or pairs < max(1, count * (count - 1) // 2) or (count == 2 and self.baseline is not None):
            return []
        return grid.tables(board, width)

    def slices(self, width: int | None = None, *, starred: bool = False) -> list[Table]:
        """Return the table of slices; none where there are none."""
        if self.several_sets or len(self.parts) == 1:
            return []
        return grouped.blocks(grouped.table(self.boards, starred=starred), width)

    @property
    def notes(self) -> list[str]:
        """The sentences below the table, the signatures left out."""
        return self._lines("")

    def _lines(self, mark: str) -> list[str]:
        if self.several_sets:
            return notes.of_groups(self.boards, mark)
        lines = notes.of_board(self.boards[0], "" if mark == grouped.STAR else mark)
        more = notes.of_groups(self.boards, mark)[1:] if len(self.parts) > 1 else []
        return list(dict.fromkeys([*lines, *more]))

    @property
    def signed(self) -> list[str]:
        """One signature a column; with several parts each is named."""
        several = len(self.parts) > 1
        return [
            (f"{part.title}: " if several else "") + str(part.signature(metric))
            for part in self.parts
            for metric in part.measured.measures
        ]

    def to_text(self, width: int | None = None) -> str:
        """Return leaderboard, grid, slices, notes and signatures as aligned text.

        Parameters
        ----------
        width
            What a terminal shows in a line; None: as wide as it needs.
        """
        tables, lines = self.main(width, mark=grouped.STAR)
        tables = [*tables, *self.grid(width), *self.slices(width, starred=True)]
        return _joined([text(table) for table in tables], [*lines, *self.signed])

    def to_pipe(self) -> str:
        """Return the same with tabs between cells and nothing wrapped, an empty line between tables."""
        tables, lines = self.main()
        tables = [*tables, *self.grid(), *self.slices()]
        return _joined([tsv(table) for table in tables], [*lines, *self.signed])

    def form(self, form: Form) -> str:
        """Return the comparison in a form that ``--format`` names.

        CSV and TSV hold one table: the leaderboard, and a group of columns for each slice; the pairs are in the JSON.
        """
        if form == "table":
            return self.to_text()
        if form == "md":
            return self.to_markdown()
        if form == "latex":
            return self.to_latex()
        return FORMS[form](replace(self._whole(), notes=tuple(self.signed)))

    def _whole(self) -> Table:
        """Return the leaderboard with the columns of the slices, each system in one row."""
        (first,), _ = self.main()
        if self.several_sets:
            return first
        named = leaderboard.distinct(first, self._fields(), self.boards[0])
        return named if not self.slices() else grouped.beside(named, self.boards)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        (first,), lines = self.main(mark=_BOLD)
        return exports.html([first, *self.grid(), *self.slices()], [*lines, *self.signed])

    # -- exports ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the published schema: plain floats, no path, no host name, no timing."""
        first, *more = [record.part_of(part) for part in self.parts]
        settings = self.settings
        return {
            "schema": record.SCHEMA,
            **first,
            "settings": {
                "baseline": self.baseline,
                "sort": self.boards[0].sort,
                "test": settings.test,
                "correction": settings.correction,
                "alpha": settings.alpha,
                "level": settings.level,
                "resamples": settings.resamples,
                "seed": settings.seed,
                "all_pairs": self.all_pairs,
                "slice_by": list(dict.fromkeys(part.slice.field for part in self.parts if part.slice is not None)),
            },
            "encoder": dict(self.parts[0].measured.encoder),
            "run": self.run,
            "notes": self.notes,
            "warnings": list(self.warnings),
            "parts": more,
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text, equal for equal comparisons."""
        return exports.json_text(self.to_dict())

    def to_csv(self) -> str:
        """Return leaderboard and slices as one table in CSV, its signatures below."""
        return self.form("csv")

    def to_markdown(self) -> str:
        """Return leaderboard, grid and slices as Markdown, notes and signatures below."""
        (first,), lines = self.main(mark=_BOLD)
        *before, last = [first, *self.grid(), *self.slices()]
        closed = replace(last, notes=(*lines, *self.signed))
        return "\n".join(FORMS["md"](table) for table in [*before, closed])

    def to_latex(self, *, with_grid: bool = False, caption: str = "", label: str = "") -> str:
        """Return the first table, and that of the slices, with booktabs' rules; one signature a column as a footnote.

        Parameters
        ----------
        with_grid
            Whether the significance grid follows.
        caption, label
            As in :func:`clipstore.tables.latex`.
        """
        (first,), lines = self.main(mark=_BOLD)
        signed = replace(first, notes=(*lines, *self.signed))
        shown = [signed, *(self.grid() if with_grid else []), *self.slices()]
        captions = [caption, *[""] * (len(shown) - 1)]
        return "\n".join(latex(table, caption=own, label=label) for table, own in zip(shown, captions, strict=True))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write :attr:`per_item` as a Parquet file, keyed by (set, image, system, rank).

        Raises
        ------
        CannotWrite
            When the file can't be written.
        """
        exports.parquet(self.per_item, path)


def _joined(tables: list[str], lines: list[str]) -> str:
    """Return tables with an empty line between them, and the lines below."""
    return "\n".join([*tables, "".join(f"{line}\n" for line in lines)])
