"""Who says what choosing bought: CLIP-S of a space, or CIDEr where no image is at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import NoReferences
from clipstore.rerank.embedding import embedded
from clipstore.rerank.gain import measured
from clipstore.rerank.signatures import digest_of
from clipstore.rerank.targets import cider_of

if TYPE_CHECKING:
    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
    from clipstore.metrics.score import Signature
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.cascade import Chosen
    from clipstore.rerank.embedding import Switches
    from clipstore.rerank.gain import Gain
    from clipstore.rerank.ragged import Numbers
    from clipstore.rerank.selecting import Embedded
    from clipstore.store import Space

CIRCULAR = "selector and judge are the same model: name another judge with --report-model"


@final
@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges.

    Parameters
    ----------
    space
        Whose CLIP-S; None: CIDEr.
    switches
        Recipe, and whether to encode.
    """

    space: Space | None
    switches: Switches


def judged(
    judge: Judge,
    signature: Signature,
    candidates: Candidates,
    evalset: EvalSet,
    image_ids: Ids | None,
    full: Chosen,
    vectors: Embedded | None,
    *,
    ordered: bool,
) -> Gain | None:
    """Return what the choice bought; None where there are neither images nor references to judge by.

    Parameters
    ----------
    judge
        Who judges.
    signature
        Of the choice; it names the models that had a say.
    candidates, evalset, image_ids
        What was chosen from; the image ids, or None without images.
    full
        The selector's order.
    vectors
        The selector's vectors of the non-empty candidates, if it looked at any.
    ordered
        Beams or samples.
    """
    upper = False
    if judge.space is None or image_ids is None:
        found = _cider(candidates, evalset)
        if found is None:
            return None
        values, name = found, "CIDEr|tokens:own"
    else:
        upper = digest_of(judge.space) in dict(signature.fields).get("fingerprint", "").split("+")
        values = _clip_s(judge.space, candidates, image_ids, vectors, judge.switches)
        name = f"CLIP-S|model:{judge.space.shown}"
    return measured(
        values,
        full.standing,
        candidates.lists,
        candidates.keys,
        candidates.texts,
        ordered=ordered,
        judge=name,
        upper_bound=upper,
        note=CIRCULAR if upper else "",
    )


def _clip_s(
    space: Space, candidates: Candidates, image_ids: Ids, vectors: Embedded | None, switches: Switches
) -> Numbers:
    """Return CLIP-S of every candidate, 0 for an empty one."""
    written, kept = candidates.where(candidates.written)
    if vectors is None or vectors.space is not space:
        vectors, _, _ = embedded(space, written, image_ids[kept], switches)
    out = np.zeros(len(candidates.texts))
    out[candidates.written] = vectors.clip_s
    return out


def _cider(candidates: Candidates, evalset: EvalSet) -> Numbers | None:
    try:
        return cider_of(candidates, evalset)
    except NoReferences:
        return None
