from __future__ import annotations

import json
import subprocess
import sys
import types

import clipstore

HEAVY = ("torch", "open_clip", "alembic", "typer", "faiss", "rich", "pyarrow")
PROBE = """
import importlib, json, sys
for name in {modules!r}:
    importlib.import_module(name)
print(json.dumps([name for name in {heavy!r} if name in sys.modules]))
"""


def loaded_by(*modules: str) -> list[str]:
    """Return which of the heavy libraries a fresh interpreter has after importing ``modules``."""
    code = PROBE.format(modules=modules, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def public() -> set[str]:
    """Return the names that a user finds in the package: no underscore, no submodule that merely got imported."""
    names = {name for name in vars(clipstore) if not name.startswith("_")}
    submodules = {
        name
        for name in names
        if isinstance(getattr(clipstore, name), types.ModuleType) and name not in clipstore.__all__
    }
    return names - submodules


def test_all_names_what_is_public_and_nothing_else() -> None:
    """A name becomes public only on purpose: ``__all__`` equals what is really there."""
    assert sorted(clipstore.__all__) == sorted(public())
    assert len(set(clipstore.__all__)) == len(clipstore.__all__)


def test_the_door_is_narrow() -> None:
    """There are fewer than 25 public names."""
    assert len(clipstore.__all__) < 25


def test_every_public_name_is_documented() -> None:
    """Each public name has a docstring of its own, and so have the public methods of the classes."""
    for name in clipstore.__all__:
        value = getattr(clipstore, name)
        assert value.__doc__, name
        for attribute, member in vars(value).items() if isinstance(value, type) else ():
            if not attribute.startswith("_") and isinstance(member, (types.FunctionType, classmethod, property)):
                assert member.__doc__, f"{name}.{attribute}"


def test_importing_clipstore_is_light() -> None:
    """``import clipstore`` loads neither torch, open_clip, alembic nor typer, nor faiss, rich or pyarrow."""
    assert loaded_by("clipstore") == []


def test_the_probe_for_heavy_imports_can_fail() -> None:
    """The probe reports a heavy library that was imported: the command brings typer along."""
    assert "typer" in loaded_by("clipstore_cli.main")
