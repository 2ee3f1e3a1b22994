"""``clipstore store export``, ``import`` and ``merge``: vectors out of a store and into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from clipstore.store import moving
from clipstore_cli import opening, options
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings


@grouped
def export(
    common: options.Common,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to.")],
    full: Annotated[bool, typer.Option("--full", help="A whole copy of the store, sound while writers work.")] = False,
    copy: Annotated[bool, typer.Option("--copy", help="With --full: copy all bytes, link none.")] = False,
    kind: Annotated[Literal["parquet", "npy"], typer.Option("--format", help="Of the vectors.")] = "parquet",
) -> int:
    """Write all vectors with what they are of, those of base stores too; or, with --full, copy the store alone."""
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, Settings.read(), notes, create=False) as store:
        if full:
            copied = moving.export_full(store, folder, link=not copy)
            notes.say(
                f"{opening.shown(folder)}: a whole store, {copied.segments:,} segments, {copied.bytes / 1e6:,.1f} MB "
                f"({copied.linked:,} of them links to the same bytes on the disk)"
            )
            if store.catalogue.bases:
                notes.say(f"it rests on the same base stores, which are not in it: {len(store.catalogue.bases):,}")
            return 0
        for path, rows in moving.export(store, folder, kind):
            notes.say(f"{opening.shown(path)}: {rows:,} vectors")
    return 0


@grouped
def take_in(
    common: options.Common,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="An export, or a folder of clip-retrieval.")],
    declared: Annotated[
        str | None,
        typer.Option("--as", help="clip-retrieval: which encoder made it.", metavar="MODEL"),
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images", help="clip-retrieval: where its image files lie.", metavar="DIR")
    ] = None,
) -> int:
    """Take in exported vectors or a folder of clip-retrieval; nothing is encoded. Exit 1 if some could not be used."""
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, Settings.read(), notes) as store:
        taken = moving.take_in(store, path, declared=declared, images=images)
    notes.say(f"{taken.vectors:,} vectors came in, {taken.known:,} were here")
    if taken.unusable:
        notes.warn(f"{taken.unusable:,} rows name no caption or image file that is here: give --images")
    return 1 if taken.unusable else 0


@grouped
def merge(
    common: options.Common,
    others: Annotated[list[Path], typer.Argument(metavar="OTHER...", help="Stores to bring in; they are only read.")],
) -> int:
    """Bring vectors, texts, images, eval sets and systems of other stores in; nothing is encoded.

    Of base stores that they rest on, all but eval sets and systems.
    """
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, Settings.read(), notes) as store:
        merged = moving.merge(store, others)
    notes.say(
        f"{merged.vectors:,} vectors came in, {merged.known:,} were here; "
        f"{merged.sets:,} eval sets and {merged.systems:,} systems are new"
    )
    return 0
