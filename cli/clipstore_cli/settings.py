"""Where an option's value comes from: flag, environment, clipstore.toml, pyproject.toml, default."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from clipstore.errors import InputError

NAMES: Final = ("images", "refs", "model", "store", "id_key", "split")
"""What a project's file may set."""

_PATHS: Final = ("images", "refs", "store")


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from."""

    value: str | None
    origin: str


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment and a project's files say, before any flag."""

    found: dict[str, Setting]

    @classmethod
    def read(cls, start: Path | None = None) -> Settings:
        """Read ``CLIPSTORE_*``, then ``clipstore.toml`` or ``[tool.clipstore]`` in this folder or a parent.

        Raises
        ------
        InputError
            When a file is not valid TOML or holds an unknown name or a value that is no text.
        """
        here = (start or Path.cwd()).resolve()
        found: dict[str, Setting] = {}
        for name in NAMES:
            variable = f"CLIPSTORE_{name.upper()}"
            if os.environ.get(variable):
                found[name] = Setting(os.environ[variable], variable)
        for file, table in (("clipstore.toml", ()), ("pyproject.toml", ("tool", "clipstore"))):
            for folder in (here, *here.parents):
                values = _table(folder / file, table)
                if values is None:
                    continue
                for name, value in _checked(folder / file, values).items():
                    shown = str(folder / value) if name in _PATHS else value
                    found.setdefault(name, Setting(shown, file))
                break
        return cls(found)

    def value(self, name: str, flag: str | None) -> str | None:
        """Return the flag if it was given, else what was found, else None."""
        return self.setting(name, flag).value

    def setting(self, name: str, flag: str | None, default: str | None = None) -> Setting:
        """Return the value in force and where it came from."""
        if flag is not None:
            return Setting(flag, "flag")
        return self.found.get(name, Setting(default, "default"))


def _table(path: Path, names: tuple[str, ...]) -> dict[str, object] | None:
    """Return a table of a TOML file, None where the file or the table is absent."""
    try:
        values: object = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path.name}: is not valid TOML: {error}"
        raise InputError(msg) from error
    for name in names:
        values = values.get(name) if isinstance(values, dict) else None
    return values if isinstance(values, dict) else None


def _checked(path: Path, values: dict[str, object]) -> dict[str, str]:
    unknown = sorted(set(values) - set(NAMES))
    if unknown:
        msg = f"{path.name}: clipstore knows no setting {unknown[0]!r}; it knows {', '.join(NAMES)}"
        raise InputError(msg)
    wrong = [name for name, value in values.items() if not isinstance(value, str)]
    if wrong:
        msg = f"{path.name}: {wrong[0]} must be text in quotes"
        raise InputError(msg)
    return {name: str(value) for name, value in values.items()}
