"""``clipstore demo``: draw scenes, index them, score three systems, and score them again from the store."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clipstore.demo.make import make
from clipstore.errors import InputError
from clipstore_cli import options
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes

if TYPE_CHECKING:
    from clipstore.demo.make import Files

Folder = Annotated[Path, typer.Argument(help="Where the demo's files go.", metavar="[DIR]")]


@grouped
def demo(common: options.Common, folder: Folder = Path("clipstore-demo")) -> int:
    """Draw scenes, score three made-up systems on them, and score them again from the store.

    Needs no download: it uses the small model that ships (tiny: not for reporting).
    """
    notes = Notes(quiet=common.quiet)
    if folder.exists() and any(folder.iterdir()) and not (folder / "references.json").exists():
        msg = f"{folder} holds other files: give the demo an empty folder"
        raise InputError(msg)
    files = make(folder)
    count = len(list(files.images.iterdir()))
    notes.say(f"{folder}: drew {count} scenes with references, and captions of three made-up systems")
    for title in ("The first time, images and texts are encoded:", "The second time, all is in the store:"):
        notes.say("")
        notes.say(title)
        code = _score(files, common.store or folder / ".clipstore", notes)
        if code:
            return code
    return 0


def _score(files: Files, store: Path, notes: Notes) -> int:
    from clipstore_cli.main import call  # which registers this command

    captions = [f"{name}={path}" for name, path in files.systems.items()]
    words = ["score", *captions, "--images", str(files.images), "--refs", str(files.references)]
    words += ["--model", "tiny", "--store", str(store)]
    notes.say("$ " + shlex.join(["clipstore", *words]))
    return call([*words, *(["-q"] if notes.quiet else [])])
