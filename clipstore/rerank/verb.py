"""``rerank``: from an n-best file to one caption an image, and what that bought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from clipstore import formats
from clipstore.errors import InputError
from clipstore.formats import Captions, Hints
from clipstore.metrics import recipes
from clipstore.rerank import cascade as cascades
from clipstore.rerank import signatures
from clipstore.rerank.candidates import gathered
from clipstore.rerank.cascade import Chosen, Stage
from clipstore.rerank.development import Development, tune
from clipstore.rerank.embedding import NO_IMAGE, Switches, embedded, place_images
from clipstore.rerank.guards import Guards, guard
from clipstore.rerank.judging import Judge, judged
from clipstore.rerank.keeping import kept_of
from clipstore.rerank.request import Request
from clipstore.rerank.results import Reranked, Texts
from clipstore.rerank.saving import record
from clipstore.rerank.selecting import METHODS, WEIGHT, Choice, Method, fusable, scores_of
from clipstore.rerank.targets import checked
from clipstore.store import Space
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Ids
    from clipstore.evalset import EvalSet
    from clipstore.evalset.evalset import MissingRule
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.ragged import Numbers
    from clipstore.rerank.selecting import Embedded
    from clipstore.rerank.tuning import Tuned
    from clipstore.store import Failure, Progress

Given = formats.Source | Captions | tuple[formats.Source | Captions, ...]
"""An n-best file, or a tuple of files whose captions are pooled."""


def rerank(
    space: Space | None,
    nbest: Given,
    evalset: EvalSet,
    *,
    by: str = "clip",
    clip_weight: float | None = None,
    tune_on: Given | None = None,
    tune_refs: formats.Source | EvalSet | None = None,
    target: str = "cider",
    allow_circular: bool = False,
    k: int = 1,
    mmr: float | None = None,
    cascade: Sequence[Stage] | None = None,
    fuse: Sequence[str] | None = None,
    report_space: Space | None = None,
    ordered: bool | None = None,
    recipe: str = "hessel2021",
    missing: MissingRule = "error",
    hints: Hints | None = None,
    encode: bool = True,
    progress: Progress = silent,
) -> Reranked:
    """Choose one caption of several for each image.

    What the store lacks is encoded first: new captions, and images that have no vector yet. Ties go to
    the lower rank; an empty caption is picked only where an image has no other.

    Parameters
    ----------
    space
        The selector's vectors; None for ``logp`` and ``vote``, and for ``rrf`` of these.
    nbest
        Candidates: a path, a mapping of id -> captions, rows, captions already read, or a tuple to pool.
    evalset
        The images that count; ``EvalSet.read()`` without arguments takes those of the candidates.
    by
        ``clip``, ``logp``, ``mix``, ``mbr``, ``consensus``, ``vote`` or ``rrf``.
    clip_weight
        The weight of CLIP-S in ``mix``; None: 0.5, or tuned where ``tune_on`` is given.
    tune_on, tune_refs
        A development n-best file and its references (or an eval set); None: those of ``evalset``.
    target
        What tuning raises: ``cider``, or ``clip-s`` of ``report_space``.
    allow_circular
        Tune on CLIP-S of the selector's own model all the same.
    k, mmr
        How many captions of each image to keep, the best first; with ``mmr`` (lambda) diverse ones.
    cascade
        Stages in place of ``by``: each keeps the best of what the one before kept.
    fuse
        The selectors that ``rrf`` joins; None: all that the input allows.
    report_space
        The judge's vectors; None: the selector's own, and the gain is an upper bound.
    ordered
        True: candidates are beams; False: samples; None: beams where log-probabilities fall with the rank.
    recipe, missing, hints, encode, progress
        As in :func:`clipstore.score`.

    Raises
    ------
    Unpaired, InputError
        When candidates and images do not fit together, or the method lacks what it needs.
    NotStored
        When something is missing and ``encode`` is False.
    """
    switches = Switches(recipes.recipe(recipe), encode, progress)
    request = Request(space, report_space, tuple(cascade or ()), _method(by), k, mmr, switches)
    request.check()
    if clip_weight is not None and (request.by != "mix" or request.stages):
        msg = "--clip-weight weighs CLIP-S in --by mix only: leave it out, or choose by mix"
        raise InputError(msg)
    hints = hints or Hints()
    read = read_all(nbest, hints)
    evalset = evalset.covering(read, hints, missing)
    candidates = gathered(read, evalset, hints, missing)
    tuned = None
    if tune_on is not None:
        request.refuse_given_weight(clip_weight)
        development = Development.read(read_all(tune_on, hints), tune_refs, evalset, hints, candidates)
        tuned = tune(development, space, request.switches, checked(target), report_space, allow_circular=allow_circular)
    weight = tuned.weight if tuned else WEIGHT if clip_weight is None else clip_weight
    choice = Choice(request.by, weight, None if fuse is None else tuple(map(_method, fuse)))
    found, image_ids = _chosen(request, choice, candidates, evalset, tuned, ordered=ordered)
    notes = _notes(request, choice, candidates, given=clip_weight is not None or tuned is not None)
    done = replace(found, warnings=(*found.warnings, *notes))
    keeper = next((one for one in (space, *(stage.scorer for stage in request.stages)) if isinstance(one, Space)), None)
    if keeper is not None:
        record(keeper.catalogue, done, image_ids)
    return done


def _method(name: str) -> Method:
    for known in METHODS:
        if known == name:
            return known
    msg = f"no method is called {name!r}; there is: {', '.join(METHODS)}"
    raise InputError(msg)


def read_all(given: Given, hints: Hints) -> list[Captions]:
    """Read one n-best file, or each file of a tuple."""
    several = given if isinstance(given, tuple) else (given,)
    return [one if isinstance(one, Captions) else formats.read_captions(one, hints) for one in several]


def _chosen(
    request: Request,
    choice: Choice,
    candidates: Candidates,
    evalset: EvalSet,
    tuned: Tuned | None,
    *,
    ordered: bool | None,
) -> tuple[Reranked, Ids | None]:
    written, kept = candidates.where(candidates.written)
    if choice.by == "rrf" and choice.fuse is None:
        choice = replace(choice, fuse=fusable(written, images=evalset.has_images, model=request.space is not None))
    placed = _placed(request, candidates, evalset)
    if placed.failed.any():
        candidates, kept_images = candidates.where(~placed.failed[candidates.lists.owners])
        placed = replace(placed, image_ids=None if placed.image_ids is None else placed.image_ids[kept_images])
        written, kept = candidates.where(candidates.written)
    found, vectors, encoded = _selected(request, choice, written, placed, kept)
    full = _spread(candidates, found, choice, cascade=bool(request.stages))
    chosen = kept_of(request, choice, candidates, full, vectors)
    beams = candidates.are_beams if ordered is None else ordered
    signature = signatures.selector(request.space, request.stages, choice, request.switches.recipe, tuned, request.mmr)
    judge = Judge(request.report_space or _own_judge(request), request.switches)
    gain = judged(judge, signature, candidates, evalset, placed.image_ids, full, vectors, ordered=beams)
    starts = candidates.lists.starts.tolist()
    guards = Guards(
        guard([candidates.texts[place] for place in chosen[:, 0].tolist()]),
        guard([candidates.texts[place] for place in starts]),
    )
    made = Reranked(
        candidates=candidates,
        chosen=chosen,
        scores=full.scores,
        signature=signature,
        gain=gain,
        guards=guards,
        tuned=tuned,
        work=Texts(placed.asked, placed.encoded, *encoded),
        origin=signatures.origin(request.space, request.stages, choice, candidates),
        failures=placed.failures,
        described=candidates.described,
        warnings=candidates.warnings,
    )
    return made, placed.image_ids


def _own_judge(request: Request) -> Space | None:
    """Return the selector's space as the judge; of a cascade the first that has vectors of all candidates."""
    if not request.stages:
        return request.space
    first = request.stages[0].scorer
    return first if isinstance(first, Space) else request.space


