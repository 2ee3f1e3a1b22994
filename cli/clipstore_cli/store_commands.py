"""``clipstore store``: init, verify, compact, gc and relink; what moves vectors is in ``moving_commands``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clipstore.errors import Busy
from clipstore.storage import collect, compact, leftovers
from clipstore.storage.finding import Finding
from clipstore.store import checksums, founding, upkeep
from clipstore.tables import Column, Table
from clipstore_cli import audit, moving_commands, opening, options, output
from clipstore_cli.commands import SETTINGS
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore import Store

app = typer.Typer(
    name="store",
    help="Look after a store: check, tidy, copy, merge.",
    no_args_is_help=True,
    add_completion=False,
    context_settings=SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_ATTEMPTS = 3

Days = Annotated[float, typer.Option("--unused-for", min=0.0, help="Keep what is younger, in days.", metavar="DAYS")]


@app.command("init")
@grouped
def init(
    common: options.Common,
    catalogue: Annotated[
        str | None,
        typer.Option("--catalogue", help="PostgreSQL URL for the rows; no password in it.", metavar="URL"),
    ] = None,
    dtype: Annotated[
        Literal["float32", "float16"] | None, typer.Option("--dtype", help="How vectors are stored.")
    ] = None,
    base: Annotated[
        list[Path] | None,
        typer.Option("--base", help="A store to rest on: read first, never written.", metavar="DIR"),
    ] = None,
    as_base: Annotated[
        bool | None, typer.Option("--as-base/--no-as-base", help="Mark as a base of others: gc leaves it alone.")
    ] = None,
) -> int:
    """Make a store with settings of its own; on one that is there, add a base or mark it as one."""
    notes = Notes(quiet=common.quiet)
    path = opening.store_path(common.store, Settings.read())
    with founding.found(path, catalogue=catalogue, dtype=dtype, bases=base or (), is_base=as_base) as store:
        counts = store.counts()
        shown = store.catalogue.url_shown if catalogue else opening.shown(path)
    notes.say(f"{shown}: a store with {counts.images:,} images, {counts.texts:,} texts, {counts.sets:,} eval sets")
    return 0


@app.command("verify")
@grouped
def verify(
    common: options.Common,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be mended, set aside what can't, lose nothing good.")
    ] = False,
    images_md5: Annotated[
        Path | None,
        typer.Option("--images-md5", help="Also compare image files with md5sum's list.", metavar="FILE"),
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images", help="Folder of the images of --images-md5.", metavar="DIR")
    ] = None,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Read every byte and compare it with what was committed; exit 1 if anything is damaged."""
    notes = Notes(quiet=common.quiet)
    path = opening.store_path(common.store, Settings.read())
    verified = upkeep.verify(path, mend=repair)
    found = list(verified.found)
    agree: list[Path] = []
    if images_md5 is not None:
        with opening.open_store(common.store, Settings.read(), notes, create=False) as store:
            agree, differing = checksums.check_images(store, images_md5, images)
        unknown = sum(one.kind == checksums.UNKNOWN for one in differing)
        differ = f"{len(differing) - unknown:,} differ or can't be read"
        notes.say(f"{images_md5.name}: {len(agree):,} images are identical, {differ}, {unknown:,} are not here")
        found += differing
    same = [Finding("image identical", str(path), "its bytes are those of the list", "", "note") for path in agree]
    shown = [("done", one) for one in verified.done] + [("same", one) for one in same]
    _emit(shown + [(one.severity, one) for one in found], json=json, out=out)
    damaged = sum(one.severity == "damage" for one in found)
    notes.say(
        f"{opening.shown(path)}: {damaged:,} damaged, {len(found) - damaged:,} notes" if found else "all is sound"
    )
    return 1 if damaged else 0


def _emit(found: Sequence[tuple[str, Finding]], *, json: bool, out: Path | None) -> None:
    if json:
        rows = [
            {"severity": kind, "kind": one.kind, "where": one.where, "detail": one.detail, "remedy": one.remedy}
            for kind, one in found
        ]
        output.emit(output.dumps({"schema": 1, "findings": rows}), out)
    elif found or out is not None:
        columns = tuple(Column(name, "left") for name in ("severity", "where", "kind", "detail", "remedy"))
        rows_shown = tuple((kind, one.where, one.kind, one.detail, one.remedy) for kind, one in found)
        output.emit_table(Table(columns, rows_shown), out)


@app.command("compact")
@grouped
def compact_store(common: options.Common) -> int:
    """Make one segment of all that each space holds, and drop vectors that are stored twice."""
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, Settings.read(), notes, create=False) as store:
        done = compact.compact(store.catalogue)
    for one in done:
        dropped = one.rows[0] - one.rows[1]
        notes.say(
            f"{one.digest} {one.modality}: {one.segments[0]:,} segments are now {one.segments[1]:,}, "
            f"{one.rows[1]:,} vectors, {dropped:,} repeats dropped"
        )
    if not done:
        notes.say("nothing to compact")
    return 0


@app.command("gc")
@grouped
def gc(
    common: options.Common,
    yes: Annotated[bool, typer.Option("--yes", help="Take it away; without this, only say what would go.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go: the default.")] = False,
    unused_for: Days = 90.0,
    forget_runs: Annotated[
        float | None,
        typer.Option(
            "--forget-runs", min=0.0, help="Also drop records of runs older than this: no replay.", metavar="DAYS"
        ),
    ] = None,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Take away what no eval set, system or run names and was not used for some days. A dry run without --yes."""
    notes = Notes(quiet=common.quiet)
    really = yes and not dry_run
    with opening.open_store(common.store, Settings.read(), notes, create=False) as store:
        planned = _collect(store, unused_for, forget_runs, really=really)
        strays = leftovers.find(store.catalogue)
        due = [one for one in strays if one.due]
        if really:
            leftovers.sweep(store.catalogue, due)
    counts = {
        "vectors": planned.vectors,
        "vector_bytes": planned.bytes,
        "texts": len(planned.texts),
        "images": len(planned.images),
        "runs": planned.runs[0],
        "files": len(due),
        "file_bytes": sum(one.bytes for one in due),
        "files_too_young": len(strays) - len(due),
    }
    if json:
        output.emit(output.dumps({"schema": 1, "dry_run": not really, **counts}), out)
    else:
        rows = tuple((name.replace("_", " "), f"{value:,}") for name, value in counts.items())
        output.emit_table(Table((Column("what", "left"), Column("taken away" if really else "would go")), rows), out)
    if not really:
        notes.say("a dry run: nothing was taken away; add --yes to do it")
    return 0


def _collect(store: Store, unused_for: float, forget_runs: float | None, *, really: bool) -> collect.Plan:
    """Plan, and carry the plan out; plan again where the store changed in between."""
    for attempt in range(_ATTEMPTS):
        planned = upkeep.unused(store, unused_for=unused_for, forget_runs=forget_runs)
        if not really or planned.is_empty:
            break
        try:
            collect.carry_out(store.catalogue, planned)
        except Busy:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            break
    return planned


@app.command("relink")
@grouped
def relink(
    common: options.Common,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Where a folder of images was.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Where it is now.")],
) -> int:
    """Say that a folder of images, with all below it, now lies elsewhere."""
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, Settings.read(), notes, create=False) as store:
        moved = upkeep.relink(store, old, new)
    notes.say(f"{moved:,} image files are now looked for in {new}")
    return 0


app.command("export")(moving_commands.export)
app.command("import")(moving_commands.take_in)
app.command("merge")(moving_commands.merge)
app.command("audit")(audit.audit)
