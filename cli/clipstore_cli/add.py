"""``clipstore add``: save an eval set and systems under their names, and encode what is new."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from clipstore import EvalSet
from clipstore.errors import InputError, NotStored
from clipstore.evalset import candidates_of, describe, leaving_out, meet, save
from clipstore.evaluate import fill
from clipstore.metrics import recipes
from clipstore.store import founding
from clipstore_cli import inputs, linting, opening, options
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from clipstore.formats import Captions, Hints
    from clipstore.store import Identified, Store

COMMON_WORDS = frozenset(
    {"caps", "captions", "output", "outputs", "predictions", "preds", "result", "results", "stdin"}
)
"""File names that say nothing of the system."""

Spool = Annotated[
    bool,
    typer.Option("--spool", help="Leave the addition beside the store, for the next that may write: no SQL here."),
]
SetName = Annotated[str, typer.Option("-t", "--set", help="The eval set's name.", metavar="SET")]


@grouped
def add(
    evalset: options.SetOptions,
    model: options.ModelOptions,
    reading: options.Reading,
    common: options.Common,
    evalset_name: SetName,
    systems: options.Captions = None,
    replace: options.Replace = False,
    spool: Spool = False,
) -> int:
    """Save an eval set and systems under their names, and encode what is new.

    The same name with the same captions does nothing; other captions need --replace.
    With --no-encode nothing is encoded now; score does it later.
    """
    settings = Settings.read()
    hints = inputs.hints_of(reading, settings)
    notes = Notes(quiet=common.quiet)
    read = inputs.read_systems(opening.parse_systems(systems or [], COMMON_WORDS), hints, reading)
    files = inputs.read_set_if_given(evalset, settings, hints)
    if files is not None:
        files = files.covering(read.values(), hints, evalset.missing)
    with _opened(common, settings, notes, spool=spool) as opened, notes:
        items, ids = _set(opened, evalset_name, files, evalset, settings, read, hints, notes)
        if ids is None and not read:
            inputs.refuse_reading(reading, evalset_name)
        inputs.refuse_unheard(reading, hints, read, items)
        space = None if model.no_encode else inputs.space_of(model, opened, settings)
        english = inputs.reads_english(model, settings)
        linting.lint_systems(read, items, reading, hints, notes, english_only=english)
        did = save(opened, evalset_name, items, read, ids, replace=replace, missing=evalset.missing, hints=hints)
        for captions in read.values():
            notes.say(describe(captions, meet(captions, items, hints), items))
        for name, what in did.items():
            size = f"{len(read[name].ids):,} captions" if name else f"{len(items.items):,} images"
            notes.say(f"{name or f'eval set {evalset_name}'}: {what} ({size})")
        if space is None:
            return 0
        saved = [one.text for name in read for one in candidates_of(opened, items, name)]
        texts = [text for text in saved if text.strip()]
        filled = fill(space, items, texts, recipes.HESSEL2021, progress=notes.progress)
    notes.say(opening.counted(filled.work))
    return inputs.unreadable(filled.work.images.failures, notes)


def _opened(common: options.Common, settings: Settings, notes: Notes, *, spool: bool) -> AbstractContextManager[Store]:
    """Open the store; for the spool, one of this host alone that rests on it."""
    if spool:
        return founding.spooling(opening.store_path(common.store, settings))
    return opening.open_store(common.store, settings, notes)


def _set(
    store: Store,
    name: str,
    given: EvalSet | None,
    chosen: options.SetOptions,
    settings: Settings,
    read: dict[str, Captions],
    hints: Hints,
    notes: Notes,
) -> tuple[EvalSet, tuple[int | None, ...] | None]:
    """Return the saved set, or the one that the options give with the content ids of its images."""
    known = _known(store, name)
    if known is not None and given is None:
        return known, None
    if given is None:
        given = inputs.read_set(chosen, settings, hints).covering(read.values(), hints, chosen.missing)
    if given.is_open:
        msg = f"nothing says which images eval set {name!r} has: give --refs, --annotations, or captions"
        raise InputError(msg)
    inputs.say_set(given, notes)
    identified = store.identify(given.images(), notes.progress)
    if chosen.missing == "skip" and 0 < len(identified.failures) < len(identified.ids):
        inputs.say_warnings([f"left out: {one.name}: {one.reason}" for one in identified.failures], notes)
        given = leaving_out(given, {row for row, id_ in enumerate(identified.ids) if id_ is None})
        return dataclasses.replace(given, name=name), tuple(id_ for id_ in identified.ids if id_ is not None)
    _refuse_unreadable(identified)
    return dataclasses.replace(given, name=name), identified.ids


def _known(store: Store, name: str) -> EvalSet | None:
    try:
        return EvalSet.load(store, name)
    except NotStored:
        return None


def _refuse_unreadable(identified: Identified) -> None:
    """Refuse a set with files that can't be read: it names its images by content."""
    if identified.failures:
        first = "; ".join(f"{one.name}: {one.reason}" for one in identified.failures[:5])
        count = len(identified.failures)
        what = f"{count:,} image{'s' if count > 1 else ''} can't be read, so the set can't be saved ({first})"
        msg = f"{what}: mend them, or leave them out with --missing skip"
        raise InputError(msg)
