"""The names of metrics: one canonical spelling, and those of other tools that are accepted for it."""

from __future__ import annotations

import re
from typing import Final

from clipstore.errors import InputError

SHOWN: Final[dict[str, str]] = {
    "clip-s": "CLIP-S",
    "ref-clip-s": "RefCLIP-S",
    "bleu-1": "BLEU-1",
    "bleu-2": "BLEU-2",
    "bleu-3": "BLEU-3",
    "bleu-4": "BLEU-4",
    "meteor": "METEOR",
    "rouge-l": "ROUGE-L",
    "cider": "CIDEr",
    "spice": "SPICE",
}
"""Canonical name -> what tables call it."""

TEXT: Final = tuple(name for name in SHOWN if not name.endswith("clip-s"))
"""The metrics that compare a caption with references as text."""

TIMES_100: Final = frozenset(TEXT)
"""Metrics that tables show x100, as their papers do; JSON holds raw values."""

# Spellings that differ by more than case, hyphens, underscores and spaces.
_ALIASES: Final = {
    "clipscore": "clip-s",
    "refclipscore": "ref-clip-s",
    "rouge": "rouge-l",
    "bleu": "bleu-4",
}
_FLAT: Final = {re.sub(r"\W", "", name): name for name in SHOWN} | _ALIASES


def canonical_name(name: str) -> str:
    """Return the canonical name of a metric, from any accepted spelling.

    ``bleu-4``, ``Bleu_4``, ``BLEU@4``, ``ROUGE_L``, ``CIDEr``, ``CLIPScore``, ``clip_s``...

    Raises
    ------
    InputError
        When no metric is called so; the message lists those that exist.
    """
    known = _FLAT.get(re.sub(r"[-_@\s]", "", name).lower())
    if known is None:
        msg = f"no metric is called {name!r}; there is: {', '.join(SHOWN)}"
        raise InputError(msg)
    return known
