"""``clipstore metaeval``: does a metric agree with people? Published benchmarks, or ratings of your own."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, final

import typer

from clipstore.errors import InputError
from clipstore.evaluate.measuring import needs_images
from clipstore.metaeval import Pairs, Ratings, explain, gain, probes, references, systems
from clipstore.metaeval import metaeval as evaluated
from clipstore.metaeval.pictures import find
from clipstore.metaeval.readers import BENCHMARKS, read
from clipstore.metaeval.scoring import Sources, chosen
from clipstore.metaeval.verb import length
from clipstore.metrics.recipes import RECIPES, recipe
from clipstore.tables import text
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from clipstore.metaeval import MetaEvaluation
    from clipstore.store import Space, Store
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
        typer.Option("--metric", help="A metric, repeatable; MODULE:FUNCTION for your own; length; none.", metavar="M"),
    ] = None
    recipe: Annotated[
        str, typer.Option("--recipe", help=f"How CLIP-S and its kin are made: {', '.join(RECIPES)}.", metavar="NAME")
    ] = "hessel2021"
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
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw --gain or --curve as SVG.", metavar="FILE")] = None


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
    names, functions = _metrics(material.metric)
    with opening.open_store(common.store, settings, notes) as store, notes:
        where = _where(material, names, model, store, settings)
        if name == PROBE:
            return _probe(material, choices, names, where, notes, json=json, out=out)
        if material.data is None:
            msg = f"{name}: no data: give --data, the folder (for ratings and pairs the file) of what people said"
            raise InputError(msg)
        judged = read(name, material.data)
        for line in judged.notes:
            notes.say(line)
        done = evaluated(
            judged,
            where,
            images=material.images,
            metrics=names,
            scores=_named(material.scores),
            functions=functions,
            recipe=material.recipe,
            ties=choices.ties,
            resamples=choices.resamples,
            seed=choices.seed,
            encode=not model.no_encode,
            progress=notes.progress,
        )
        more, tables = _more(name, material, choices, done, where, encode=not model.no_encode)
    _emit(done.to_dict() | more, [done.table(), *tables], json=json, out=out)
    if not done.metrics:
        for metric, why in done.problems.items():
            notes.error(f"{metric}: {why}")
    return 0 if done.metrics else 1


def _emit(found: dict[str, Any], tables: list[Table], *, json: bool, out: Path | None) -> None:
    if json:
        output.emit(output.dumps(found), out)
    elif out is not None:
        output.write_file(out, "\n".join(text(table) for table in tables))
    else:
        for table in tables:
            output.emit_table(table, None)


def _where(
    material: Material, names: list[str] | None, model: options.ModelOptions, store: Store, settings: Settings
) -> Space | Store:
    """Return the encoder's space where some metric will look at images, else the store."""
    asked = chosen(names, extra=bool(material.scores), images=material.images is not None)
    looks = material.images is not None and needs_images(asked)
    return inputs.space_of(model, store, settings) if looks else store


def _metrics(given: list[str] | None) -> tuple[list[str] | None, dict[str, Any]]:
    """Take the user's own functions, ``length`` and ``none`` out of the names of metrics."""
    if given is None:
        return None, {}
    functions = {"length": length} if "length" in given else {}
    functions |= {one: _function(one) for one in given if ":" in one}
    return [one for one in given if one not in functions and one != "none"], functions


def _function(given: str) -> Any:
    module, _, name = given.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        msg = f"--metric {given}: {error}; give MODULE:FUNCTION, importable here"
        raise InputError(msg) from error


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
    name: str, material: Material, choices: Choices, done: MetaEvaluation, where: Space | Store, *, encode: bool
) -> tuple[dict[str, Any], list[Table]]:
    """Return what else was asked for: fields of the JSON, and tables."""
    fields: dict[str, Any] = {}
    tables: list[Table] = []
    if choices.explain and material.data is not None:
        found = explain.explain(name, material.data, done)
        fields["explain"] = [one.to_dict() for one in found]
        tables.append(explain.table(found))
    wanted = {"--gain": choices.gain, "--curve": choices.curve, "--systems": choices.by_system}
    if not any(wanted.values()):
        return fields, tables
    if not isinstance(done.judged, Ratings):
        msg = f"{', '.join(flag for flag, asked in wanted.items() if asked)}: {name} holds choices, not ratings"
        raise InputError(msg)
    if choices.gain:
        gained = gain.information_gain(done, seed=choices.seed)
        fields["gain"], drawing = gained.to_dict(), gained.svg()
        tables.append(gained.table())
        _draw(choices, drawing)
    if choices.curve:
        files = {} if material.images is None else find(material.images, done.judged.images)
        curve = references.curve(
            done.judged,
            _computed(done),
            Sources(where, files, recipe=recipe(material.recipe), encode=encode),
            seed=choices.seed,
        )
        fields["curve"] = curve.to_dict()
        tables.append(curve.table())
        if not choices.gain:
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
    if not (choices.gain or choices.curve):
        msg = "--plot draws --gain or --curve: give one of them"
        raise InputError(msg)
    if choices.plot.suffix.lower() != ".svg":
        msg = f"{choices.plot}: drawings are SVG: name it .svg"
        raise InputError(msg)


def _draw(choices: Choices, drawing: str) -> None:
    if choices.plot is not None:
        output.write_file(choices.plot, drawing)


def _probe(
    material: Material,
    choices: Choices,
    names: list[str] | None,
    where: Space | Store,
    notes: Notes,
    *,
    json: bool,
    out: Path | None,
) -> int:
    """Probe metrics with one wrong word in the user's own references."""
    if material.refs is None:
        msg = "probe: no references: give --refs FILE"
        raise InputError(msg)
    judged: Pairs = probes.pairs_of(material.refs, seed=choices.seed)
    done = evaluated(
        judged,
        where,
        images=material.images,
        metrics=names,
        recipe=material.recipe,
        ties=choices.ties,
        resamples=choices.resamples,
        seed=choices.seed,
        progress=notes.progress,
    )
    _emit(done.to_dict(), [done.table()], json=json, out=out)
    return 0 if done.metrics else 1
