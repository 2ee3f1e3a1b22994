"""``store.toml``: what a store must know before its catalogue is open. Which catalogue, which bases, whether it is one.

==============  ===========================================================================
key             meaning
==============  ===========================================================================
``catalogue``   URL of a PostgreSQL catalogue, without password
``bases``       folders of read-only base stores, relative to this one's; read first
``base``        true: other stores rest on this one, and ``gc`` leaves it alone
==============  ===========================================================================
"""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

from clipstore.errors import BadFormat
from clipstore.storage import durable
from clipstore.storage.location import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def read(folder: Path) -> dict[str, Any]:
    """Return the settings of the store at ``folder``; empty where it has no such file.

    Raises
    ------
    BadFormat
        When the file is no TOML.
    """
    path = folder / SETTINGS
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"{path}: can't be read as TOML ({error}): mend or remove it"
        raise BadFormat(msg) from error


def write(folder: Path, settings: Mapping[str, object]) -> None:
    """Write the settings whole, in place of what was there.

    Raises
    ------
    CannotWrite
        When the folder can't be written.
    BadFormat
        When a value is no text, number, yes or no, or list of these: such a file is edited by hand.
    """
    lines = [f"{name} = {_spelled(folder, name, value)}\n" for name, value in settings.items()]
    durable.write(folder, ["".join(lines).encode()], lambda _digest: SETTINGS)


def _spelled(folder: Path, name: str, value: object) -> str:
    if isinstance(value, (str, bool, int, float)) or (
        isinstance(value, list) and all(isinstance(one, (str, int)) for one in value)
    ):
        return json.dumps(value)  # of these, JSON is TOML
    msg = f"{folder / SETTINGS}: {name} can't be written by a command: edit the file by hand"
    raise BadFormat(msg)


def bases(folder: Path) -> list[Path]:
    """Return the folders of the base stores that a store names, in order.

    Raises
    ------
    BadFormat
        When ``bases`` is no list of paths.
    """
    named = read(folder).get("bases", [])
    if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
        msg = f'{folder / SETTINGS}: bases is no list of folders: write bases = ["../team/.clipstore"]'
        raise BadFormat(msg)
    return [(folder / one).resolve() for one in named]


def is_base(folder: Path) -> bool:
    """Say whether other stores rest on this one."""
    return read(folder).get("base") is True
