"""The metrics that a comparison can show, by family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from clipstore.errors import InputError
from clipstore.metrics.names import TEXT, canonical_name

if TYPE_CHECKING:
    from collections.abc import Iterable

IMAGE: Final = ("clip-s", "ref-clip-s")
"""From images, captions and references: what ``score`` gives."""

RETRIEVAL: Final = {"r@1": "R@1", "r@5": "R@5", "r@10": "R@10", "median-rank": "med.rank", "z": "z"}
"""How well a caption finds its own image among the images of the set."""

DIVERSITY: Final = {"mean-words": "words/caption", "distinct-1": "distinct-1", "distinct-2": "distinct-2"}
"""Of the captions alone."""

METRICS: Final = (*IMAGE, *TEXT, *RETRIEVAL, *DIVERSITY)

USUAL_TEXT: Final = ("bleu-4", "meteor", "rouge-l", "cider")
"""What a set without images is compared by, unless asked otherwise."""

_FAMILIES: Final = {"text": USUAL_TEXT, "retrieval": tuple(RETRIEVAL), "diversity": tuple(DIVERSITY)}


def metric_name(name: str) -> str:
    """Return our name of a metric; spellings of other tools (``Bleu_4``, ``ROUGE_L``, ``CLIPScore``) are accepted.

    Raises
    ------
    InputError
        When no metric is called so; the message lists those there are.
    """
    plain = name.lower().replace("_", "-")
    if plain in METRICS:
        return plain
    try:
        return canonical_name(name)
    except InputError as error:
        msg = f"no metric is called {name!r}; there is: {', '.join(METRICS)}; and {', '.join(_FAMILIES)} for several"
        raise InputError(msg) from error


def metric_names(names: Iterable[str]) -> list[str]:
    """Return our names, each once; ``text``, ``retrieval`` and ``diversity`` stand for several.

    Raises
    ------
    InputError
        When a name stands for nothing.
    """
    out: list[str] = []
    for name in names:
        out += _FAMILIES.get(name.lower()) or [metric_name(name)]
    return list(dict.fromkeys(out))
