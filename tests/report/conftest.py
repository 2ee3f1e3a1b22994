"""The report that these tests look at."""

from reported import report

__all__ = ["report"]
