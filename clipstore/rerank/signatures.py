"""How a choice was made and how it is judged, as signatures, and as what a saved system keeps."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from clipstore.evaluate.signatures import Configuration, signatures
from clipstore.metrics.score import Signature
from clipstore.store import Space

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clipstore.encoders.protocol import PairScorer
    from clipstore.evalset import EvalSet
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.embedding import Switches
    from clipstore.rerank.request import Request
    from clipstore.rerank.selecting import Choice
    from clipstore.rerank.tuning import Tuned


def shown(scorer: Space | PairScorer) -> str:
    """Return what signatures call a model: a space's name, a pair scorer's kind."""
    return scorer.shown if isinstance(scorer, Space) else str(scorer.fingerprint.fields.get("kind", "pair-scorer"))


def deciding(request: Request, choice: Choice) -> list[Space | PairScorer]:
    """Return the models whose scores order the candidates."""
    if request.stages:
        return [stage.scorer for stage in request.stages]
    return [request.space] if request.space is not None and choice.needs_texts else []


def models(request: Request, choice: Choice) -> list[Space | PairScorer]:
    """Return the models that had a say: those that decide, and the one that tells diverse captions apart."""
    used = deciding(request, choice)
    if not used and request.space is not None and request.mmr is not None:
        used.append(request.space)
    return used


def selector(request: Request, choice: Choice, tuned: Tuned | None) -> Signature:
    """Return the signature of a choice: method, models, weight, prefix, version."""
    used, stages = models(request, choice), request.stages
    fields: list[tuple[str, str]] = [("by", "cascade" if stages else choice.by)]
    if stages:
        fields.append(("stages", ",".join(f"{shown(stage.scorer)}:{stage.keep}" for stage in stages)))
    else:
        fields += [("model", shown(one)) for one in used]
    if used:
        fields.append(("fingerprint", "+".join(one.fingerprint.digest for one in used)))
        made = [request.switches.recipe_of(one) for one in used if isinstance(one, Space)]
        fields.append(("recipe", _joined(recipe.name for recipe in made)))
        fields.append(("prefix", _joined(recipe.prefix.strip().replace(" ", "_") or "none" for recipe in made)))
    if choice.by == "mix" and not stages:
        fields.append(("weight", f"{choice.weight:g}"))
        fields.append(("tuned", tuned.target if tuned else "no"))
    if choice.by == "rrf" and not stages:
        fields.append(("fuse", "+".join(choice.parts)))
    if request.mmr is not None:
        fields.append(("mmr", f"{request.mmr:g}"))
    note = "tiny: not for reporting" if any(shown(one) == "tiny" for one in used) else ""
    return Signature("rerank", (*fields, ("v", metadata.version("clipstore"))), note)


def _joined(words: Iterable[str]) -> str:
    return "+".join(dict.fromkeys(words))


def judge(
    space: Space | None, candidates: Candidates, evalset: EvalSet, set_digest: str, switches: Switches
) -> Signature:
    """Return the signature of the numbers that a choice is judged by.

    CLIP-S has the one that ``score`` gives of the same images; CIDEr says that its words are our own
    and that its document frequencies come from the whole set.

    Parameters
    ----------
    space
        Whose CLIP-S; None: CIDEr.
    candidates, evalset
        What is judged.
    set_digest
        The set's hash.
    switches
        How a cosine becomes a score.
    """
    counts = [len(item.references) for item in evalset.items]
    skipped = bool(evalset.unpaired) or len(candidates) < len(evalset.items)
    if space is not None:
        blank = not bool(candidates.written.all())
        recipe = switches.recipe_of(space)
        configuration = Configuration(recipe, set_digest, counts, skipped=skipped, empty=blank)
        return signatures(space, configuration)["clip-s"]
    low, high = min(counts), max(counts)
    fields = [("tok", "own"), ("df", "set"), ("set", set_digest[:8])]
    fields += [("refs", str(low) if low == high else f"{low}-{high}"), *([("missing", "skip")] if skipped else [])]
    return Signature("CIDEr", (*fields, ("v", metadata.version("clipstore"))))


def origin(request: Request, choice: Choice, candidates: Candidates) -> dict[str, object]:
    """Return what a system saved from picks keeps: ``compare`` marks it where selector and metric share a model."""
    used = models(request, choice)
    return {
        "verb": "rerank",
        "method": "cascade" if request.stages else choice.by,
        "weight": choice.weight if choice.by == "mix" and not request.stages else None,
        "mmr": request.mmr,
        "models": [shown(one) for one in used],
        "selectors": [one.fingerprint.digest for one in used],
        "n": candidates.n,
        "source": candidates.source,
    }
