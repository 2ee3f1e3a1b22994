"""``rerank``: from an n-best file to one caption an image, and what that bought."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from clipstore import formats
from clipstore.errors import InputError
from clipstore.formats import Captions, Hints
from clipstore.rerank import cascade as cascades
from clipstore.rerank import signatures
from clipstore.rerank.candidates import gathered
from clipstore.rerank.cascade import Chosen, Stage
from clipstore.rerank.development import Development, tune
from clipstore.rerank.embedding import Placed, Switches, embedded, place
from clipstore.rerank.guards import Guards, guard
from clipstore.rerank.judging import Judge, judged
from clipstore.rerank.keeping import kept_of
from clipstore.rerank.paired import Pictures
from clipstore.rerank.request import Request
from clipstore.rerank.results import Reranked
from clipstore.rerank.saving import named, record
from clipstore.rerank.selecting import METHODS, WEIGHT, Choice, Method, fusable, scores_of
from clipstore.rerank.targets import TARGETS, checked
from clipstore.store import Space, Store
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
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store import Progress

Given = formats.Source | Captions | tuple[formats.Source | Captions, ...]
"""An n-best file, or a tuple of files whose captions are pooled."""


def rerank(
    where: Space | Store | None,
    nbest: Given,
    evalset: EvalSet,
    *,
    by: str | None = None,
    clip_weight: float | None = None,
    tune_on: Given | None = None,
    tune_refs: formats.Source | EvalSet | None = None,
    target: str | None = None,
    allow_circular: bool = False,
    k: int | None = None,
    mmr: float | None = None,
    cascade: Sequence[Stage] | None = None,
    fuse: Sequence[str] | None = None,
    report_space: Space | None = None,
    ordered: bool | None = None,
    recipe: str | None = None,
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
    where
        The selector's vectors; a store is enough for ``logp`` and ``vote`` and for ``rrf`` of these, and for a
        cascade. None: these again, and what was done is recorded nowhere.
    nbest
        Candidates: a path, a mapping of id -> captions, rows, captions already read, or a tuple to pool.
    evalset
        The images that count; ``EvalSet.read()`` without arguments takes those of the candidates.
    by
        ``clip`` (the same as None), ``logp``, ``mix``, ``mbr``, ``consensus``, ``vote`` or ``rrf``.
    clip_weight
        The weight of CLIP-S in ``mix``; None: 0.5, or tuned where ``tune_on`` is given.
    tune_on, tune_refs
        A development n-best file and its references (or an eval set); None: those of ``evalset``.
    target
        What tuning raises: ``cider`` (the same as None), another text metric such as ``meteor`` (with Java), or
        ``clip-s`` of ``report_space``.
    allow_circular
        Tune on CLIP-S of the selector's own model all the same.
    k, mmr
        How many captions of each image to keep, the best first; None: one, or what the last stage of a cascade
        keeps. With ``mmr`` (lambda) diverse ones.
    cascade
        Stages in place of ``by``: each keeps the best of what the one before kept; a
        :class:`clipstore.encoders.protocol.PairScorer` may be one.
    fuse
        The selectors that ``rrf`` joins; None: all that the input allows.
    report_space
        The judge's vectors; None: the selector's own, and the gain is an upper bound.
    ordered
        True: candidates are beams; False: samples; None: beams where log-probabilities fall with the rank.
    recipe
        How a cosine becomes a score, by name; None: each model's own.
    missing, hints, encode, progress
        As in :func:`clipstore.score`.

    Raises
    ------
    Unpaired, InputError
        When candidates and images do not fit together, or the method lacks what it needs.
    NotStored
        When something is missing and ``encode`` is False.
    """
    switches = Switches(recipe, encode, progress)
    space = where if isinstance(where, Space) else None
    stages = tuple(cascade or ())
    most = k if k is not None else stages[-1].keep if stages else 1
    request = Request(space, report_space, stages, _method(by or "clip"), most, mmr, switches)
    request.check()
    tuning = {"--tune-refs": tune_refs is not None, "--target": target is not None, "--allow-circular": allow_circular}
    request.refuse_idle(by=by is not None, fuse=fuse is not None, weight=clip_weight is not None)
    request.refuse_idle_tuning(tuning, tune=tune_on is not None, weight=clip_weight is not None)
    weight = WEIGHT if clip_weight is None else clip_weight
    choice = Choice(request.by, weight, None if fuse is None else tuple(map(_method, fuse)))
    hints = hints or Hints()
    read = read_all(nbest, hints)
    evalset = evalset.covering(read, hints, missing)
    candidates = gathered(read, evalset, hints, missing)
    choice = _checked(request, choice, candidates, evalset)
    tuned = None
    if tune_on is not None:
        development = Development.read(read_all(tune_on, hints), tune_refs, evalset, hints, candidates)
        tuned = tune(
            development, space, switches, checked(target or TARGETS[0]), report_space, allow_circular=allow_circular
        )
        choice = replace(choice, weight=tuned.weight)
    notes = _notes(request, choice, candidates, given=clip_weight is not None or tuned is not None)
    spaces = [one for one in request.looking if isinstance(one, Space)]
    placed = place(spaces, evalset, candidates, request.switches)
    if placed.failed.all():
        first = "".join(f" (first: {one.name}: {one.reason})" for one in placed.failures[:1])
        msg = f"{candidates.source}: none of {len(candidates):,} images can be read{first}: nothing to choose for"
        raise InputError(msg)
    if placed.failed.any():
        candidates, kept = candidates.where(~placed.failed[candidates.lists.owners])
        placed = replace(placed, image_ids=None if placed.image_ids is None else placed.image_ids[kept])
    beams = candidates.are_beams if ordered is None else ordered
    catalogue = _catalogue(where, request)
    set_digest = evalset.digest(placed.known)
    found = _chosen(request, choice, candidates, evalset, set_digest, placed, tuned, catalogue, ordered=beams)
    done, asked = named(found, set_digest, ordered=beams)
    done = replace(done, warnings=(*done.warnings, *notes))
    if catalogue is not None:
        record(catalogue, done, asked, evalset, placed.known)
    return done


