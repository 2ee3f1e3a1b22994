"""``clipstore metaeval``: does a metric agree with people? Published benchmarks, or ratings of your own."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, final

import typer

from clipstore import Store
from clipstore.errors import InputError
from clipstore.evaluate.measuring import needs_images
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.formats import save
from clipstore.metaeval import Ratings, explain, gain, probes, references, systems, variants
from clipstore.metaeval import metaeval as evaluated
from clipstore.metaeval.pictures import find
from clipstore.metaeval.readers import BENCHMARKS, read
from clipstore.metaeval.scoring import Sources, chosen
from clipstore.metrics.recipes import HESSEL2021, RECIPES, recipe
from clipstore.tables import text
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.metaeval_metrics import metrics_of
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clipstore.metaeval import MetaEvaluation, Pairs
    from clipstore.store import Space
    from clipstore.tables import Table

PROBE = "probe"

Name = Annotated[
    str, typer.Argument(metavar="NAME", help=f"A benchmark ({', '.join(BENCHMARKS)}), or {PROBE} for your references.")
]


@final
@dataclass(frozen=True, slots=True)
class Material:
    """What is evaluated, on what."""

    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the benchmark's files; a file for ratings and pairs.", metavar="DIR"),
    ] = None
    images: Annotated[Path | None, typer.Option("--images", help="Folder of its images.", metavar="DIR")] = None
    refs: Annotated[Path | None, typer.Option("--refs", help="References of your own, for probe.", metavar="FILE")] = (
        None
    )
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="A metric, repeatable; MODULE:NAME for your own; length; none.", metavar="M"),
    ] = None
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", help=f"In place of the model's own: {', '.join(RECIPES)}.", metavar="NAME"),
    ] = None
    scores: Annotated[
        list[str] | None,
        typer.Option("--scores", help="Scores made elsewhere.", metavar="NAME=FILE[,FILE...][:COLUMN]"),
    ] = None


@final
@dataclass(frozen=True, slots=True)
class Choices:
    """How it is counted, and what else is made of it."""

    resamples: Annotated[int, typer.Option("--resamples", min=0, help="Of images, for intervals; 0 for none.")] = 1000
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of resamples and coins.")] = 12345
    ties: Annotated[
        Literal["random", "half", "wrong", "b"],
        typer.Option("--ties", help="A pair with equal scores: a coin, half a point, none, or a vote for B."),
    ] = "random"
    explain: Annotated[bool, typer.Option("--explain", help="What the usual mistakes of set-up would have given.")] = (
        False
    )
    gain: Annotated[
        bool, typer.Option("--gain", help="Which metrics add information: forward selection; needs scikit-learn.")
    ] = False
    curve: Annotated[bool, typer.Option("--curve", help="Agreement against the number of references.")] = False
    by_system: Annotated[bool, typer.Option("--systems", help="The ranking of systems against people's.")] = False
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw --gain or --curve: .svg, .png, .pdf.", metavar="FILE")
    ] = None


@grouped
def metaeval(
    name: Name,
    material: Material,
    choices: Choices,
    model: options.ModelOptions,
    common: options.Common,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Say how metrics agree with people, beside what papers print.

    With ratings: Kendall's tau_b and tau_c, Spearman and Pearson. With pairs: accuracy by category.
    """
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    _check_plot(choices)
    output.check(out)
    metrics = metrics_of(material.metric)
    judged = _judged(name, material, choices)
    asked = chosen(metrics.names, extra=bool(material.scores or metrics.own), images=material.images is not None)
    if not (asked or metrics.own or material.scores):
        msg = "--metric none leaves nothing to evaluate: add --scores NAME=FILE, or --metric MODULE:NAME"
        raise InputError(msg)
    looks = material.images is not None and (needs_images(asked) or bool(metrics.scorers))
    with _store(common.store, settings, notes, needed=looks) as store, notes:
        where: Space | Store = store
        made = recipe(material.recipe or HESSEL2021.name)
        if needs_images(asked) and looks:
            where = space = inputs.space_of(model, store, settings)
            made = recipe_of(space, material.recipe)
        done = evaluated(
            judged,
            where,
            images=material.images,
            metrics=metrics.names,
            scores=_named(material.scores),
            functions=metrics.functions,
            scorers=metrics.scorers,
            recipe=made.name,
            ties=choices.ties,
            resamples=choices.resamples,
            seed=choices.seed,
            encode=not model.no_encode,
            progress=notes.progress,
        )
        files = {} if material.images is None else find(material.images, judged.images)
        sources = Sources(where, files, recipe=made, encode=not model.no_encode, progress=notes.progress)
        more, tables = _more(name, material, choices, done, sources)
    for line in judged.notes if json else ():  # a table says them itself
        notes.say(line)
    for metric, why in () if done.metrics else done.problems.items():
        notes.error(f"{metric}: {why}")
    _emit(done.to_dict() | more, [done.table(), *tables] if done.metrics else [], json=json, out=out)
    return 0 if done.metrics else 1


