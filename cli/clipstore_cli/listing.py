"""``clipstore ls`` and ``clipstore info``: what a store holds, and which settings are in force."""

from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clipstore.evalset import EvalSet, systems_in
from clipstore.metrics.clip_s import WEIGHT
from clipstore.store import DEFAULT_MODEL
from clipstore.store.upkeep import half_errors
from clipstore.tables import Column, Table
from clipstore_cli import opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import NAMES, Setting, Settings

if TYPE_CHECKING:
    from clipstore import Store
    from clipstore.store import Counts

SCHEMA = 1
"""Version of the JSON layouts of this module."""

What = Annotated[
    Literal["sets", "systems", "models", "failures"], typer.Argument(help="sets, systems, models or failures.")
]


@grouped
def ls(
    common: options.Common,
    what: What = "sets",
    evalset_name: options.EvalSetName = None,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """List the store's eval sets, systems, models or images that failed."""
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, Settings.read(), notes, create=False) as opened:
        columns, rows = {"sets": _sets, "systems": _systems, "models": _models, "failures": _failures}[what](
            opened, evalset_name
        )
    if json:
        output.emit(output.dumps({"schema": SCHEMA, what: rows}), out)
    else:
        output.emit_table(Table(columns, tuple(tuple(_cell(value) for value in row.values()) for row in rows)), out)
    return 0


def _cell(value: str | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else value


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


Rows = list[dict[str, str | int | None]]
Columns = tuple[Column, ...]


def _sets(store: Store, _name: str | None) -> tuple[Columns, Rows]:
    columns = (Column("set", "left"), Column("images"), Column("systems"), Column("hash", "left"), Column("added"))
    rows: Rows = [
        {
            "set": row.name,
            "images": row.n_items,
            "systems": row.n_systems,
            "hash": row.digest[:8],
            "added": _day(row.created),
        }
        for row in store.sets()
    ]
    return columns, rows


def _systems(store: Store, name: str | None) -> tuple[Columns, Rows]:
    columns = (
        Column("set", "left"),
        Column("system", "left"),
        Column("captions"),
        Column("hash", "left"),
        Column("added"),
    )
    if name is not None:
        EvalSet.load(store, name)  # refuses an unknown one with those there are
    names = [row.name for row in store.sets() if name is None or row.name == name]
    rows: Rows = [
        {
            "set": set_name,
            "system": row.name,
            "captions": row.n_candidates,
            "hash": row.digest[:8],
            "added": _day(row.created),
        }
        for set_name in names
        for row in systems_in(store, set_name)
    ]
    return columns, rows


def _models(store: Store, _name: str | None) -> tuple[Columns, Rows]:
    columns = (
        Column("model", "left"),
        Column("weights", "left"),
        Column("precision", "left"),
        Column("dim"),
        Column("images"),
        Column("texts"),
        Column("fingerprint", "left"),
    )
    rows: Rows = [
        {
            "model": row.model,
            "weights": row.weights or None,
            "precision": row.precision,
            "dim": row.dim,
            "images": row.images,
            "texts": row.texts,
            "fingerprint": row.digest,
        }
        for row in store.models()
    ]
    return columns, rows


def _failures(store: Store, _name: str | None) -> tuple[Columns, Rows]:
    rows: Rows = [
        {"file": opening.shown(Path(row.path)), "reason": row.reason, "when": _day(row.at)} for row in store.failures()
    ]
    return (Column("file", "left"), Column("reason", "left"), Column("when", "left")), rows


@grouped
def info(common: options.Common, json: options.Json = False, out: options.Out = None) -> int:
    """Show the store's size and the settings in force, each with where it came from."""
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    path = opening.store_path(common.store, settings)
    defaults = {"model": DEFAULT_MODEL, "store": opening.shown(path)}
    flags = {"store": None if common.store is None else str(common.store)}
    found = {"clipstore": Setting(metadata.version("clipstore"), "installed")}
    found |= {name: settings.setting(name, flags.get(name), defaults.get(name)) for name in NAMES}
    held: dict[str, int] = {}
    below: list[tuple[str, Counts]] = []
    errors: list[tuple[str, float]] = []
    if path.exists():
        with opening.open_store(common.store, settings, notes, create=False) as opened:
            counts = opened.counts()
            below = [(opening.shown(folder), one) for folder, one in opened.below()]
            errors = half_errors(opened)
            size = sum(file.stat().st_size for file in opened.folder.rglob("*") if file.is_file())
        held = {"images": counts.images, "texts": counts.texts, "eval sets": counts.sets, "spaces": counts.spaces}
        held["bytes"] = size
    else:
        notes.say(f"{opening.shown(path)}: no store yet; the first score or add makes it")
    if json:
        values = {name: {"value": one.value, "from": one.origin} for name, one in found.items()}
        moved = {name: WEIGHT * error for name, error in errors}
        bases = [{"store": folder, "images": one.images, "texts": one.texts} for folder, one in below]
        content = {
            "schema": SCHEMA, "settings": values, "store": held, "bases": bases, "float16_error_on_clip_s": moved
        }  # fmt: skip
        output.emit(output.dumps(content), out)
        return 0
    rows = [(name, one.value or "-", one.origin) for name, one in found.items()]
    rows += [(name, f"{value:,}", "store") for name, value in held.items() if name != "bytes"]
    rows += [("size", f"{held['bytes'] / 1e6:,.1f} MB", "store")] if held else []
    rows += [("base", f"{folder}: {one.images:,} images, {one.texts:,} texts", "store.toml") for folder, one in below]
    rows += [(f"float16 {one}", f"moves CLIP-S by at most {WEIGHT * error:.1e}", "measured") for one, error in errors]
    columns = (Column("what", "left"), Column("value", "left"), Column("from", "left"))
    output.emit_table(Table(columns, tuple(rows)), out)
    return 0
