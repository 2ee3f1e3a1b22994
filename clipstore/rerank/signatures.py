"""How a choice was made, as a signature, and as what a saved system keeps of it."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from clipstore.metrics.score import Signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.metrics.recipes import Recipe
    from clipstore.rerank.candidates import Candidates
    from clipstore.rerank.cascade import PairScores, Stage
    from clipstore.rerank.selecting import Choice
    from clipstore.rerank.tuning import Tuned
    from clipstore.store import Space


def digest_of(scorer: Space | PairScores) -> str:
    """Return the fingerprint of a space or a pair scorer, as far as it has one."""
    fingerprint = getattr(scorer, "fingerprint", None)
    return str(getattr(fingerprint, "digest", fingerprint or scorer.shown))


def models(space: Space | None, stages: Sequence[Stage], choice: Choice) -> list[Space | PairScores]:
    """Return the models that had a say."""
    if stages:
        return [stage.scorer for stage in stages]
    return [space] if space is not None and choice.needs_texts else []


def selector(
    space: Space | None,
    stages: Sequence[Stage],
    choice: Choice,
    recipe: Recipe,
    tuned: Tuned | None,
    mmr: float | None,
) -> Signature:
    """Return the signature of a choice: method, models, weight, prefix, version."""
    used = models(space, stages, choice)
    fields: list[tuple[str, str]] = [("by", "cascade" if stages else choice.by)]
    if stages:
        fields.append(("stages", ",".join(f"{stage.scorer.shown}:{stage.keep}" for stage in stages)))
    else:
        fields += [("model", one.shown) for one in used]
    if used:
        fields.append(("fingerprint", "+".join(digest_of(one) for one in used)))
        fields += [("recipe", recipe.name), ("prefix", recipe.prefix.strip().replace(" ", "_") or "none")]
    if choice.by == "mix" and not stages:
        fields.append(("weight", f"{choice.weight:g}"))
        fields.append(("tuned", tuned.target if tuned else "no"))
    if choice.by == "rrf" and not stages:
        fields.append(("fuse", "+".join(choice.parts)))
    if mmr is not None:
        fields.append(("mmr", f"{mmr:g}"))
    note = "tiny: not for reporting" if any(one.shown == "tiny" for one in used) else ""
    return Signature("rerank", (*fields, ("v", metadata.version("clipstore"))), note)


def origin(space: Space | None, stages: Sequence[Stage], choice: Choice, candidates: Candidates) -> dict[str, object]:
    """Return what a system saved from picks keeps: ``compare`` marks it where selector and metric share a model."""
    used = models(space, stages, choice)
    return {
        "verb": "rerank",
        "method": "cascade" if stages else choice.by,
        "weight": choice.weight if choice.by == "mix" and not stages else None,
        "models": [one.shown for one in used],
        "selectors": [digest_of(one) for one in used],
        "n": candidates.n,
        "source": candidates.source,
    }
