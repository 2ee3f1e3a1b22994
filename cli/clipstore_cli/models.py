"""``clipstore models``: what ``--model`` takes, and ``models fetch``: weights for a machine without network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clipstore.encoders import fetching
from clipstore.tables import Column, Table
from clipstore_cli import options, output
from clipstore_cli.commands import SETTINGS
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes

app = typer.Typer(
    name="models",
    help="List the models that can be named, and fetch their weights.",
    add_completion=False,
    context_settings=SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Every = Annotated[bool, typer.Option("--all", help="Also each architecture/tag pair of open_clip.")]
Name = Annotated[str, typer.Argument(help="A model's name, as --model takes it.", metavar="NAME")]
Folder = Annotated[Path, typer.Option("-o", "--out", help="The folder that they go to.", metavar="DIR")]


def listed(every: Every = False, json: options.Json = False, out: options.Out = None) -> int:
    """List what --model takes: formula, prefix, context, and where the weights come from."""
    rows = fetching.known(every=every)
    if json:
        output.emit(output.dumps({"schema": 1, "models": [row.to_dict() for row in rows]}), out)
        return 0
    columns = ("model", "formula", "prefix", "context", "weights")
    cells = [(row.name, row.formula, row.prefix or "-", str(row.context_length or "-"), row.where) for row in rows]
    aligned = tuple(Column(name, "right" if name == "context" else "left") for name in columns)
    notes = () if every else ("--all lists each pair of open_clip; hf-hub:ORG/NAME and local-dir:FOLDER work too",)
    output.emit_table(Table(aligned, tuple(cells), notes), out)
    return 0


@app.callback(invoke_without_command=True)
def _models(
    context: typer.Context, every: Every = False, json: options.Json = False, out: options.Out = None
) -> int | None:
    """List what --model takes: formula, prefix, context, and where the weights come from."""
    return None if context.invoked_subcommand else listed(every, json, out)


@grouped
def fetch(common: options.Common, name: Name, folder: Folder, pretrained: str | None = None) -> int:
    """Fetch a model's weights and config into a folder, to carry to a machine without network."""
    notes = Notes(quiet=common.quiet)
    fetched = fetching.fetch(name, folder, pretrained)
    for path in fetched.files:
        notes.say(f"{path}: {path.stat().st_size / 1e6:,.1f} MB")
    notes.say("there, use it with:")
    output.emit(fetched.usage + "\n", None)
    return 0


app.command("fetch")(fetch)
