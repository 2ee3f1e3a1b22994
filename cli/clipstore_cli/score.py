"""``clipstore score``: one row a system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clipstore import EvalSet
from clipstore.errors import InputError
from clipstore.evalset import load_systems, systems_in, systems_of
from clipstore.evaluate import Rankings, Scores, score_systems
from clipstore.evaluate.own_recipe import recipe_of
from clipstore_cli import inputs, linting, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from clipstore.evalset import System
    from clipstore.formats import Captions, Hints
    from clipstore.store import Store

PerImage = Annotated[
    Path | None,
    typer.Option("--per-image", help="Write each image's scores, in the official script's layout.", metavar="OUT.json"),
]


@grouped
def score(
    evalset: options.SetOptions,
    model: options.ModelOptions,
    reading: options.Reading,
    common: options.Common,
    systems: options.Captions = None,
    evalset_name: options.EvalSetName = None,
    per_image: PerImage = None,
    empty: options.Empty = "error",
    recipe: options.Recipe = None,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Score systems: CLIP-S and, with references, RefCLIP-S.

    Give captions as [NAME=]FILE with --images and --refs, or names of saved systems with -t SET.
    Several --model give the ranking under each.
    """
    output.check(per_image, out)
    settings = Settings.read()
    hints = inputs.hints_of(reading, settings)
    models = model.each()
    if per_image is not None and len(models) > 1:
        msg = "--per-image goes with one --model: its layout has no place for several"
        raise InputError(msg)
    given = systems or []
    if not given and evalset_name is None:
        msg = "no captions: give [NAME=]FILE, or -t SET for saved systems"
        raise InputError(msg)
    notes = Notes(quiet=common.quiet)
    if evalset_name is None:
        read = inputs.read_systems(opening.parse_systems(given), hints, reading)
        items = inputs.read_set(evalset, settings, hints).covering(read.values(), hints, evalset.missing)
        chosen = systems_of(read, items, missing=evalset.missing, empty=empty, hints=hints)
    else:
        inputs.refuse_files(evalset, evalset_name)
    with opening.open_store(common.store, settings, notes, create=evalset_name is None) as opened, notes:
        if evalset_name is not None:
            items = EvalSet.load(opened, evalset_name)
            read, chosen = _saved(opened, items, given, hints, reading, evalset.missing, empty)
        inputs.refuse_unheard(reading, hints, read, items)
        inputs.say_set(items, notes)
        for system in chosen:
            if system.described:
                notes.say(system.described)
        english = all(inputs.reads_english(one, settings) for one in models)
        saved = [system for system in chosen if system.name not in read]
        linting.lint_systems(read, items, reading, hints, notes, english_only=english, saved=saved)
        spaces = inputs.spaces_of(models, opened, settings)
        scores = []
        for space in spaces:
            own = recipe_of(space, recipe)
            encode = not model.no_encode
            scores.append(score_systems(space, chosen, items, own, encode=encode, progress=notes.progress))
    if len(scores) == 1:
        return finish(scores[0], notes, per_image=per_image, json=json, out=out)
    return rank(Rankings(tuple(space.shown for space in spaces), tuple(scores)), notes, json=json, out=out)


def _saved(
    store: Store,
    evalset: EvalSet,
    given: list[str],
    hints: Hints,
    reading: options.Reading,
    missing: options.MissingRule,
    empty: options.EmptyRule,
) -> tuple[dict[str, Captions], list[System]]:
    """Return the systems of a saved set: names and globs, and files scored against it on the spot."""
    saved = {row.name for row in systems_in(store, evalset.name or "")}
    files = [one for one in given if one not in saved and opening.is_given(one)]
    names = [one for one in given if one not in files]
    if not files:
        inputs.refuse_reading(reading, evalset.name or "")
    first = reading.take is not None
    chosen: list[System] = []
    if names or not files:
        chosen = load_systems(store, evalset, names, missing=missing, empty=empty, first=first)
    paths = opening.parse_systems(files)
    both = {system.name for system in chosen} & set(paths)
    if both:
        name = min(both)
        msg = f"two systems are called {name!r}: the saved one and {paths[name]}; give the file another NAME="
        raise InputError(msg)
    read = inputs.read_systems(paths, hints, reading)
    return read, [*chosen, *systems_of(read, evalset, missing=missing, empty=empty, hints=hints)]


def finish(scores: Scores, notes: Notes, *, per_image: Path | None, json: bool, out: Path | None) -> int:
    """Say what was done, write the results, and return the exit code."""
    notes.say(opening.counted(scores.work))
    inputs.say_warnings(scores.warnings, notes)
    if per_image is not None:
        only = scores.systems[0] if len(scores.systems) == 1 else None
        content = only.per_image() if only else {system.name: system.per_image() for system in scores.systems}
        output.write_file(per_image, output.dumps(content))
    if json:
        output.emit(output.dumps(scores.to_dict()), out)
    else:
        output.emit_table(scores.table(), out)
    return inputs.unreadable(scores.failures, notes)


def rank(rankings: Rankings, notes: Notes, *, json: bool, out: Path | None) -> int:
    """Say what was done under each model, write the results, and return the exit code."""
    for model, scores in zip(rankings.models, rankings.scores, strict=True):
        notes.say(f"{model}: {opening.counted(scores.work)}")
    inputs.say_warnings(dict.fromkeys(line for scores in rankings.scores for line in scores.warnings), notes)
    if json:
        output.emit(output.dumps(rankings.to_dict()), out)
    else:
        output.emit_table(rankings.table(), out)
    return inputs.unreadable(rankings.failures, notes)