def _judged(name: str, material: Material, choices: Choices) -> Ratings | Pairs:
    """Read what people said, or make probes, before any store is opened or made."""
    judged = _read(name, material, choices)
    flags = {"--gain": choices.gain, "--curve": choices.curve, "--systems": choices.by_system}
    asked = [flag for flag, wanted in flags.items() if wanted]
    if asked and not isinstance(judged, Ratings):
        msg = f"{', '.join(asked)}: {name} holds choices, not ratings"
        raise InputError(msg)
    return judged


def _read(name: str, material: Material, choices: Choices) -> Ratings | Pairs:
    other = "--data" if name == PROBE and material.data else "--refs" if name != PROBE and material.refs else ""
    if other:
        msg = f"{name} reads no {other}: {PROBE} takes --refs, a benchmark --data; leave {other} out"
        raise InputError(msg)
    if name == PROBE:
        if material.refs is None:
            msg = "probe: no references: give --refs FILE"
            raise InputError(msg)
        return probes.pairs_of(material.refs, seed=choices.seed)
    if name not in BENCHMARKS:
        msg = f"no benchmark is called {name!r}; there is: {', '.join(BENCHMARKS)}; and {PROBE} for your own references"
        raise InputError(msg)
    if material.data is None:
        msg = f"{name}: no data: give --data, the folder (for ratings and pairs the file) of what people said"
        raise InputError(msg)
    return read(name, material.data)


@contextmanager
def _store(flag: Path | None, settings: Settings, notes: Notes, *, needed: bool) -> Iterator[Store]:
    """Open the store; where there is none and no vector is needed, one that is gone afterwards."""
    if needed or flag is not None or opening.store_path(flag, settings).exists():
        with opening.open_store(flag, settings, notes) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="clipstore-") as folder, Store.open(Path(folder) / "store") as store:
        yield store


def _emit(found: dict[str, Any], tables: list[Table], *, json: bool, out: Path | None) -> None:
    if json:
        output.emit(output.dumps(found), out)
    elif out is not None:
        output.write_file(out, "\n".join(text(table) for table in tables))
    else:
        for table in tables:
            output.emit_table(table, None)


def _named(given: list[str] | None) -> dict[str, str]:
    out = {}
    for one in given or ():
        name, sign, path = one.partition("=")
        if not sign or not name or not path:
            msg = f"--scores {one}: write NAME=FILE"
            raise InputError(msg)
        out[name] = path
    return out


def _more(
    name: str, material: Material, choices: Choices, done: MetaEvaluation, sources: Sources
) -> tuple[dict[str, Any], list[Table]]:
    """Return what else was asked for: fields of the JSON, and tables."""
    fields: dict[str, Any] = {}
    tables: list[Table] = []
    if choices.explain and done.metrics:
        found = explain.explain(name, material.data or Path(), done, sources)
        fields["explain"] = [one.to_dict() for one in found]
        fields["explained"] = variants.nearest(done, found)
        tables.append(variants.table(done, found))
    if not isinstance(done.judged, Ratings) or not done.metrics:
        return fields, tables
    if choices.gain:
        gained = gain.information_gain(done, seed=choices.seed)
        fields["gain"] = gained.to_dict()
        tables.append(gained.table())
        _draw(choices, gained.svg())
    if choices.curve:
        curve = references.curve(done.judged, _computed(done), sources, seed=choices.seed)
        fields["curve"] = curve.to_dict()
        tables.append(curve.table())
        _draw(choices, curve.svg())
    if choices.by_system:
        ranked = systems.rank(done, resamples=choices.resamples, seed=choices.seed)
        fields["systems"] = ranked.to_dict()
        tables.append(ranked.table())
    return fields, tables


def _computed(done: MetaEvaluation) -> list[str]:
    return [one.name for one in done.metrics if one.signature]


def _check_plot(choices: Choices) -> None:
    """Refuse a drawing that would not be made, or not of the kind that its name says."""
    if choices.plot is None:
        return
    if choices.gain == choices.curve:
        msg = "--plot draws one of --gain and --curve: give one of them"
        raise InputError(msg)
    if choices.plot.suffix.lower() not in {".svg", ".png", ".pdf"}:
        msg = f"{choices.plot}: drawings are SVG, PNG or PDF: name it .svg, .png or .pdf"
        raise InputError(msg)
    output.check(choices.plot)
    _converted("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>", choices.plot)


def _draw(choices: Choices, drawing: str) -> None:
    if choices.plot is not None:
        save(choices.plot, _converted(drawing, choices.plot))


def _converted(drawing: str, path: Path) -> bytes:
    from clipstore.report.figures import converted

    form = path.suffix.lower()[1:]
    return drawing.encode() if form == "svg" else converted(drawing, "png" if form == "png" else "pdf")
