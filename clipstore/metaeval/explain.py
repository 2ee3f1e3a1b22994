"""What the usual mistakes of set-up would have given, beside the published protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from clipstore.errors import InputError
from clipstore.metaeval import agreement, cider
from clipstore.metaeval.protocols import Pairs, Ratings
from clipstore.metaeval.readers import composite, flickr8k, pascal50s
from clipstore.metaeval.tau import kendall
from clipstore.metrics.names import SHOWN
from clipstore.metrics.text import JavaFault, bleu, bleu_value, tokenise
from clipstore.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clipstore.metaeval.protocols import Numbers, Tau
    from clipstore.metaeval.results import MetaEvaluation

    _Tokens = Callable[[str], str]

METRICS: Final = ("bleu-1", "bleu-4", "cider")
"""What the mistakes are shown on: quick, and moved by each of them."""

_READERS: Final[dict[str, Callable[[Path, flickr8k.Own], Ratings]]] = {
    "flickr8k-expert": flickr8k.expert,
    "flickr8k-cf": flickr8k.crowd,
    "composite": composite.read,
}


@final
@dataclass(frozen=True, slots=True)
class Variant:
    """One set-up and what it gives.

    Parameters
    ----------
    setup
        In words.
    values
        Metric -> tau or accuracy, raw.
    """

    setup: str
    values: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"setup": self.setup, "values": self.values}


def explain(name: str, folder: Path, done: MetaEvaluation) -> list[Variant]:
    """Return what a benchmark gives under the published protocol and under the usual mistakes.

    Parameters
    ----------
    name
        The benchmark.
    folder
        Of its files.
    done
        The evaluation that was made; its scores serve where only the counting changes.

    Raises
    ------
    InputError
        When text metrics can't be had.
    """
    judged = done.judged
    if isinstance(judged, Pairs):
        return _of_pairs(folder, done, judged)
    counted = [*_counting(judged, {name: values for name, values in done.scores.items() if name not in METRICS})]
    try:
        return [*_of_ratings(name, folder, judged), *counted]
    except JavaFault as error:
        msg = f"--explain: {error}"
        raise InputError(msg) from error


def table(found: Sequence[Variant]) -> Table:
    """Return the variants as a table, times 100; an empty cell was not computed."""
    metrics = list(dict.fromkeys(name for one in found for name in one.values))
    columns = (Column("set-up", "left"), *(Column(SHOWN.get(name, name)) for name in metrics))
    rows = tuple(
        (one.setup, *(f"{100 * one.values[name]:.2f}" if name in one.values else "" for name in metrics))
        for one in found
    )
    return Table(columns, rows, ("what each set-up gives, x100",))


def _of_ratings(name: str, folder: Path, judged: Ratings) -> list[Variant]:
    texts = [*judged.captions, *(text for own in judged.references for text in own)]
    ptb = tokenise(texts)
    scores = _scores(judged, ptb.__getitem__)
    out = _counting(judged, scores)
    read = _READERS.get(name)
    if read is not None:
        owns: list[tuple[str, flickr8k.Own]] = [("every row, candidate left among its references", "keep")]
        if name == "flickr8k-expert":
            owns.append(("every row, candidate removed from the references of its row", "remove-row"))
        elif name == "composite":
            owns.append(("candidate removed from the references of its row alone", "remove-row"))
        for setup, own in owns:
            other = read(folder, own)
            more = tokenise([*other.captions, *(text for some in other.references for text in some)])
            out.append(_taus(setup, other, _scores(other, more.__getitem__), other.tau))
    out.append(_taus("lower-cased and split, no PTB tokens (' .' stays)", judged, _scores(judged, _lower), judged.tau))
    out.append(_taus("as written, case kept", judged, _scores(judged, str), judged.tau))
    return out


def _lower(text: str) -> str:
    return " ".join(text.lower().split())


def _counting(judged: Ratings, scores: dict[str, Numbers]) -> list[Variant]:
    """Return the set-ups that need no other scores."""
    if not scores:
        return []
    other: Tau = "tau_b" if judged.tau == "tau_c" else "tau_c"
    out = [
        _taus(f"published protocol ({judged.tau})", judged, scores, judged.tau),
        _taus(f"{other} in place of {judged.tau}", judged, scores, other),
    ]
    if judged.ratings.shape[1] < 2:
        return out
    for setup, combine in (("mean of the judges", np.nanmean), ("median of the judges", np.nanmedian)):
        combined = np.asarray(combine(judged.ratings, axis=1), np.float64)
        out.append(Variant(setup, {name: _tau(own, combined, judged.tau) for name, own in scores.items()}))
    by_judge = {
        name: float(np.mean([_tau(own, judge, judged.tau) for judge in judged.ratings.T]))
        for name, own in scores.items()
    }
    return [*out, Variant(f"{judged.tau} of each judge, averaged", by_judge)]


def _tau(scores: Numbers, ratings: Numbers, tau: Tau) -> float:
    held = ~np.isnan(scores) & ~np.isnan(ratings)
    return float(getattr(kendall(scores[held], ratings[held]), tau))


def _taus(setup: str, judged: Ratings, scores: dict[str, Numbers], tau: Tau) -> Variant:
    rows, ratings = judged.flat()
    return Variant(setup, {name: _tau(own[rows], ratings, tau) for name, own in scores.items()})


def _scores(judged: Ratings, tokens: _Tokens) -> dict[str, Numbers]:
    """Score BLEU-1, BLEU-4 and CIDEr on any tokens."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for row, key in enumerate(zip(judged.images, judged.references, strict=True)):
        groups.setdefault(key, []).append(row)
    held = list(groups.values())
    captions = [tokens(text) for text in judged.captions]
    references = [[tokens(text) for text in own] for _, own in groups]
    statistics = np.full((len(captions), bleu.STATISTICS), np.nan)
    for own, some in zip(held, references, strict=True):
        if some:
            counted = bleu.References(some)
            for row in own:
                statistics[row] = counted.statistics(captions[row])
    values, _ = cider.of_tokens(captions, references, held)
    return {"bleu-1": bleu_value(statistics, 1), "bleu-4": bleu_value(statistics, 4), "cider": values}


