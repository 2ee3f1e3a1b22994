"""The signature of a score: every choice that changes it, read from the space and the eval set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, final

from clipstore.metrics.score import Signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.metrics.recipes import Recipe
    from clipstore.store import Space

SHOWN = {"clip-s": "CLIP-S", "ref-clip-s": "RefCLIP-S"}
"""Metric name -> what tables call it."""


@final
@dataclass(frozen=True, slots=True)
class Configuration:
    """What a scoring depends on beside the encoder.

    Parameters
    ----------
    recipe
        How a cosine becomes a score.
    set_digest
        The eval set's hash.
    reference_counts
        References of each item.
    skipped
        Whether images or captions without partner were left out.
    unreadable
        Whether images could not be read or encoded.
    empty
        Whether empty captions were scored 0.
    counts
        How many images each system was scored on.
    of
        Out of how many.
    """

    recipe: Recipe
    set_digest: str
    reference_counts: Sequence[int]
    skipped: bool = False
    unreadable: bool = False
    empty: bool = False
    counts: Sequence[int] = ()
    of: int = 0


def signatures(space: Space, configuration: Configuration) -> dict[str, Signature]:
    """Return the signature of each metric that can be computed: RefCLIP-S only where there are references."""
    recipe = configuration.recipe
    fields = space.fingerprint.fields
    common = [
        ("model", space.shown),
        ("ckpt", str(fields.get("weights", "none")).removeprefix("sha256:")[:8]),
        ("pre", _preprocessing(fields)),
        ("recipe", recipe.name),
        ("prefix", recipe.prefix.strip().replace(" ", "_") or "none"),
        ("w", f"{recipe.weight:g}"),
        ("dtype", str(fields.get("precision", "fp32"))),
        ("set", configuration.set_digest[:8]),
    ]
    missing = ["skip"] * configuration.skipped + ["unreadable"] * configuration.unreadable
    extra = [("missing", "+".join(missing)), *_covered(configuration)] if missing else []
    if recipe.tokenised:
        extra.append(("text", "ptb"))
    if configuration.empty:
        extra.append(("empty", "zero"))
    end = [*extra, ("v", metadata.version("clipstore"))]
    note = _note(space)
    out = {"clip-s": Signature(recipe.shown[0], (*common, *end), note)}
    counts = configuration.reference_counts
    if any(counts) and recipe.references != "none":
        low, high = min(counts), max(counts)
        refs = ("refs", str(low) if low == high else f"{low}-{high}")
        out["ref-clip-s"] = Signature(recipe.shown[1], (*common, refs, *end), note)
    return out


def _covered(configuration: Configuration) -> list[tuple[str, str]]:
    """Return on how many images of how many the scores rest: ``n:4987/5000``, ``n:4982-5000/5000`` of several."""
    if not configuration.counts:
        return []
    low, high = min(configuration.counts), max(configuration.counts)
    return [("n", f"{low if low == high else f'{low}-{high}'}/{configuration.of}")]


def _note(space: Space) -> str:
    """Return what must be said wherever the score goes: some models give no number for a paper."""
    if space.shown == "tiny":
        return "tiny: not for reporting"
    return "fake: means nothing" if space.shown.partition(":")[0] == "fake" else ""


def _preprocessing(fields: Mapping[str, object]) -> str:
    """Return the preprocessing in a word: ``bicubic224``, and what departs from the official one."""
    made = fields.get("preprocess")
    if not isinstance(made, Mapping):
        return "none"
    size = made.get("size", [])
    sides = list(dict.fromkeys(size)) if isinstance(size, (list, tuple)) else [size]
    parts = [f"{made.get('interpolation', '')}{'x'.join(str(side) for side in sides)}"]
    parts += [str(made[name]) for name in ("resize_mode", "name") if made.get(name) not in {None, "shortest", "exact"}]
    parts += ["exif"] if fields.get("exif") == "apply" else []
    return "-".join(parts)
