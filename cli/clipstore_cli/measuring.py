"""From a command's systems and sets to what they measure: files on the spot, saved systems, several sets."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from clipstore import EvalSet
from clipstore.errors import InputError, NotStored
from clipstore.evalset import load_systems, systems_in, systems_of
from clipstore.evaluate.measuring import measure_systems, needs_images, wanted
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.evaluate.tagging import tagged
from clipstore_cli import inputs, linting, opening, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.evalset import System
    from clipstore.evaluate.measured import Measured
    from clipstore.formats import Captions, Hints
    from clipstore.store import Store
    from clipstore_cli.notes import Notes
    from clipstore_cli.settings import Settings

Groups = dict[str, list[str]]
"""System -> its runs, each a system of its own while it is measured."""


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """What a command was asked to measure.

    Parameters
    ----------
    systems
        Arguments as given.
    sets
        Names of saved eval sets; none: files.
    metrics
        Names, None for what each set allows.
    evalset, model, reading, hints, empty
        As in ``score``.
    tags
        A table of tags, or None.
    last
        How many of the saved systems, the last ones; None for all.
    recipe
        Its name; None for the model's own.
    """

    systems: tuple[str, ...]
    sets: tuple[str, ...]
    metrics: list[str] | None
    evalset: options.SetOptions
    model: options.ModelOptions
    reading: options.Reading
    hints: Hints
    empty: options.EmptyRule
    tags: Path | None = None
    last: int | None = None
    recipe: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Given:
    """One eval set and its systems, before anything is measured.

    Parameters
    ----------
    items
        The set, closed.
    systems
        In its order.
    read
        Those of them that came from files.
    """

    items: EvalSet
    systems: list[System]
    read: dict[str, Captions]


def read_files(asked: Asked, settings: Settings) -> tuple[Given | None, Groups]:
    """Read set and systems from files, before any store is opened or made; None for saved sets.

    Raises
    ------
    InputError
        When there is nothing to measure, or options contradict each other.
    """
    names, groups = split_runs(asked.systems, saved=bool(asked.sets))
    if asked.sets:
        inputs.refuse_files(asked.evalset, asked.sets[0])
        if len(set(asked.sets)) < len(asked.sets):
            msg = f"a set is named twice: {', '.join(asked.sets)}"
            raise InputError(msg)
        return None, groups
    if not names:
        msg = "no captions: give [NAME=]FILE, or -t SET for saved systems"
        raise InputError(msg)
    read = inputs.read_systems(opening.parse_systems(names), asked.hints, asked.reading)
    missing = asked.evalset.missing
    items = _read_set(asked, settings).covering(read.values(), asked.hints, missing)
    systems = systems_of(read, items, missing=missing, empty=asked.empty, hints=asked.hints)
    return Given(items, systems, read), groups


def measure_all(store: Store, asked: Asked, files: Given | None, settings: Settings, notes: Notes) -> list[Measured]:
    """Measure the systems on each set; say what was recognised and what was encoded.

    Raises
    ------
    InputError
        When files are given with several sets.
    NotStored
        When a name fits no saved system of any set.
    """
    names, _ = split_runs(asked.systems, saved=bool(asked.sets))
    given = [files] if files is not None else _of_sets(store, asked, names)
    return [_measured(store, asked, settings, notes, one) for one in given]


def split_runs(given: Sequence[str], *, saved: bool) -> tuple[list[str], Groups]:
    """Return the arguments with ``NAME=a,b`` taken apart into ``NAME#1=a NAME#2=b``, and which belong together.

    With saved sets the parts may be names of saved systems, which then stay as they are.
    """
    out: list[str] = []
    groups: Groups = {}
    for one in given:
        name, sign, right = one.partition("=")
        parts = [part for part in right.split(",") if part]
        if not sign or len(parts) < 2 or Path(right).exists():
            out.append(one)
            continue
        files = not saved or any(Path(part).exists() for part in parts)
        out += [f"{name}#{number}={part}" for number, part in enumerate(parts, 1)] if files else parts
        groups[name] = [f"{name}#{number}" for number in range(1, len(parts) + 1)] if files else parts
    return out, groups


def _read_set(asked: Asked, settings: Settings) -> EvalSet:
    """Read the set of the options; without images it serves metrics of captions and references."""
    chosen = asked.evalset
    images = settings.value("images", None if chosen.images is None else str(chosen.images))
    refs = settings.value("refs", None if chosen.refs is None else str(chosen.refs))
    if images is not None or (refs is None and chosen.annotations is None):
        return inputs.read_set(chosen, settings, asked.hints)
    return EvalSet.read(refs=refs, annotations=chosen.annotations, hints=asked.hints, missing=chosen.missing)


def _of_sets(store: Store, asked: Asked, names: list[str]) -> list[Given]:
    known = {name: [row.name for row in systems_in(store, name)] for name in asked.sets}
    everything = list(dict.fromkeys(name for there in known.values() for name in there))
    files = [one for one in names if one not in everything and opening.is_given(one)]
    patterns = [one for one in names if one not in files]
    if not files and asked.tags is None:
        inputs.refuse_reading(asked.reading, asked.sets[0])
    if files and len(asked.sets) > 1:
        msg = f"{files[0]}: files go with one set; with several, add them under names first (clipstore add -t SET)"
        raise InputError(msg)
    unmet = [one for one in patterns if not any(_fits(name, [one]) for name in everything)]
    if unmet or not (everything or files):
        there = f"there is: {', '.join(everything)}" if everything else "there is none yet: clipstore add makes one"
        what = f"no system {unmet[0]!r}" if unmet else "no system to compare"
        msg = f"{', '.join(asked.sets)}: {what}; {there}"
        raise NotStored(msg)
    out = [_of_set(store, asked, name, known[name], patterns, files) for name in asked.sets]
    return [given for given in out if given.systems]


def _of_set(
    store: Store, asked: Asked, set_name: str, known: Sequence[str], patterns: list[str], files: list[str]
) -> Given:
    missing = asked.evalset.missing
    items = EvalSet.load(store, set_name)
    fits = [name for name in known if _fits(name, patterns)] if patterns or not files else []
    fits = fits[-asked.last :] if asked.last else fits
    first = asked.reading.take is not None
    systems = load_systems(store, items, fits, missing=missing, empty=asked.empty, first=first) if fits else []
    paths = opening.parse_systems(files)
    both = sorted({system.name for system in systems} & set(paths))
    if both:
        msg = f"two systems are called {both[0]!r}: the saved one and {paths[both[0]]}; give the file another NAME="
        raise InputError(msg)
    read = inputs.read_systems(paths, asked.hints, asked.reading)
    return Given(
        items, [*systems, *systems_of(read, items, missing=missing, empty=asked.empty, hints=asked.hints)], read
    )


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(name == one or fnmatch.fnmatchcase(name, one) for one in patterns)


def _measured(store: Store, asked: Asked, settings: Settings, notes: Notes, given: Given) -> Measured:
    items = given.items if asked.tags is None else tagged(given.items, asked.tags, asked.hints)
    inputs.refuse_unheard(asked.reading, asked.hints, given.read, items)
    inputs.say_set(items, notes)
    for system in given.systems:
        if system.described:
            notes.say(system.described)
    english = inputs.reads_english(asked.model, settings)
    saved = [system for system in given.systems if system.name not in given.read]
    linting.lint_systems(given.read, items, asked.reading, asked.hints, notes, english_only=english, saved=saved)
    looks = needs_images(wanted(items, asked.metrics))
    where = inputs.space_of(asked.model, store, settings) if looks else store
    recipe, encode = recipe_of(where, asked.recipe), not asked.model.no_encode
    measured = measure_systems(
        where, given.systems, items, asked.metrics, recipe, encode=encode, progress=notes.progress
    )
    if measured.work is not None:
        notes.say(opening.counted(measured.work))
    return measured