def _notes(request: Request, choice: Choice, candidates: Candidates, *, given: bool) -> list[str]:
    if request.stages:
        return []
    lines = []
    if choice.by == "mix" and not given and choice.weight == WEIGHT:
        lines.append(f"the weight of CLIP-S is {WEIGHT:g}, neither given (--clip-weight) nor tuned (--tune-on)")
    if choice.by in {"logp", "mix"} or "logp" in choice.parts:
        lines += candidates.scale_warnings()
    return lines


@final
@dataclass(frozen=True, slots=True)
class _Placed:
    """The images of the candidates: their ids where any are needed, and which could not be read."""

    image_ids: Ids | None
    failed: np.ndarray
    failures: tuple[Failure, ...] = ()
    asked: int = 0
    encoded: int = 0


def _placed(request: Request, candidates: Candidates, evalset: EvalSet) -> _Placed:
    """Find the images, in every space that looks at them; one that fails in any is left out."""
    none = _Placed(None, np.zeros(len(candidates), np.bool_))
    spaces = [*(stage.scorer for stage in request.stages), request.space, request.report_space]
    if not evalset.has_images:
        return none
    out = none
    for space in spaces:
        if not isinstance(space, Space):
            continue
        ids, work = place_images(space, evalset, candidates, request.switches)
        out = _Placed(
            ids,
            out.failed | (ids == NO_IMAGE),
            out.failures or work.images.failures,
            max(out.asked, work.images.asked),
            out.encoded + work.images.encoded,
        )
    return out


def _selected(
    request: Request, choice: Choice, written: Candidates, placed: _Placed, kept: Ids
) -> tuple[Chosen, Embedded | None, tuple[int, int]]:
    """Score the non-empty candidates; return also their vectors, and texts asked for and encoded."""
    ids = None if placed.image_ids is None else placed.image_ids[kept]
    if request.stages:
        if ids is None:
            msg = "a cascade needs images: give --images DIR, or a saved set with images (-t SET)"
            raise InputError(msg)
        found = cascades.run(request.stages, written, ids, [request.switches] * len(request.stages))
        return found, None, (len(set(written.texts)), found.encoded)
    vectors, asked, encoded = None, 0, 0
    if request.space is not None and (choice.needs_texts or request.mmr is not None):
        vectors, asked, encoded = embedded(request.space, written, ids, request.switches)
    scores = scores_of(choice, written, vectors)
    return Chosen(scores, scores), vectors, (asked, encoded)


def _spread(candidates: Candidates, found: Chosen, choice: Choice, *, cascade: bool) -> Chosen:
    """Lay scores out over all candidates: an empty one comes last, its CLIP-S is 0."""
    flags = candidates.written
    if flags.all():
        return found
    blank: float | Literal[0] = 0 if cascade or choice.by == "clip" else np.nan
    scores: Numbers = np.full(len(flags), blank, np.float64)
    standing: Numbers = np.full(len(flags), -np.inf)
    scores[flags], standing[flags] = found.scores, found.standing
    return Chosen(scores, standing, found.encoded)
