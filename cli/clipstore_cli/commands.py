"""The commands by name, loaded when they are asked for: ``clipstore --help`` imports none of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, final

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS: Final = {"help_option_names": ["-h", "--help"]}


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives, and the sentence that the list of commands shows (tested against its own).

    Parameters
    ----------
    place
        ``module:function`` in ``clipstore_cli``; of a Typer app, ``module:app``.
    summary
        The first line of its help.
    """

    place: str
    summary: str


COMMANDS: Final = {
    "score": Entry("score:score", "Score systems: CLIP-S and, with references, RefCLIP-S."),
    "add": Entry("add:add", "Save an eval set and systems under their names, and encode what is new."),
    "compare": Entry(
        "compare:compare",
        "Compare systems: a leaderboard with intervals, paired tests corrected over all that is shown.",
    ),
    "rerank": Entry("rerank:rerank", "Choose one caption of several for each image, and say what that bought."),
    "search": Entry(
        "search:search", "Find the nearest captions of an image or a caption, or the nearest images of a text."
    ),
    "retrieve": Entry(
        "search:retrieve",
        "Give every image of a set its nearest caption of a pool: a retrieval baseline to score and compare.",
    ),
    "show": Entry(
        "show:show",
        "Show one image: references, every system's caption with scores and rank, what differs from the best.",
    ),
    "export": Entry(
        "export:export",
        "Write the candidates of saved systems, as they came in, to a file; with --scores their scores too.",
    ),
    "replay": Entry(
        "replay:replay", "Compute a saved comparison again from the store, and say whether it comes out the same."
    ),
    "ls": Entry("listing:ls", "List the store's eval sets, systems, models or images that failed."),
    "info": Entry("listing:info", "Show the store's size and the settings in force, each with where it came from."),
    "rm": Entry("rm:rm", "Remove a system or an eval set; vectors stay until `clipstore store gc`."),
    "report": Entry(
        "report:report",
        "Write a report: leaderboard, pairs, images with every caption, plots, suspects; it opens without a network.",
    ),
    "serve": Entry(
        "serve:serve", "Serve the pages of a saved eval set: leaderboard, pairs, images, search. Ctrl-C ends it."
    ),
    "metaeval": Entry("metaeval:metaeval", "Say how metrics agree with people, beside what papers print."),
    "models": Entry("models:app", "List the models that can be named, and fetch their weights."),
    "selftest": Entry(
        "selftest:selftest",
        "Check this machine and a model: text paths, batches, half precision, activation, pixels, golden values.",
    ),
    "demo": Entry(
        "demo:demo", "Draw scenes, score three made-up systems on them, and score them again from the store."
    ),
    "store": Entry("store_commands:app", "Look after a store: check, tidy, copy, merge."),
}
"""In the order of the help."""


class Lazy(TyperGroup):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return one command, None where there is none of that name."""
        del ctx
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


def load(name: str) -> Any:
    """Return the command of a name, as Typer's parser takes it."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    found: Callable[..., int] | typer.Typer = getattr(import_module(f"clipstore_cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command = typer.main.get_command(found)
    else:
        alone = typer.Typer(context_settings=SETTINGS, pretty_exceptions_enable=False, rich_markup_mode=None)
        alone.command(name)(found)
        command = typer.main.get_command(alone)
    command.name = name
    return command
