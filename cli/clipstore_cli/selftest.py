"""``clipstore selftest``: whether this machine computes what it should with a model."""

from __future__ import annotations

import dataclasses

from clipstore import selftest as checks
from clipstore.encoders import names
from clipstore.encoders.protocol import LoadOptions
from clipstore.tables import Column, Table
from clipstore_cli import inputs, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings


@grouped
def selftest(
    model: options.ModelOptions, common: options.Common, json: options.Json = False, out: options.Out = None
) -> int:
    """Check this machine and a model: text paths, batches, half precision, activation, pixels, golden values.

    Exits with 1 when a check fails.
    """
    notes = Notes(quiet=common.quiet)
    name = names.parse(Settings.read().value("model", model.model) or names.DEFAULT, model.pretrained, model.weights)
    chosen = LoadOptions(
        model.device,
        model.precision,
        model.preprocess,
        model.exif,
        inputs.batch_size(model.batch_size),
        model.trust_weights,
        model.max_pixels,
    )
    notes.say(f"{name.shown}: loading and checking it")
    found = checks.selftest(name, chosen)
    if json:
        output.emit(output.dumps({"schema": 1, "checks": [dataclasses.asdict(check) for check in found]}), out)
    else:
        columns = (Column("check", "left"), Column("verdict", "left"), Column("found", "left"), Column("limit", "left"))
        rows = tuple((one.name, one.verdict, one.found, one.limit) for one in found)
        output.emit_table(Table(columns, rows), out)
    for check in found:
        if check.verdict == "failed":
            notes.error(f"{check.name}: {check.found}, not {check.limit}; {check.remedy}")
    return 0 if checks.passed(found) else 1
