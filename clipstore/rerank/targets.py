"""What a weight is tuned on, or a gain judged by: a number for each candidate, from references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from clipstore.errors import InputError, NoReferences
from clipstore.rerank.cider import cider

if TYPE_CHECKING:
    from clipstore.evalset import EvalSet
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.ragged import Numbers

Target = Literal["cider", "clip-s"]
"""Targets: CIDEr against the references, or the CLIP-S of a model (circular where it is the selector's)."""

TARGETS: Final[tuple[Target, ...]] = get_args(Target)


def checked(target: str) -> Target:
    """Return the target of this name, pycocoevalcap's spelling too.

    Raises
    ------
    InputError
        When there is none; the message lists those that exist.
    """
    for known in TARGETS:
        if known == target.lower().replace("_", "-"):
            return known
    msg = f"no target is called {target!r}; there is: {', '.join(TARGETS)}"
    raise InputError(msg)


def cider_of(candidates: Candidates, evalset: EvalSet) -> Numbers:
    """Return the CIDEr of each candidate against its image's references; NaN where there are none.

    Document frequencies come from the references of the whole set, as in the official code, so a
    candidate's number does not depend on the other candidates.

    Raises
    ------
    NoReferences
        When no image has references.
    """
    references = [item.references for item in evalset.items]
    if not any(references[row] for row in candidates.items.tolist()):
        msg = f"{candidates.source}: CIDEr needs references: give them with --refs (or --tune-refs)"
        raise NoReferences(msg)
    rows = candidates.items[candidates.lists.owners].tolist()
    return cider(candidates.texts, rows, references)
