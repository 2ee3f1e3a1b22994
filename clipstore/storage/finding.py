"""A finding: one thing that is not as it was committed, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Parameters
    ----------
    kind
        What is wrong, in a word or three.
    where
        The file, relative to the store, or the catalogue.
    detail
        What exactly.
    remedy
        What to do.
    severity
        ``note``: nothing is lost and nothing need be done; ``damage`` otherwise.
    segment
        Name of the segment that it is about, if it is about one.
    """

    kind: str
    where: str
    detail: str
    remedy: str
    severity: Literal["note", "damage"]
    segment: str | None = None

    def __str__(self) -> str:
        """Return the finding on one line."""
        return f"{self.where}: {self.kind}: {self.detail}: {self.remedy}"
