"""Who says what choosing bought: CLIP-S of a space, or CIDEr where no image is at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import NoReferences
from clipstore.rerank import signatures
from clipstore.rerank.embedding import embedded
from clipstore.rerank.gain import measured
from clipstore.rerank.targets import cider_of

if TYPE_CHECKING:
    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
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
    selectors: frozenset[str],
    candidates: Candidates,
    evalset: EvalSet,
    set_digest: str,
    image_ids: Ids | None,
    full: Chosen,
    vectors: Embedded | None,
    *,
    ordered: bool,
    curve_note: str = "",
) -> Gain | None:
    """Return what the choice bought; None where there are neither images nor references to judge by.

    Parameters
    ----------
    judge
        Who judges.
    selectors
        Fingerprints of the models that ordered the candidates.
    candidates, evalset, set_digest, image_ids
        What was chosen from; the image ids, or None without images.
    full
        The selector's order.
    vectors
        The selector's vectors of the non-empty candidates, if it looked at any.
    ordered
        Beams or samples.
    curve_note
        What to say beside the curve.
    """
    space = None if image_ids is None else judge.space
    if space is None or image_ids is None:
        found = _cider(candidates, evalset)
        if found is None:
            return None
        values = found
    else:
        values = _clip_s(space, candidates, image_ids, vectors, judge.switches)
    upper = space is not None and space.fingerprint.digest in selectors
    return measured(
        values,
        full.standing,
        candidates.lists,
        candidates.keys,
        candidates.texts,
        ordered=ordered,
        judge=str(signatures.judge(space, candidates, evalset, set_digest, judge.switches)),
        upper_bound=upper,
        note=CIRCULAR if upper else "",
        curve_note=curve_note,
    )


def _clip_s(
    space: Space, candidates: Candidates, image_ids: Ids, vectors: Embedded | None, switches: Switches
) -> Numbers:
    """Return CLIP-S of every candidate, 0 for an empty one."""
    written, kept = candidates.where(candidates.written)
    if vectors is None or vectors.space is not space:
        vectors = embedded(space, written, image_ids[kept], switches)
    out = np.zeros(len(candidates.texts))
    out[candidates.written] = vectors.clip_s
    return out


def _cider(candidates: Candidates, evalset: EvalSet) -> Numbers | None:
    try:
        return cider_of(candidates, evalset)
    except NoReferences:
        return None
