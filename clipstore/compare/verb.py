"""``compare``: systems side by side, with intervals and tests that survive review."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clipstore.compare import slices
from clipstore.compare.board import arranged
from clipstore.compare.leaderboard import fields
from clipstore.compare.parts import Slice, analysed, common
from clipstore.compare.results import Comparison
from clipstore.compare.style import Style
from clipstore.errors import InputError
from clipstore.evaluate.measured import Measured
from clipstore.evaluate.names import metric_name, metric_names
from clipstore.evaluate.results import Scores
from clipstore.significance import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.evalset.evalset import MissingRule

Given = Scores | Measured


def compare(
    scores: Given | Sequence[Given],
    *,
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    sort: str | None = None,
    slice_by: str | Sequence[str] = (),
    all_pairs: bool = False,
    missing: MissingRule = "error",
    settings: Settings | None = None,
    style: Style | None = None,
) -> Comparison:
    """Compare systems: intervals, ranks, paired tests, one correction over all that is shown.

    Without a baseline every pair is tested, and the table shows rank intervals and the
    groups that can't be told apart; with one, each other system is tested against it.

    Parameters
    ----------
    scores
        What :func:`clipstore.score` or :func:`clipstore.evaluate.measure` gave; several, one an
        eval set, make groups of columns.
    baseline
        The system that others are compared with.
    metrics
        Which of the metrics at hand to compare; all unless given. The first is sorted by.
    sort
        A metric, or ``system``, ``n``, ``words``, ``cut``, ``dup``.
    slice_by
        Fields to slice by: a tag of the images, ``caption-length``, ``references``, ``source``.
    all_pairs
        Test every pair, also with a baseline or above 40 systems.
    missing
        ``error`` refuses systems that cover different images, ``skip`` compares on what all have.
    settings
        Test, correction, resamples, alpha, seed: :class:`clipstore.significance.Settings`.
    style
        Columns, digits, times 100.

    Raises
    ------
    InputError
        When there is nothing to compare, or a name fits nothing.
    Unpaired
        When systems cover different images and ``missing`` is ``error``.
    """
    given = [scores] if isinstance(scores, (Scores, Measured)) else list(scores)
    whole = [one if isinstance(one, Measured) else Measured.of_scores(one) for one in given]
    if not whole or not all(one.systems for one in whole):
        msg = "there are no systems to compare"
        raise InputError(msg)
    wanted = None if metrics is None else metric_names(metrics)
    held = [common(_chosen(one, wanted), missing) for one in whole]
    parts = _parts(held, (slice_by,) if isinstance(slice_by, str) else slice_by)
    chosen = settings or Settings()
    made = style or Style()
    sorted_by = sort if sort is None else _sort_name(sort)
    found = analysed(parts, baseline, chosen, every=all_pairs)
    fields(arranged(found[0], sorted_by, baseline, made))  # a wrong column is an error now, not when it is shown
    return Comparison(tuple(found), chosen, baseline, sorted_by, made, all_pairs)


def _parts(held: Sequence[Measured], by: Sequence[str]) -> list[tuple[Measured, Slice | None]]:
    """Return each set, followed by its slices."""
    parts: list[tuple[Measured, Slice | None]] = []
    for one in held:
        parts.append((one, None))
        parts += [part for field in dict.fromkeys(by) for part in slices.by(one, field)]
    return parts


def _sort_name(sort: str) -> str:
    try:
        return metric_name(sort)
    except InputError:
        return sort


def _chosen(measured: Measured, wanted: list[str] | None) -> Measured:
    if not measured.measures:
        msg = "there is no metric to compare"
        raise InputError(msg)
    if wanted is None:
        return measured
    lacking = [name for name in wanted if name not in measured.measures]
    if lacking:
        msg = f"{lacking[0]} was not measured; there is: {', '.join(measured.measures)}"
        raise InputError(msg)
    return replace(measured, measures={name: measured.measures[name] for name in wanted})
