"""``clipstore``: the commands, and how their errors become exit codes."""

from __future__ import annotations

import signal
import sys
from importlib import metadata
from typing import Annotated

import typer

from clipstore_cli.commands import SETTINGS, Lazy
from clipstore_cli.notes import Notes

INTERRUPTED = 130

app = typer.Typer(
    name="clipstore",
    cls=Lazy,
    help="CLIPScore from a store: encode each image and caption once, then score from it.",
    no_args_is_help=True,
    context_settings=SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"clipstore {metadata.version('clipstore')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """CLIPScore from a store: encode each image and caption once, then score from it."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code: 0 done, 1 partial or a check failed, 2 nothing done, 130 interrupted."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: list[str]) -> int:
    """Run the command on these arguments and return its exit code."""
    verbose = "-v" in arguments or "--verbose" in arguments
    try:
        code = app(arguments or ["--help"], standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except typer.Exit as error:
        code = error.exit_code
    except Exception as error:
        if verbose and not isinstance(error, typer.TyperException):
            raise
        message, exit_code = _explained(error)
        Notes().error(message)
        return exit_code
    if code == INTERRUPTED:
        Notes().error("interrupted; what was committed is kept, run the same command to go on")
    return code if isinstance(code, int) else 0


def _explained(error: Exception) -> tuple[str, int]:
    """Return the message and the exit code of an error."""
    from clipstore.errors import ClipstoreError  # the library is loaded by commands, not by --help

    if isinstance(error, ClipstoreError):
        return str(error), error.exit_code
    if isinstance(error, typer.TyperException):
        said = error.format_message().replace(": Value error, ", ": ")  # typer's validator speaks to programmers
        return f"{said} (clipstore --help and clipstore COMMAND --help show the usage)", 2
    return f"internal error: {type(error).__name__}: {error}; run again with -v and report it", 2
