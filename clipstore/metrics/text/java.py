"""The Java programs of pycocoevalcap: where they are, and one run of one of them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from clipstore.errors import EncoderError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXTRA = "clipstore[text]"

NO_JAVA = "text metrics need Java, and no `java` is on the path: install a Java runtime, version 8 or newer"


class JavaFault(EncoderError):
    """Java is missing, or one of its programs failed: its metric can't be had, others can."""


def package() -> Path:
    """Return the folder of pycocoevalcap.

    Raises
    ------
    InputError
        When it is not installed; the message names the extra.
    """
    found = importlib.util.find_spec("pycocoevalcap")
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        msg = f"text metrics need pycocoevalcap: install it with `pip install '{EXTRA}'`"
        raise InputError(msg)
    return Path(places[0])


def run(arguments: Sequence[str], folder: Path, lines: Sequence[str]) -> list[str]:
    """Return the lines that a Java program makes of these lines; it starts in ``folder`` and prints nothing here.

    Parameters
    ----------
    arguments
        What follows ``java``.
    folder
        Where its jars lie.
    lines
        Its input, without line ends inside.

    Raises
    ------
    JavaFault
        When there is no Java or the program fails.
    """
    java = shutil.which("java")
    if java is None:
        raise JavaFault(NO_JAVA)
    command = [java, "-Dfile.encoding=UTF-8", "-XX:+UseSerialGC", *arguments]  # few threads: other work runs beside it
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments, the user's text goes to its input
            command, cwd=folder, input="".join(f"{line}\n" for line in lines).encode(), capture_output=True, check=True
        )
    except OSError as error:
        msg = f"can't start {java}: {error.strerror or error}"
        raise JavaFault(msg) from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        msg = f"{arguments[-1]} failed in Java: {said[0] if said else f'exit code {error.returncode}'}"
        raise JavaFault(msg) from error
    return done.stdout.decode(errors="replace").splitlines()