def _catalogue(where: Space | Store | None, request: Request) -> Catalogue | None:
    """Return the catalogue of the store that was given, by itself or with one of its spaces."""
    return next((one.catalogue for one in (where, *request.looking) if isinstance(one, (Space, Store))), None)


def _checked(request: Request, choice: Choice, candidates: Candidates, evalset: EvalSet) -> Choice:
    """Refuse what can't be chosen before anything is encoded; return the choice with what ``rrf`` joins."""
    written, _ = candidates.where(candidates.written)
    images, model = evalset.has_images, request.space is not None
    request.check_images(images=images)
    if request.stages:
        return choice
    if choice.by == "rrf" and choice.fuse is None:
        choice = replace(choice, fuse=fusable(written, images=images, model=model))
    choice.check(written, model=model, images=images)
    return choice


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
    set_digest: str,
    placed: Placed,
    tuned: Tuned | None,
    catalogue: Catalogue | None,
    *,
    ordered: bool,
) -> Reranked:
    written, kept = candidates.where(candidates.written)
    ids = None if placed.image_ids is None else placed.image_ids[kept]
    vectors = None
    if request.stages and ids is not None and catalogue is not None:
        pictures = Pictures(catalogue, evalset, request.switches)
        found = cascades.run(request.stages, written, ids, pictures)
    else:
        found, vectors = _selected(request, choice, written, ids)
    full = _spread(candidates, found, choice, cascade=bool(request.stages))
    chosen = kept_of(request, choice, candidates, full, vectors)
    gain = judged(
        Judge(request.report_space or _own_judge(request), request.switches),
        frozenset(one.fingerprint.digest for one in signatures.deciding(request, choice)),
        candidates,
        evalset,
        set_digest,
        placed.image_ids,
        full,
        vectors,
        ordered=ordered,
        curve_note=_curve_note(request, choice),
    )
    starts = candidates.lists.starts.tolist()
    guards = Guards(
        guard([candidates.texts[place] for place in chosen[:, 0].tolist()]),
        guard([candidates.texts[place] for place in starts]),
    )
    return Reranked(
        candidates=candidates,
        chosen=chosen,
        scores=full.scores,
        signature=signatures.selector(request, choice, tuned),
        gain=gain,
        guards=guards,
        tuned=tuned,
        work=request.switches.tally,
        origin=signatures.origin(request, choice, candidates),
        failures=placed.failures,
        described=candidates.described,
        warnings=candidates.warnings,
    )


def _curve_note(request: Request, choice: Choice) -> str:
    """Say where the curve is no statement about lists of N alone: where scores depend on the whole list."""
    if choice.by_itself and not request.stages:
        return ""
    how = "a cascade" if request.stages else choice.by
    return (
        f"the curve orders N candidates by their scores in the whole list: by {how} a score depends on the "
        "others, so from N alone it may pick otherwise"
    )


def _own_judge(request: Request) -> Space | None:
    """Return the selector's space as the judge; of a cascade the first, which has vectors of all candidates."""
    first = request.stages[0].scorer if request.stages else request.space
    return first if isinstance(first, Space) else None


def _notes(request: Request, choice: Choice, candidates: Candidates, *, given: bool) -> list[str]:
    if request.stages:
        return []
    lines = []
    if choice.by == "mix" and not given and choice.weight == WEIGHT:
        lines.append(f"the weight of CLIP-S is {WEIGHT:g}, neither given (--clip-weight) nor tuned (--tune-on)")
    if choice.by in {"logp", "mix"} or "logp" in choice.parts:
        lines += candidates.scale_warnings()
    return lines


def _selected(
    request: Request, choice: Choice, written: Candidates, image_ids: Ids | None
) -> tuple[Chosen, Embedded | None]:
    """Score the non-empty candidates; return also their vectors."""
    vectors = None
    if request.space is not None and (choice.needs_texts or request.mmr is not None):
        vectors = embedded(request.space, written, image_ids, request.switches)
    scores = scores_of(choice, written, vectors)
    return Chosen(scores, scores), vectors


def _spread(candidates: Candidates, found: Chosen, choice: Choice, *, cascade: bool) -> Chosen:
    """Lay scores out over all candidates: an empty one comes last, its CLIP-S is 0."""
    flags = candidates.written
    if flags.all():
        return found
    blank: float | Literal[0] = 0 if cascade or choice.by == "clip" else np.nan
    scores: Numbers = np.full(len(flags), blank, np.float64)
    standing: Numbers = np.full(len(flags), -np.inf)
    scores[flags], standing[flags] = found.scores, found.standing
    return Chosen(scores, standing)
