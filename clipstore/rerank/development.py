"""The development images that a weight is tuned on: their candidates, references and target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import InputError
from clipstore.evalset import EvalSet
from clipstore.rerank.candidates import gathered
from clipstore.rerank.embedding import embedded, place
from clipstore.rerank.targets import values_of
from clipstore.rerank.tuning import require, tuned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore import formats
    from clipstore.formats import Captions, Hints
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.embedding import Switches
    from clipstore.rerank.ragged import Numbers
    from clipstore.rerank.tuning import Tuned
    from clipstore.store import Space


@final
@dataclass(frozen=True, slots=True)
class Development:
    """Development candidates and the set that they belong to."""

    candidates: Candidates
    evalset: EvalSet

    @classmethod
    def read(
        cls,
        given: Sequence[Captions],
        refs: formats.Source | EvalSet | None,
        evalset: EvalSet,
        hints: Hints,
        chosen_from: Candidates,
    ) -> Development:
        """Meet development candidates with their images and references.

        Parameters
        ----------
        given
            The development n-best file or files.
        refs
            Its references or its own eval set; None: the images and references of ``evalset``.
        evalset
            The set that is to be reranked; its images, or their folder, serve here too.
        hints
            Overrides for formats and ids.
        chosen_from
            What is to be reranked: its log-probabilities must be of the same kind.

        Raises
        ------
        InputError
            When the two files' log-probabilities are of different kinds, or ids do not meet images.
        """
        if refs is None or isinstance(refs, EvalSet):
            own = refs or evalset
        else:
            images = evalset.folder.path if evalset.folder is not None else None
            own = EvalSet.read(images=images, refs=refs, hints=hints, missing="skip")
            own = own if own.has_images else _with_images_of(evalset, own, hints)
        own = own.covering(given, hints, "skip")
        candidates = gathered(given, own, hints, "skip")
        candidates.require_logps("mix")
        if set(candidates.kinds) != set(chosen_from.kinds):
            kinds = [", ".join(sorted(one.kinds)) or "none" for one in (candidates, chosen_from)]
            msg = (
                f"{candidates.source}: its log-probabilities are {kinds[0]}, those of {chosen_from.source} {kinds[1]}: "
                "a weight tuned on one does not fit the other"
            )
            raise InputError(msg)
        written, _ = candidates.where(candidates.written)
        return cls(written, own)


def _with_images_of(evalset: EvalSet, references: EvalSet, hints: Hints) -> EvalSet:
    """Give references the images that another set, such as a saved one, has under their ids; drop those without."""
    if not evalset.has_images:
        return references
    met = evalset.rows_of(references.keys, "the development references", hints, missing="skip")
    known = {item.key: item for item in evalset.items}
    pairs = [(item, known[key]) for item, key in zip(references.items, met.keys, strict=True) if key is not None]
    items = tuple(replace(item, image=own.image, image_id=own.image_id) for item, own in pairs)
    return replace(references, items=items, paths=())


def tune(
    development: Development,
    space: Space | None,
    switches: Switches,
    target: str,
    report_space: Space | None,
    *,
    allow_circular: bool = False,
) -> Tuned:
    """Choose the weight of ``mix`` on development images.

    Raises
    ------
    InputError
        When the target shares the selector's model and ``allow_circular`` is False, or there is no model.
    NoReferences
        When the target needs references and there are none.
    """
    if space is None:
        msg = "--by mix needs a model: name one with --model"
        raise InputError(msg)
    judge = report_space or space
    if target == "clip-s" and judge.fingerprint.digest == space.fingerprint.digest and not allow_circular:
        msg = (
            f"the target clip-s is the selector's own model ({space.shown}): any weight below 1 lowers it, "
            "so nothing is learnt. Tune on cider, name another --report-model, or pass --allow-circular"
        )
        raise InputError(msg)
    candidates = development.candidates
    if not development.evalset.has_images:
        msg = f"{candidates.source}: tuning the weight of CLIP-S needs images: give --images or --tune-images"
        raise InputError(msg)
    values = None if target == "clip-s" else values_of(target, candidates, development.evalset)
    targets = np.zeros(len(candidates)) if values is None else values[candidates.lists.starts]
    require(int((~np.isnan(targets)).sum()), target, candidates.source)
    clip, seen = _clip_s(space, development, switches)
    if values is None:
        values, also = _clip_s(judge, development, switches)
        seen &= also
    values[~seen[candidates.lists.owners]] = np.nan
    return tuned(
        clip,
        candidates.logps,
        values,
        candidates.lists,
        candidates.numbers,
        candidates.keys,
        name=target,
        source=candidates.source,
    )


def _clip_s(space: Space, development: Development, switches: Switches) -> tuple[Numbers, np.ndarray]:
    """Return CLIP-S of each development candidate, and which images could be read (0 elsewhere)."""
    candidates = development.candidates
    found = place([space], development.evalset, candidates, switches)
    ids, seen = found.image_ids, ~found.failed
    shown, kept = candidates.where(seen[candidates.lists.owners])
    placed = embedded(space, shown, None if ids is None else ids[kept], switches)
    out = np.zeros(candidates.lists.total)
    out[seen[candidates.lists.owners]] = placed.clip_s
    return out, seen
