"""``clipstore compare``: systems side by side, with intervals, paired tests and one correction."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, final

import typer

from clipstore.compare import Comparison, Style, bundle, checks, runs
from clipstore.compare import compare as compared
from clipstore.evaluate.averages import average
from clipstore.significance import Settings as Testing
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.measuring import Asked, measure_all, read_files
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.compare.checks import Check

Systems = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SYSTEM|[NAME=]CAPS]...",
        help="Captions, or with -t names of saved systems ('step-*'); NAME=run1.json,run2.json averages runs.",
    ),
]
SetNames = Annotated[
    list[str] | None,
    typer.Option("-t", "--set", help="A saved eval set; several make groups of columns.", metavar="SET"),
]


@final
@dataclass(frozen=True, slots=True)
class Showing:
    """What is shown, and how."""

    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="A metric, repeatable: clip-s, ref-clip-s, cider, bleu-4, r@1, z, text, ..."),
    ] = None
    sort: Annotated[
        str | None, typer.Option("--sort", help="A metric, system, n, words, cut or dup.", metavar="COL")
    ] = None
    columns: Annotated[
        list[str] | None, typer.Option("--columns", help="Columns in order, with commas: rank,system,clip-s,ci,p.")
    ] = None
    digits: Annotated[int, typer.Option("--digits", min=0, max=12, help="Digits after the point of a raw value.")] = 4
    x100: Annotated[bool, typer.Option("--x100", help="Show every metric times 100.")] = False
    form: Annotated[
        Literal["table", "md", "latex", "csv", "tsv"] | None,
        typer.Option("--format", help="Form of the table; else aligned on a terminal, tabs in a pipe."),
    ] = None


@final
@dataclass(frozen=True, slots=True)
class Tests:
    """Which pairs are tested, and how."""

    baseline: Annotated[
        str | None, typer.Option("--baseline", help="The system that others are compared with.", metavar="NAME")
    ] = None
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Test every pair.")] = False
    test: Annotated[Literal["signflip", "ttest", "bootstrap"], typer.Option("--test", help="The paired test.")] = (
        "signflip"
    )
    correction: Annotated[
        Literal["holm", "bh", "none"], typer.Option("--correction", help="Over all tests of a metric that are shown.")
    ] = "holm"
    resamples: Annotated[
        int, typer.Option("--resamples", min=1, help="Resamples; more where the family needs them.")
    ] = 10_000
    alpha: Annotated[float, typer.Option("--alpha", help="Level of significance.")] = 0.05
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the resamples; 0 is a seed.")] = 12345

    def settings(self) -> Testing:
        """Return the settings of the tests."""
        return Testing(
            test=self.test, correction=self.correction, resamples=self.resamples, alpha=self.alpha, seed=self.seed
        )


@final
@dataclass(frozen=True, slots=True)
class Splitting:
    """Which items and systems."""

    slice_by: Annotated[
        list[str] | None,
        typer.Option("--slice-by", help="A tag, caption-length, references or source.", metavar="FIELD"),
    ] = None
    tags: Annotated[
        Path | None, typer.Option("--tags", help="Tags of images: CSV, ids in the first column.", metavar="FILE")
    ] = None
    last: Annotated[int | None, typer.Option("--last", min=1, help="Only the N systems saved last.", metavar="N")] = (
        None
    )


@final
@dataclass(frozen=True, slots=True)
class Gates:
    """What makes the command fail, and files beside the table."""

    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", help="Exit 1 if worse than X (raw, as in --json).", metavar="METRIC=X"),
    ] = None
    fail_on_drop: Annotated[
        list[str] | None,
        typer.Option("--fail-on-drop", help="Exit 1 on a significant drop from the baseline beyond X.", metavar="X"),
    ] = None
    junit: Annotated[Path | None, typer.Option("--junit", help="Write the checks as JUnit XML.", metavar="FILE")] = None
    per_item: Annotated[
        Path | None, typer.Option("--per-item", help="Write one row a caption as Parquet.", metavar="FILE")
    ] = None
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Write captions, scores and signatures.", metavar="RUN.zip")
    ] = None


@grouped
def compare(
    showing: Showing,
    tests: Tests,
    splitting: Splitting,
    gates: Gates,
    evalset: options.SetOptions,
    model: options.ModelOptions,
    reading: options.Reading,
    common: options.Common,
    systems: Systems = None,
    evalset_name: SetNames = None,
    recipe: options.Recipe = None,
    empty: options.Empty = "error",
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Compare systems: a leaderboard with intervals, paired tests corrected over all that is shown.

    Give captions as [NAME=]FILE with --images and --refs, or names of saved systems with -t SET.
    Without --baseline every pair is tested, and systems that can't be told apart are grouped.
    """
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    output.check(out, gates.junit, gates.per_item, gates.bundle)
    checks.check_asked(gates.fail_under or (), gates.fail_on_drop or (), tests.baseline)
    hints = inputs.hints_of(reading, settings)
    asked = Asked(
        tuple(systems or ()), tuple(evalset_name or ()), showing.metric, evalset, model, reading, hints, empty,
        splitting.tags, splitting.last, recipe,
    )  # fmt: skip
    files, groups = read_files(asked, settings)
    with opening.open_store(common.store, settings, notes, create=files is not None) as opened, notes:
        measured = measure_all(opened, asked, files, settings, notes)
        averaged = [average(one, groups) if groups else one for one in measured]
        done = compared(
            averaged,
            baseline=tests.baseline,
            sort=showing.sort,
            slice_by=splitting.slice_by or (),
            all_pairs=tests.all_pairs,
            missing=evalset.missing,
            settings=tests.settings(),
            style=Style(_columns(showing.columns), showing.digits, showing.x100),
        )
        done = runs.keep(opened.catalogue, measured, done, groups, evalset.missing)
    inputs.say_warnings(done.warnings, notes)
    return finish(done, notes, showing, gates, json=json, out=out)


def _columns(given: Sequence[str] | None) -> tuple[str, ...] | None:
    names = [name.strip() for one in given or () for name in one.split(",")]
    return tuple(name for name in names if name) or None


def finish(done: Comparison, notes: Notes, showing: Showing, gates: Gates, *, json: bool, out: Path | None) -> int:
    """Write the results, make the checks, and return the exit code."""
    made = check(done, gates)
    if json:
        output.emit(done.to_json(), out)
    elif showing.form == "md":
        output.emit(done.to_markdown() + checks.markdown(made), out)
    elif showing.form is not None:
        output.emit(done.form(showing.form), out)
    elif out is not None:
        output.emit(done.to_text(), out)
    elif sys.stdout.isatty():
        output.emit(done.to_text(shutil.get_terminal_size().columns), None)
    else:
        output.emit(done.to_pipe(), None)
    if gates.per_item is not None:
        done.to_parquet(gates.per_item)
    if gates.bundle is not None:
        bundle.write(done, gates.bundle)
    if gates.junit is not None:
        output.write_file(gates.junit, checks.junit(made, str(done.signature)))
    for one in made:
        (notes.say if one.passed else notes.error)(str(one))
    failures = [failure for part in done.parts if part.slice is None for failure in part.measured.failures]
    unread = inputs.unreadable(failures, notes)
    return 1 if unread or not all(one.passed for one in made) else 0


def check(done: Comparison, gates: Gates) -> list[Check]:
    """Return the checks that the gates ask for."""
    lead = done.boards[0].lead
    made = checks.under(done, checks.limits(gates.fail_under, lead)) if gates.fail_under else []
    return made + (checks.drops(done, checks.limits(gates.fail_on_drop, lead)) if gates.fail_on_drop else [])