def _of_pairs(folder: Path, done: MetaEvaluation, judged: Pairs) -> list[Variant]:
    """Return mean accuracies under other rules for ties and, of Pascal-50S, other coins for tied votes."""
    out = []
    rules: list[tuple[str, Any]] = [
        ("equal scores: a coin (published protocol)", "random"),
        ("equal scores: half a point", "half"),
        ("equal scores count as wrong (FLEUR)", "wrong"),
        ("equal scores count for B (Polos)", "b"),
    ]
    for setup, ties in rules:
        found = {
            name: agreement.preferred(name, own, judged, ties, 0, done.seed).mean for name, own in done.scores.items()
        }
        out.append(Variant(setup, found))
    rounded = {
        name: agreement.preferred(
            name, [(np.round(a, 8), np.round(b, 8)) for a, b in own], judged, "random", 0, done.seed
        ).mean
        for name, own in done.scores.items()
    }
    out.append(Variant("scores rounded to 8 digits: BLEU's guard against zero no longer breaks ties", rounded))
    one = {
        name: agreement.preferred(name, own[:1], judged, "random", 0, done.seed).mean
        for name, own in done.scores.items()
    }
    out.append(Variant("one draw of references in place of the mean over draws", one))
    labels = pascal50s.fleur_labels(folder) if judged.name == "pascal50s" else None
    if labels is not None and len(labels) == judged.n:
        other = with_labels(judged, labels)
        changed = int(np.count_nonzero(other.labels != judged.labels))
        found = {
            name: agreement.preferred(name, own, other, "wrong", 0, done.seed).mean for name, own in done.scores.items()
        }
        out.append(Variant(f"labels of FLEUR's result files ({changed} differ), equal scores wrong", found))
    return out


def with_labels(judged: Pairs, labels: Sequence[int]) -> Pairs:
    """Return the pairs with other labels."""
    return replace(judged, labels=np.array(labels, np.int64))
