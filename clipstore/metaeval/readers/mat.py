"""Consensus data as Vedantam et al. published it: pairs, and 48 triplets a pair that are votes and references.

``pair_*.mat`` has ``new_input`` (image, A, B) and ``category``; ``consensus_*.mat`` has ``triplets``
(reference, A, B, choice), the votes of a pair one after another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from clipstore.errors import BadFormat
from clipstore.metaeval.readers.files import joined, load_mat

if TYPE_CHECKING:
    from pathlib import Path

VOTES: Final = 48


def text(value: Any) -> str:
    """Return the text inside the nested arrays of a MATLAB cell."""
    while not isinstance(value, str):
        value = value[0] if len(value) else ""
    return joined(value)


def _number(value: Any) -> int:
    while getattr(value, "shape", ()):
        value = value[0] if len(value) else 0
    return int(value)


def _cells(row: Any) -> list[Any]:
    """Return the parts of a row, which is a MATLAB structure or a cell array."""
    return list(row) if row.dtype.names else list(row.ravel())


def consensus(pairs: Path, votes: Path) -> list[tuple[str, str, str, int, int, tuple[str, ...]]]:
    """Return (image, A, B, label, category number, references) of each pair.

    The label is the majority of the votes: 0 for A, 1 for B, -1 for a tie.

    Parameters
    ----------
    pairs
        ``pair_*.mat``.
    votes
        ``consensus_*.mat``.

    Raises
    ------
    BadFormat
        When a variable is missing, or there are not 48 triplets a pair.
    """
    given, asked = load_mat(pairs), load_mat(votes)
    missing = [name for name in ("new_input", "category") if name not in given]
    missing += [name for name in ("triplets",) if name not in asked]
    if missing:
        msg = f"{pairs.name}, {votes.name}: no variable {missing[0]!r}"
        raise BadFormat(msg)
    inputs, categories, triplets = given["new_input"].ravel(), given["category"].ravel(), asked["triplets"].ravel()
    if len(triplets) != VOTES * len(inputs):
        msg = f"{votes.name}: {len(triplets):,} triplets for {len(inputs):,} pairs, not {VOTES} each"
        raise BadFormat(msg)
    if len(categories) != len(inputs):
        msg = f"{pairs.name}: {len(categories):,} categories for {len(inputs):,} pairs"
        raise BadFormat(msg)
    try:
        return _pairs(inputs, categories, triplets)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        msg = f"{pairs.name}, {votes.name}: not pairs of image, A, B and triplets of reference, A, B, choice: {error!r}"
        raise BadFormat(msg) from error


def _pairs(inputs: Any, categories: Any, triplets: Any) -> list[tuple[str, str, str, int, int, tuple[str, ...]]]:
    out = []
    for at, cells in enumerate(inputs):
        image, first, second = (text(cell) for cell in _cells(cells)[:3])
        own = [_cells(one) for one in triplets[at * VOTES : (at + 1) * VOTES]]
        balance = sum(_choice(one, first, second) for one in own)
        label = 0 if balance > 0 else 1 if balance < 0 else -1
        references = tuple(text(one[0]) for one in own)
        out.append((image, first, second, label, int(categories[at]), references))
    return out


def _choice(triplet: list[Any], first: str, second: str) -> int:
    """Return 1 for a vote for A, -1 for one for B: ``choice`` 1 stands for the triplet's own first caption."""
    chosen = text(triplet[1]) if _number(triplet[3]) == 1 else text(triplet[2])
    return 1 if chosen == first else -1 if chosen == second else 0
