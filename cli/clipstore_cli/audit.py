"""``clipstore store audit``: whether this machine still computes what the store holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from clipstore.store.audit import audit as run
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

Sample = Annotated[int, typer.Option("--sample", min=1, help="Images, and texts, to encode again.", metavar="N")]


@grouped
def audit(
    model: options.ModelOptions,
    common: options.Common,
    sample: Sample = 200,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Encode random stored items again and compare: the largest gap, and what changed since.

    Exit 1 if the gap is too large, or no image could be read.

    Without --model, of the only one that the store has vectors of.
    """
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, settings, notes, create=False) as store, notes:
        held = inputs.held_models(store)
        if settings.value("model", model.model) is None and len(held) == 1:
            model = replace(model, models=held)
        space = inputs.space_of(model, store, settings)
        found = run(space, sample, progress=notes.progress)
        others = sum(one.digest != space.fingerprint.digest for one in store.models() if one.images or one.texts)
    name = f"{space.shown} {space.fingerprint.fields.get('precision', '')}".strip()
    if json:
        content = {
            "schema": 1,
            "model": space.shown,
            "fingerprint": space.fingerprint.digest,
            "images": found.images,
            "texts": found.texts,
            "gap": found.gap,
            "limit": found.limit,
            "worst": found.worst,
            "unread": found.unread,
            "changed": list(found.changed),
        }
        output.emit(output.dumps(content), out)
    else:
        gap = "-" if found.gap is None else f"{found.gap:.1e}"
        line = f"{name}: {found.images:,} images and {found.texts:,} texts encoded again: largest 1 - cosine {gap}"
        output.emit("\n".join([f"{line} (limit {found.limit:.0e})", *found.changed]) + "\n", out)
    if others:
        notes.say(f"{others:,} more spaces of this store were not looked at: --model, --precision, --preprocess choose")
    if found.unread:
        notes.warn(f"{found.unread:,} images were left out: their files are gone or hold other images now")
    if found.blind:
        notes.error("no image was compared: add the set again with --images, where its files are now")
    if found.gap is not None and found.gap > found.limit:
        notes.error(
            f"{found.worst}: this machine computes another vector than the store holds; "
            "use the versions that wrote it, or another --store for this machine"
        )
    return 0 if found.sound else 1
