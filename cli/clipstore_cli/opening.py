"""Opening the store, and saying which one and what it holds: the first line on stderr."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from clipstore import Store
from clipstore.errors import InputError

if TYPE_CHECKING:
    from clipstore.evaluate import Work
    from clipstore.store import Ensured
    from clipstore_cli.notes import Notes
    from clipstore_cli.settings import Settings


_WILD = re.compile(r"[*?\[]")


def store_path(flag: Path | None, settings: Settings) -> Path:
    """Return the store's folder: flag, environment, project file, nearest ``.clipstore``, else a new one here."""
    given = settings.value("store", None if flag is None else str(flag))
    return Store.nearest() if given is None else Path(given)


def open_store(flag: Path | None, settings: Settings, notes: Notes, *, create: bool = True) -> Store:
    """Open the store and say its name and counts."""
    path = store_path(flag, settings)
    fresh = not path.exists()
    store = Store.open(path, create=create)
    counts = store.counts()
    what = "a new store" if fresh else f"{counts.images:,} images, {counts.texts:,} texts, {counts.sets:,} eval sets"
    below = store.below()
    on = f", on {len(below):,} base store{'s' if len(below) > 1 else ''}" if below else ""
    notes.say(f"{shown(path)}: {what}{on}")
    return store


def shown(path: Path) -> str:
    """Return a path relative to this folder where it lies below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def counted(work: Work) -> str:
    """Return the line that says what was cached and what was encoded."""

    def part(ensured: Ensured, what: str) -> str:
        done = f"{ensured.encoded:,} encoded" if ensured.encoded else "all cached"
        failed = f", {len(ensured.failures):,} failed" if ensured.failures else ""
        if failed and not ensured.encoded:
            done = f"{ensured.cached:,} cached"
        return f"{ensured.asked:,} {what}: {done}{failed}"

    parts = [part(work.images, "images")]
    if work.references.asked:
        parts.append(part(work.references, "distinct references"))
    parts.append(part(work.captions, f"distinct of {work.written:,} captions"))
    took = f"; took {work.seconds:.1f} s" if work.encoded else "; 0 encoded"
    return "; ".join(parts) + took


def parse_systems(arguments: list[str], vague: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return name -> path of ``[NAME=]CAPS`` arguments.

    Without ``NAME=`` a system is called by the shortest tail of its path that no other has.

    Parameters
    ----------
    arguments
        As given on the command line.
    vague
        Tails that say nothing of the system, refused as names unless given as ``NAME=``.

    Raises
    ------
    InputError
        When two systems get one name, a name is empty, or a tail is vague.
    """
    named: list[tuple[str | None, str]] = []
    for argument in arguments:
        if not argument.strip():
            msg = "an empty argument stands where captions should: is a variable of the shell not set?"
            raise InputError(msg)
        left, sign, right = argument.partition("=")
        if sign and not left:
            msg = f"{argument}: no name stands before the =: write NAME=CAPS"
            raise InputError(msg)
        if sign and not right:
            msg = f"{argument}: no file stands after the =: write NAME=CAPS"
            raise InputError(msg)
        plain = not sign or "/" in left or exists(argument)
        named.append((None, argument) if plain else (left, right))
    tails = _tails([path for name, path in named if name is None])
    out: dict[str, str] = {}
    for name, path in named:
        shown_name = name if name is not None else tails[path]
        if name is None and shown_name in vague:
            msg = f"{path}: {shown_name!r} would name the system, and says nothing of it: give NAME={path}"
            raise InputError(msg)
        if shown_name in out:
            msg = f"two systems are called {shown_name!r} ({out[shown_name]} and {path}): name them NAME=CAPS"
            raise InputError(msg)
        out[shown_name] = path
    return out


def exists(argument: str) -> bool:
    """Say whether an argument is the path of something; no for what can't be a path."""
    try:
        return Path(argument).exists()
    except OSError:  # a name too long
        return False


def is_given(argument: str) -> bool:
    """Say whether an argument is captions to read, not the name of a saved system."""
    return argument == "-" or "=" in argument or exists(argument)


def _stem(part: str) -> str:
    for ending in (".gz", ".zst", ".json", ".jsonl", ".csv", ".tsv", ".txt", ".parquet", ".tar"):
        part = part.removesuffix(ending)
    return part


def _parts(path: str) -> list[str]:
    """Return what a system's name may be made of: a path's parts, of a glob what stands there in letters."""
    if path == "-":
        return ["stdin"]
    given = Path(path)
    if not given.name.strip("."):
        given = given.resolve()
    parts = [*given.parts[:-1], _stem(given.name)]
    if not _WILD.search(path) or exists(path):
        return parts
    plain = [_WILD.split(part)[0].rstrip("-_.# ") for part in parts]
    return [part for part in plain if part.strip("/")] or [Path.cwd().name]


def _tails(paths: list[str]) -> dict[str, str]:
    parts = {path: _parts(path) for path in paths}
    out = {}
    for path, own in parts.items():
        for length in range(1, len(own) + 1):
            tail = own[-length:]
            if sum(other[-length:] == tail for other in parts.values()) == 1:
                break
        out[path] = "/".join(tail)
    return out
