"""What other choices of set-up give on pairs: rules for ties, tokens, draws of references, other labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.metaeval import agreement
from clipstore.metaeval.readers import pascal50s
from clipstore.metaeval.scoring import Rows
from clipstore.metaeval.variants import CLOSE, METRICS, Variant, of_tokens, printed
from clipstore.metrics.text import tokenise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from clipstore.metaeval.protocols import Numbers, Pairs, Ties
    from clipstore.metaeval.results import MetaEvaluation
    from clipstore.metaeval.variants import Tokens

    Drawn = list[tuple[Numbers, Numbers]]

MANY: Final = 25
"""Draws of references that leave little to chance: five times the published five."""

DIGITS: Final = 10
_READERS: Final[dict[str, Callable[..., Pairs]]] = {
    "pascal50s": pascal50s.read,
    "pascal50s-11": pascal50s.read_11,
    "abstract50s": pascal50s.abstract,
}


def of_pairs(folder: Path, done: MetaEvaluation, judged: Pairs) -> list[Variant]:
    """Return accuracies under each set-up, the published protocol first.

    Parameters
    ----------
    folder
        Of the benchmark's files; for pairs of your own, the file.
    done
        The evaluation that was made; its scores serve where only the counting changes.
    judged
        Its pairs.

    Raises
    ------
    JavaFault
        When references with another choice need tokens and Java is missing.
    """
    scores: dict[str, Drawn] = dict(done.scores)
    rules: list[tuple[str, Ties]] = [
        ("published protocol (equal scores: a coin)", "random"),
        ("equal scores: half a point", "half"),
        ("equal scores count as wrong (FLEUR)", "wrong"),
        ("equal scores count for B (Polos)", "b"),
    ]
    out = [_variant(setup, scores, judged, ties, done.seed) for setup, ties in rules]
    rounded = {name: [(np.round(a, DIGITS), np.round(b, DIGITS)) for a, b in own] for name, own in scores.items()}
    shared = "captions that share no two words in a row with a reference are equal"
    out.append(_variant(f"scores rounded to {DIGITS} digits: {shared}", rounded, judged, "random", done.seed))
    if len(judged.draws) > 1:
        one = {name: own[:1] for name, own in scores.items()}
        single = replace(judged, draws=judged.draws[:1])
        out.append(_variant("one draw of references in place of the mean over draws", one, single, "random", done.seed))
    out += _of_labels(folder, judged, scores, done.seed)
    metrics = [name for name in METRICS if name in scores]
    if not metrics:
        return out
    known = printed(done)
    unexplained = [name for name in metrics if (out[0].off(name, known.get(name, {})) or 0) > CLOSE]
    return [*out, *_of_texts(folder, judged, metrics, unexplained, done.seed)]


def with_labels(judged: Pairs, labels: Sequence[int]) -> Pairs:
    """Return the pairs with other labels."""
    return replace(judged, labels=np.array(labels, np.int64))


def _of_labels(folder: Path, judged: Pairs, scores: dict[str, Drawn], seed: int) -> list[Variant]:
    labels = pascal50s.fleur_labels(folder) if judged.name == "pascal50s" else None
    if labels is None or len(labels) != judged.n:
        return []
    other = with_labels(judged, labels)
    changed = int(np.count_nonzero(other.labels != judged.labels))
    setup = f"labels of FLEUR's result files ({changed} differ), equal scores wrong"
    return [_variant(setup, scores, other, "wrong", seed)]


def _of_texts(
    folder: Path, judged: Pairs, metrics: Sequence[str], unexplained: Sequence[str], seed: int
) -> Iterator[Variant]:
    """Score again with other tokens, and with other references where the benchmark draws them.

    Many draws take their time: they are made for the metrics that the published protocol leaves unexplained.
    """
    lower = "lower-cased and split, no PTB tokens (the full stop stays on its word)"
    choices: list[tuple[str, Tokens]] = [(lower, _lower), ("text as written, no PTB tokens", _as_is)]
    for setup, tokens in choices:
        yield _variant(setup, _scores(judged, tokens, metrics), judged, "random", seed)
    read = _READERS.get(judged.name)
    if read is None:
        return
    if unexplained:
        many = read(folder, draws=MANY)
        setup = f"text as written, no PTB tokens, {MANY} draws of references"
        yield _variant(setup, _scores(many, _as_is, unexplained), many, "random", seed)
    if judged.name != "abstract50s":
        kept = read(folder, keep=True)
        texts = [*kept.first, *kept.second, *(text for draw in kept.draws for own in draw for text in own)]
        ptb = tokenise(texts).__getitem__
        setup = "the pairs' own captions left among the sentences that references are drawn from"
        yield _variant(setup, _scores(kept, ptb, metrics), kept, "random", seed)


def _lower(text: str) -> str:
    return " ".join(text.lower().split())


def _as_is(text: str) -> str:
    return text


def _scores(judged: Pairs, tokens: Tokens, metrics: Sequence[str]) -> dict[str, Drawn]:
    images = [image for image in judged.images for _ in range(2)]
    captions = [text for both in zip(judged.first, judged.second, strict=True) for text in both]
    out: dict[str, Drawn] = {name: [] for name in metrics}
    for draw in judged.draws:
        rows = Rows(images, captions, [own for own in draw for _ in range(2)])
        for name, values in of_tokens(rows, tokens, metrics).items():
            out[name].append((values[::2], values[1::2]))
    return out


def _variant(setup: str, scores: dict[str, Drawn], judged: Pairs, ties: Ties, seed: int) -> Variant:
    found: dict[str, Any] = {
        name: agreement.preferred(name, own, judged, ties, 0, seed) for name, own in scores.items()
    }
    return Variant(
        setup,
        {name: one.mean for name, one in found.items()},
        {name: dict(one.accuracy) for name, one in found.items()},
    )
