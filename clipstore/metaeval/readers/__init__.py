"""Benchmarks: from the files as published to one of the two protocols, with every exclusion counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clipstore.errors import InputError
from clipstore.metaeval.readers import composite, flickr8k, foil, own, pascal50s, polaris, thumb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from clipstore.metaeval.protocols import Pairs, Ratings

BENCHMARKS: Final[Mapping[str, Callable[[Path], Ratings | Pairs]]] = {
    "flickr8k-expert": flickr8k.expert,
    "flickr8k-cf": flickr8k.crowd,
    "composite": composite.read,
    "pascal50s": pascal50s.read,
    "pascal50s-11": pascal50s.read_11,
    "abstract50s": pascal50s.abstract,
    "foil": foil.read,
    "thumb": thumb.read,
    "polaris": polaris.polaris,
    "nebula": polaris.nebula,
    "ratings": own.ratings,
    "pairs": own.pairs,
}
"""Name -> what reads it from a folder (``ratings`` and ``pairs``: from a file of your own)."""


def read(name: str, path: Path) -> Ratings | Pairs:
    """Read a benchmark.

    Parameters
    ----------
    name
        One of :data:`BENCHMARKS`.
    path
        The folder of its files, or for ``ratings`` and ``pairs`` your own file.

    Raises
    ------
    InputError
        When no benchmark is called so, or a file is missing.
    BadFormat
        When a file is not what it should be.
    """
    if name not in BENCHMARKS:
        msg = f"no benchmark is called {name!r}; there is: {', '.join(BENCHMARKS)}"
        raise InputError(msg)
    return BENCHMARKS[name](path)
