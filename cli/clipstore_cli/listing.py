"""``clipstore ls`` and ``clipstore info``: what a store holds, and which settings are in force."""

from __future__ import annotations

import time
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clipstore.evalset import EvalSet, systems_in
from clipstore.store import DEFAULT_MODEL
from clipstore.tables import Column, Table
from clipstore_cli import opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import NAMES, Settings

if TYPE_CHECKING:
    from clipstore import Store

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
        table = {"sets": _sets, "systems": _systems, "models": _models, "failures": _failures}[what](
            opened, evalset_name
        )
    if json:
        names = [column.header for column in table.columns]
        output.emit(output.dumps([dict(zip(names, row, strict=True)) for row in table.rows]), out)
    else:
        output.emit_table(table, out)
    return 0


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _sets(store: Store, _name: str | None) -> Table:
    columns = (Column("set", "left"), Column("images"), Column("systems"), Column("hash", "left"), Column("added"))
    rows = [(row.name, str(row.n_items), str(row.n_systems), row.digest[:8], _day(row.created)) for row in store.sets()]
    return Table(columns, tuple(rows))


def _systems(store: Store, name: str | None) -> Table:
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
    rows = [
        (set_name, row.name, str(row.n_candidates), row.digest[:8], _day(row.created))
        for set_name in names
        for row in systems_in(store, set_name)
    ]
    return Table(columns, tuple(rows))


def _models(store: Store, _name: str | None) -> Table:
    columns = (
        Column("model", "left"),
        Column("weights", "left"),
        Column("precision", "left"),
        Column("dim"),
        Column("images"),
        Column("texts"),
        Column("fingerprint", "left"),
    )
    rows = [
        (row.model, row.weights or "-", row.precision, str(row.dim), str(row.images), str(row.texts), row.digest)
        for row in store.models()
    ]
    return Table(columns, tuple(rows))


def _failures(store: Store, _name: str | None) -> Table:
    rows = [(row.path, row.reason, _day(row.at)) for row in store.failures()]
    return Table((Column("file", "left"), Column("reason", "left"), Column("when", "left")), tuple(rows))


@grouped
def info(common: options.Common, json: options.Json = False, out: options.Out = None) -> int:
    """Show the store's size and the settings in force, each with where it came from."""
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    path = opening.store_path(common.store, settings)
    rows: list[tuple[str, str, str]] = [("clipstore", metadata.version("clipstore"), "installed")]
    defaults = {"model": DEFAULT_MODEL, "store": opening.shown(path)}
    flags = {"store": None if common.store is None else str(common.store)}
    for name in NAMES:
        setting = settings.setting(name, flags.get(name), defaults.get(name))
        rows.append((name, setting.value or "-", setting.origin))
    held: list[tuple[str, str, str]] = []
    if path.exists():
        with opening.open_store(common.store, settings, notes, create=False) as opened:
            counts = opened.counts()
            size = sum(file.stat().st_size for file in opened.folder.rglob("*") if file.is_file())
        found = {"images": counts.images, "texts": counts.texts, "eval sets": counts.sets, "spaces": counts.spaces}
        held += [(name, f"{value:,}", "store") for name, value in found.items()]
        held.append(("size", f"{size / 1e6:,.1f} MB", "store"))
    else:
        notes.say(f"{opening.shown(path)}: no store yet; the first score or add makes it")
    if json:
        settings_json = {name: {"value": value, "from": origin} for name, value, origin in rows}
        content = {"settings": settings_json, "store": {name: value for name, value, _ in held}}
        output.emit(output.dumps(content), out)
    else:
        columns = (Column("what", "left"), Column("value", "left"), Column("from", "left"))
        output.emit_table(Table(columns, (*rows, *held)), out)
    return 0
