"""What a weight is tuned on, or a gain judged by: a number for each candidate, from references."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.errors import InputError, NoReferences
from clipstore.metrics.names import SHOWN, TEXT, canonical_name
from clipstore.metrics.text import score_texts
from clipstore.rerank.cider import cider

if TYPE_CHECKING:
    from clipstore.evalset import EvalSet
    from clipstore.items import ItemKey
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.ragged import Numbers

TARGETS: Final = (
    "cider",
    "clip-s",
    *(name for name in TEXT if name != "cider"),
)
"""Targets: CIDEr and other text metrics against the references, or the CLIP-S of a model (circular where it
is the selector's). CIDEr counts words of our own; the others need Java and pycocoevalcap."""


def checked(target: str) -> str:
    """Return the target of this name, pycocoevalcap's spelling too.

    Raises
    ------
    InputError
        When there is none; the message lists those that exist.
    """
    with contextlib.suppress(InputError):
        if (known := canonical_name(target)) in TARGETS:
            return known
    msg = f"no target is called {target!r}; there is: {', '.join(TARGETS)}"
    raise InputError(msg)


def values_of(target: str, candidates: Candidates, evalset: EvalSet) -> Numbers:
    """Return the text metric of each candidate against its image's references; NaN where there are none.

    Raises
    ------
    NoReferences
        When no image has references.
    InputError
        When Java or pycocoevalcap is missing.
    """
    if target == "cider":
        return cider_of(candidates, evalset)
    _require_references(target, candidates, evalset)
    items, places = candidates.items[candidates.lists.owners].tolist(), candidates.lists.places.tolist()
    keys = evalset.keys
    systems: dict[str, dict[ItemKey, str | None]] = {}  # the first candidates, the second ones, ...
    for row, place, text in zip(items, places, candidates.texts, strict=True):
        systems.setdefault(str(place), {})[keys[row]] = text
    made = score_texts({item.key: item.references for item in evalset.items}, systems, [target])
    if made.problems:
        raise InputError(made.problems[target])
    return np.array(
        [made.systems[str(place)][target].per_item[row] for row, place in zip(items, places, strict=True)], np.float64
    )


def cider_of(candidates: Candidates, evalset: EvalSet) -> Numbers:
    """Return the CIDEr of each candidate against its image's references; NaN where there are none.

    Document frequencies come from the references of the whole set, as in the official code, so a
    candidate's number does not depend on the other candidates.

    Raises
    ------
    NoReferences
        When no image has references.
    """
    _require_references("cider", candidates, evalset)
    references = [item.references for item in evalset.items]
    rows = candidates.items[candidates.lists.owners].tolist()
    return cider(candidates.texts, rows, references)


def _require_references(metric: str, candidates: Candidates, evalset: EvalSet) -> None:
    if not any(evalset.items[row].references for row in candidates.items.tolist()):
        msg = f"{candidates.source}: {SHOWN[metric]} needs references: give them with --refs (or --tune-refs)"
        raise NoReferences(msg)
