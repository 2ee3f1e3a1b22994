"""Settings of the store, and the environments (versions, device) that its segments were made in."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from clipstore import keys
from clipstore.storage.catalogue.statements import Tx, first, next_id, rows, run

if TYPE_CHECKING:
    from collections.abc import Mapping


def get(tx: Tx, name: str) -> str | None:
    """Return a setting, or None."""
    found = first(tx, "SELECT value FROM settings WHERE name = ?", name)
    return None if found is None else str(found[0])


def set(tx: Tx, name: str, value: str) -> None:  # noqa: A001  read as settings.set
    """Set a setting."""
    statement = "INSERT INTO settings (name, value) VALUES (?, ?)"
    run(tx, f"{statement} ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)


def all(tx: Tx) -> dict[str, str]:  # noqa: A001  read as settings.all
    """Return all settings by name."""
    return dict(rows(tx, "SELECT name, value FROM settings ORDER BY name"))


def environment(tx: Tx, fields: Mapping[str, str]) -> int:
    """Return the number of an environment; equal fields give the same number."""
    digest = keys.digest_json(dict(fields))
    found = first(tx, "SELECT id FROM environments WHERE digest = ?", digest)
    if found is not None:
        return int(found[0])
    new = next_id(tx, "environments")
    values = (new, digest, json.dumps(dict(fields), sort_keys=True), time.time())
    run(tx, "INSERT INTO environments (id, digest, fields, created) VALUES (?, ?, ?, ?)", *values)
    return new


def environments(tx: Tx) -> dict[int, dict[str, str]]:
    """Return all environments by number."""
    return {number: json.loads(text) for number, text in rows(tx, "SELECT id, fields FROM environments ORDER BY id")}
