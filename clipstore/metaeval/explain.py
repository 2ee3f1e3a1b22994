"""What the usual mistakes of set-up would have given, beside the published protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.errors import InputError
from clipstore.metaeval.explain_pairs import of_pairs
from clipstore.metaeval.protocols import Pairs
from clipstore.metaeval.readers import composite, flickr8k
from clipstore.metaeval.scoring import Rows, score_rows
from clipstore.metaeval.tau import kendall
from clipstore.metaeval.variants import METRICS, Variant, of_tokens
from clipstore.metrics.text import JavaFault, tokenise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clipstore.metaeval.protocols import Numbers, Ratings, Tau
    from clipstore.metaeval.results import MetaEvaluation
    from clipstore.metaeval.scoring import Sources

_READERS: Final[dict[str, Callable[[Path, flickr8k.Own], Ratings]]] = {
    "flickr8k-expert": flickr8k.expert,
    "flickr8k-cf": flickr8k.crowd,
    "composite": composite.read,
}


def explain(name: str, folder: Path, done: MetaEvaluation, sources: Sources | None = None) -> list[Variant]:
    """Return what a benchmark gives under the published protocol and under the usual mistakes.

    Parameters
    ----------
    name
        The benchmark.
    folder
        Of its files.
    done
        The evaluation that was made: its metrics are shown, and its scores serve where only the counting changes.
    sources
        Where scores come from: with it, every metric is shown with other references too, not BLEU and CIDEr alone.

    Raises
    ------
    InputError
        When text metrics can't be had.
    """
    judged = done.judged
    try:
        return of_pairs(folder, done, judged) if isinstance(judged, Pairs) else _of_ratings(name, folder, done, sources)
    except JavaFault as error:
        msg = f"--explain: {error}"
        raise InputError(msg) from error


def _of_ratings(name: str, folder: Path, done: MetaEvaluation, sources: Sources | None) -> list[Variant]:
    judged: Ratings = done.judged  # type: ignore[assignment]  # told apart by the caller
    out = _counting(judged, dict(done.scores))
    texts = [one for one in METRICS if one in done.scores]
    others = [one.name for one in done.metrics if one.signature and one.name not in texts] if sources else []
    for setup, other in _otherwise(name, folder) if texts or others else ():
        scores = {} if not texts else of_tokens(_rows(other), _ptb(other), texts)
        if others and sources is not None:
            scores |= score_rows(_rows(other), others, sources).values
        out.append(_taus(setup, other, {one: scores[one] for one in done.scores if one in scores}, other.tau))
    for setup, tokens in (
        ("lower-cased and split, no PTB tokens (' .' stays)", _lower),
        ("as written, case kept", str),
    ):
        if texts:
            out.append(_taus(setup, judged, of_tokens(_rows(judged), tokens, texts), judged.tau))
    return out


def _otherwise(name: str, folder: Path) -> Sequence[tuple[str, Ratings]]:
    """Read the benchmark with other rules for a candidate that is among its references."""
    read = _READERS.get(name)
    if read is None:
        return ()
    owns: list[tuple[str, flickr8k.Own]] = [("every row, candidate left among its references", "keep")]
    if name == "flickr8k-expert":
        owns.append(("every row, candidate removed from the references of its row", "remove-row"))
    elif name == "composite":
        owns.append(("candidate removed from the references of its row alone", "remove-row"))
    return [(setup, read(folder, own)) for setup, own in owns]


def _rows(judged: Ratings) -> Rows:
    return Rows(judged.images, judged.captions, judged.references)


def _ptb(judged: Ratings) -> Callable[[str], str]:
    return tokenise([*judged.captions, *(text for own in judged.references for text in own)]).__getitem__


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
