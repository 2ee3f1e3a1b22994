"""``clipstore show``: one image, its references, and every system's caption."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clipstore import EvalSet
from clipstore.compare.one_image import find
from clipstore.compare.one_image import show as shown
from clipstore.evalset import load_systems
from clipstore.evaluate.measuring import needs_images, wanted
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.tables import text
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.compare.one_image import Shown

ImageId = Annotated[str, typer.Argument(metavar="IMAGE_ID", help="An id of the set, a file's name, or a content id.")]
SetName = Annotated[str, typer.Option("-t", "--set", help="The saved eval set.", metavar="SET")]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[SYSTEM]...", help="Saved systems, globs allowed; else all.")
]
Metrics = Annotated[list[str] | None, typer.Option("--metric", help="A metric, repeatable; else CLIP-S and RefCLIP-S.")]


@grouped
def show(
    image: ImageId,
    evalset_name: SetName,
    model: options.ModelOptions,
    common: options.Common,
    systems: Names = None,
    metric: Metrics = None,
    recipe: options.Recipe = None,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Show one image: references, every system's caption with scores and rank, what differs from the best."""
    output.check(out)
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, settings, notes, create=False) as opened, notes:
        evalset = EvalSet.load(opened, evalset_name)
        row = find(evalset, image)
        chosen = load_systems(opened, evalset, systems or [], missing="skip", empty="zero", first=True)
        for system in chosen:
            inputs.say_warnings([f"{system.name}: {line}" for line in system.warnings], notes)
        where = inputs.space_of(model, opened, settings) if needs_images(wanted(evalset, metric)) else opened
        own, encode = recipe_of(where, recipe), not model.no_encode
        done = shown(where, chosen, evalset, row, metric, own, encode=encode, progress=notes.progress)
    return finish(done, json=json, out=out)


def finish(done: Shown, *, json: bool, out: Path | None) -> int:
    """Write the image: JSON, or a table of references and a table of captions."""
    if json:
        output.emit(output.dumps(done.to_dict()), out)
    elif out is not None:
        output.emit(f"{text(done.reference_table())}\n{text(done.table())}", out)
    else:
        output.emit_table(done.reference_table(), None)
        output.emit("\n", None)
        output.emit_table(done.table(), None)
    return 0
