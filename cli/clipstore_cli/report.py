"""``clipstore report``: a comparison as one file that can be sent, or as a folder of pages; figures for a paper."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, final

import typer

from clipstore.compare import compare as compared
from clipstore.errors import InputError
from clipstore.evaluate.averages import average
from clipstore.evaluate.measuring import needs_images
from clipstore.significance import Settings as Testing
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.measuring import Asked, measure_all, read_files
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from clipstore.compare import Comparison
    from clipstore.report import Report
    from clipstore.report.onefile import Written
    from clipstore.store import Space, Store

Systems = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SYSTEM|[NAME=]CAPS]...", help="Captions, or with -t names of saved systems ('step-*')."),
]
Target = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="A file to send (.html), or a folder for everything (DIR/).", metavar="FILE|DIR/"),
]


@final
@dataclass(frozen=True, slots=True)
class Content:
    """What a report shows."""

    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="A metric, repeatable; the first is sorted by.")
    ] = None
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="The system that others are compared with.", metavar="NAME")
    ] = None
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
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the resamples, and of images drawn at random.")] = 12345
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Resamples of intervals and tests.")] = 10_000


@final
@dataclass(frozen=True, slots=True)
class Pages:
    """How pages are written."""

    no_images: Annotated[bool, typer.Option("--no-images", help="No pictures, for private sets.")] = False
    cap: Annotated[int, typer.Option("--cap", min=1, help="Images of one file: disagreement, worst, random.")] = 300
    plots: Annotated[
        Path | None, typer.Option("--plots", help="Write the plots into a folder, for a paper.", metavar="DIR")
    ] = None
    plot_format: Annotated[Literal["svg", "png", "pdf"], typer.Option("--plot-format", help="Of the plots' files.")] = (
        "svg"
    )


@grouped
def report(
    content: Content,
    pages: Pages,
    evalset: options.SetOptions,
    model: options.ModelOptions,
    reading: options.Reading,
    common: options.Common,
    systems: Systems = None,
    evalset_names: options.EvalSetNames = None,
    empty: options.Empty = "error",
    json: options.Json = False,
    out: Target = None,
) -> int:
    """Write a report: leaderboard, pairs, images with every caption, plots, suspects; it opens without a network.

    -o report.html is one file to send (300 images at most), -o DIR/ a folder for everything.
    """
    if out is None and pages.plots is None:
        msg = "where to: give -o report.html, -o DIR/ for a folder, or --plots DIR for figures alone"
        raise InputError(msg)
    evalset_name = inputs.one_set(evalset_names, "report", "make one report a set")
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    hints = inputs.hints_of(reading, settings)
    asked = Asked(
        tuple(systems or ()), (evalset_name,) if evalset_name else (), content.metric, evalset, model, reading, hints,
        empty, content.tags, content.last,
    )  # fmt: skip
    files, groups = read_files(asked, settings)
    with opening.open_store(common.store, settings, notes, create=files is not None) as opened, notes:
        (measured,) = measure_all(opened, asked, files, settings, notes)
        done = compared(
            average(measured, groups) if groups else measured,
            baseline=content.baseline,
            slice_by=content.slice_by or (),
            missing=evalset.missing,
            settings=Testing(resamples=content.resamples, seed=content.seed),
        )
        inputs.say_warnings(done.warnings, notes)
        made = _gathered(done, opened, asked, settings, images=not pages.no_images)
        written = None if out is None else _write(made, out, pages.cap)
        drawn = [] if pages.plots is None else _plots(made, pages.plots, pages.plot_format)
    _say(written, out, drawn, notes, json=json)
    return inputs.unreadable(measured.failures, notes)


def _gathered(done: Comparison, store: Store, asked: Asked, settings: Settings, *, images: bool) -> Report:
    from clipstore.report import gather

    measured = done.parts[0].measured
    where: Store | Space = store
    if needs_images(list(measured.measures)):
        where = inputs.space_of(asked.model, store, settings)
    return gather(done, where, images=images, seed=done.settings.seed)


def _write(made: Report, out: Path, cap: int) -> Written:
    from clipstore.report import write_file, write_folder

    if out.suffix.lower() in {".html", ".htm"} and not out.is_dir():
        return write_file(made, out, cap=cap)
    if out.exists() and not out.is_dir():
        msg = f"{out} is a file: one file ends in .html, a folder is a new name or DIR/"
        raise InputError(msg)
    if out.suffix.lower() in {".pdf", ".png", ".svg", ".json", ".md", ".zip"} and not out.is_dir():
        msg = f"{out}: a report is one .html file or a folder; figures are drawn with --plots DIR --plot-format"
        raise InputError(msg)
    return write_folder(made, out)


def _plots(made: Report, folder: Path, form: Literal["svg", "png", "pdf"]) -> list[str]:
    from clipstore.report.figures import write_figures

    return write_figures(made, folder, form)


def _say(written: Written | None, out: Path | None, drawn: list[str], notes: Notes, *, json: bool) -> None:
    """Print what was written: pages, images and why they were chosen, size."""
    from clipstore.report.onefile import LARGE

    if json:
        output.emit(output.dumps({"schema": 1, "report": asdict(written) if written else None, "plots": drawn}), None)
    elif written is not None and out is not None and not notes.quiet:
        output.emit(f"{opening.shown(out)}: {described(written)}\n", None)
    if not json and drawn and not notes.quiet:
        output.emit(f"plots: {', '.join(drawn)}\n", None)
    if written is not None and written.files == 1 and written.size > LARGE:
        notes.warn(f"the file is larger than {LARGE / 1e6:.0f} MB: use --cap N, --no-images, or a folder (-o DIR/)")


def described(written: Written) -> str:
    """Return what was written in a line."""
    why = ", ".join(f"{count:,} {name}" for name, count in written.chosen.items() if name != "all")
    files = "" if written.files == 1 else f"{written.files:,} files, "
    chosen = f" ({why}; seed {written.seed})" if why else ""
    pictures = f"{sum(written.chosen.values()):,} of {written.of:,} images{chosen}, {written.images:,} pictures"
    return f"{files}{pictures}, {written.size / 1e6:.1f} MB"
