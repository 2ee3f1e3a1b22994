"""One format: its name, its title, and the two functions that know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable

    from clipstore.formats.source import Content, Kind
    from clipstore.formats.values import Hints, Table


@final
@dataclass(frozen=True, slots=True)
class Format:
    """What the registry knows of a format.

    Parameters
    ----------
    name
        For ``--input-format``, such as ``coco-results``.
    title
        In words, for messages.
    kinds
        The kinds of content that it can be.
    recognise
        ``recognise(content, hints)``: whether this content is of the format; cheap, and never raises.
    read
        ``read(content, hints)``: the content as a table.
    as_references
        The title when read as references, where that differs.
    columns
        Whether it hears which columns the user names.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    recognise: Callable[[Content, Hints], bool]
    read: Callable[[Content, Hints], Table]
    as_references: str | None = None
    columns: bool = False

    def shown(self, *, references: bool) -> str:
        """Return the title for a role."""
        return self.as_references if references and self.as_references else self.title
