"""``clipstore rm``: take away a system or an eval set."""

from __future__ import annotations

from typing import Annotated

import typer

from clipstore.errors import InputError, NotStored
from clipstore.store import upkeep
from clipstore_cli import opening, options
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

Name = Annotated[str, typer.Argument(metavar="SYSTEM|SET", help="A system, or an eval set with all its systems.")]


@grouped
def rm(common: options.Common, name: Name, evalset_name: options.EvalSetName = None) -> int:
    """Remove a system or an eval set; vectors stay until `clipstore store gc`.

    With -t SET the name is a system of that set; without it, an eval set or a system that only one set has.
    """
    notes = Notes(quiet=common.quiet)
    with opening.open_store(common.store, Settings.read(), notes, create=False) as store:
        sets = [row.name for row in store.sets()]
        holders = upkeep.sets_with(store, name) if evalset_name is None else [evalset_name]
        if evalset_name is None and name in sets:
            if holders:
                msg = f"{name!r} is an eval set, and a system of {', '.join(holders)}: for the system give -t SET"
                raise InputError(msg)
            upkeep.remove(store, name)
            notes.say(f"eval set {name}: removed, with its systems")
            return 0
        if not holders:
            msg = f"no eval set and no system is called {name!r}: see `clipstore ls sets` and `clipstore ls systems`"
            raise NotStored(msg)
        if len(holders) > 1:
            msg = f"system {name!r} is in several eval sets ({', '.join(holders)}): give -t SET"
            raise InputError(msg)
        upkeep.remove(store, holders[0], name)
    notes.say(f"system {name} of {holders[0]}: removed")
    return 0
