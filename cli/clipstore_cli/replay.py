"""``clipstore replay``: a saved comparison computed again from the store alone."""

from __future__ import annotations

import json as standard
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from clipstore.compare.replay import replay as replayed
from clipstore.errors import BadFormat
from clipstore.tables import Column, Table
from clipstore_cli import opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

Report = Annotated[Path, typer.Argument(metavar="REPORT.json", help="What clipstore compare --json wrote.")]


@grouped
def replay(
    report: Report,
    common: options.Common,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Compute a saved comparison again from the store, and say whether it comes out the same.

    Hashes of images, references, captions and weights come first, and the first that differs is
    named; then means must be exact, intervals and p within Monte Carlo error. Exit 1 where not.
    """
    output.check(out)
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    try:
        read = standard.loads(report.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"can't read {report}: {(error.strerror or str(error)).lower()}"
        raise BadFormat(msg) from error
    except ValueError as error:
        msg = f"{report}: can't be read as JSON: {error}"
        raise BadFormat(msg) from error
    with opening.open_store(common.store, settings, notes, create=False) as opened:
        done = replayed(opened, read)
    if json:
        findings = [asdict(one) for one in done.findings]
        output.emit(output.dumps({"schema": 1, "same": done.same, "findings": findings}), out)
    else:
        columns = (Column("what", "left"), Column("same", "left"), Column("detail", "left"))
        rows = tuple((one.what, "yes" if one.same else "NO", one.detail) for one in done.findings)
        output.emit_table(Table(columns, rows), out)
    if done.first is not None:
        notes.error(f"{done.first.what}: {done.first.detail}")
    return 0 if done.same else 1
