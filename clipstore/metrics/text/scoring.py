"""From references and captions to the text metrics of every system."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.errors import InputError
from clipstore.metrics.names import TEXT, canonical_name
from clipstore.metrics.text import bleu, cider, java, meteor, spice
from clipstore.metrics.text.ptb import tokenise
from clipstore.metrics.text.results import CORPUS, TextScore, TextScores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clipstore.items import ItemKey
    from clipstore.metrics.text.bleu import Values

    _JavaScorer = Callable[[Sequence[tuple[str, Sequence[str]]]], Values]

USUAL: Final = tuple(name for name in TEXT if name != "spice")
"""Every text metric but SPICE, whose models seldom are present."""


def score_texts(
    references: Mapping[ItemKey, Sequence[str]],
    systems: Mapping[str, Mapping[ItemKey, str | None]],
    metrics: Sequence[str] = USUAL,
) -> TextScores:
    """Return the text metrics of several systems on one set, keyed by image.

    An image without references has no number (NaN); so has one without a caption. An
    empty caption scores 0. CIDEr's document frequencies are those of the whole set,
    whichever images a system covers or a slice keeps.

    Parameters
    ----------
    references
        Image -> its references, as they came; every image of the set, in its order.
    systems
        System -> image -> caption, as it came.
    metrics
        Names, any accepted spelling.

    Returns
    -------
    TextScores
        With a line under ``problems`` for each metric that could not be had, as without Java.

    Raises
    ------
    InputError
        When a name is no text metric, a caption belongs to no image of the set, or
        pycocoevalcap is not installed.
    """
    wanted = list(dict.fromkeys(_text_metric(name) for name in metrics))
    for name, captions in systems.items():
        _check_keys(name, captions, references)
    java.package()
    texts = [text for some in references.values() for text in some]
    texts += [text for captions in systems.values() for text in captions.values() if text is not None]
    try:
        tokens = tokenise(texts)
    except java.JavaFault as fault:
        return TextScores({name: {} for name in systems}, dict.fromkeys(wanted, str(fault)))
    return _Set(references, systems, tokens).score(wanted)


def _text_metric(name: str) -> str:
    known = canonical_name(name)
    if known not in TEXT:
        msg = f"{name!r} is no text metric; those are: {', '.join(TEXT)}"
        raise InputError(msg)
    return known


def _check_keys(name: str, captions: Mapping[ItemKey, str | None], references: Mapping[ItemKey, Sequence[str]]) -> None:
    strange = [key for key in captions if key not in references]
    if strange:
        msg = f"{name}: {len(strange):,} captions belong to no image of the set (first: {strange[0]!r})"
        raise InputError(msg)


def _family(metric: str) -> str:
    """Return what is computed at once: the four orders of BLEU share their statistics."""
    return "bleu" if metric.startswith("bleu") else metric


class _Set:
    """A set and its systems as tokens: rows are the images that have references."""

    def __init__(
        self,
        references: Mapping[ItemKey, Sequence[str]],
        systems: Mapping[str, Mapping[ItemKey, str | None]],
        tokens: Mapping[str, str],
    ) -> None:
        self._keys = tuple(references)
        split = {key: [words for text in some if (words := tokens[text])] for key, some in references.items()}
        self._rows = [key for key in self._keys if split[key]]
        self._references = [split[key] for key in self._rows]
        self._captions: dict[str, list[str | None]] = {}
        for name, captions in systems.items():
            given = [captions.get(key) for key in self._rows]
            self._captions[name] = [None if text is None else tokens[text] for text in given]

    def score(self, metrics: Sequence[str]) -> TextScores:
        """Score every system by every metric; a metric that fails is a problem, not an end."""
        made: dict[str, dict[str, Values]] = {}
        faults: dict[str, str] = {}
        for family in dict.fromkeys(_family(metric) for metric in metrics):
            try:
                made[family] = self._make(family)
            except java.JavaFault as fault:
                faults[family] = str(fault)
        problems = {metric: faults[_family(metric)] for metric in metrics if _family(metric) in faults}
        return TextScores(
            {
                name: {
                    metric: self._spread(metric, made[_family(metric)][name])
                    for metric in metrics
                    if metric not in problems
                }
                for name in self._captions
            },
            problems,
        )

    def _make(self, family: str) -> dict[str, Values]:
        """Return system -> numbers or statistics of each row."""
        make: dict[str, Callable[[], dict[str, Values]]] = {
            "bleu": self._bleu,
            "meteor": lambda: self._by_java(meteor.statistics, (meteor.STATISTICS,)),
            "rouge-l": self._rouge,
            "cider": self._cider,
            "spice": lambda: self._by_java(spice.segments_f, ()),
        }
        return make[family]()

    def _spread(self, metric: str, values: Values) -> TextScore:
        """Lay numbers out over the whole set, NaN where there are none."""
        row = {key: at for at, key in enumerate(self._keys)}
        where = [row[key] for key in self._rows]
        whole = np.full((len(self._keys), *values.shape[1:]), np.nan)
        whole[where] = values
        fields = (("tok", "ptb"), ("impl", f"pycocoevalcap-{importlib.metadata.version('pycocoevalcap')}"))
        if metric not in CORPUS:
            more = (("df", "set"),) if metric == "cider" else ()
            return TextScore(metric, self._keys, whole, None, fields + more)
        return TextScore(metric, self._keys, CORPUS[metric](whole), whole, fields)

    def _bleu(self) -> dict[str, Values]:
        counted = [bleu.References(some) for some in self._references]
        out = {}
        for name, captions in self._captions.items():
            values = np.full((len(self._rows), bleu.STATISTICS), np.nan)
            for row, caption in enumerate(captions):
                if caption is not None:
                    values[row] = counted[row].statistics(caption)
            out[name] = values
        return out

    def _by_java(self, score: _JavaScorer, width: tuple[int, ...]) -> dict[str, Values]:
        """Score each distinct caption of each image once, in one run for all systems."""
        given = self._captions.values()
        distinct = sorted({(row, text) for some in given for row, text in enumerate(some) if text is not None})
        place = {pair: at for at, pair in enumerate(distinct)}
        made = score([(text, self._references[row]) for row, text in distinct])
        out = {}
        for name, captions in self._captions.items():
            values = np.full((len(self._rows), *width), np.nan)
            held = [(row, text) for row, text in enumerate(captions) if text is not None]
            values[[row for row, _ in held]] = made[[place[pair] for pair in held]]
            out[name] = values
        return out

    def _cider(self) -> dict[str, Values]:
        frequencies = cider.Frequencies(self._references)
        return {name: frequencies.score(captions) for name, captions in self._captions.items()}

    def _rouge(self) -> dict[str, Values]:
        """ROUGE-L: Lin and Och 2004, section 3, beta = 1.2, best precision and best recall over the references."""
        from pycocoevalcap.rouge.rouge import Rouge

        rouge, known = Rouge(), dict[tuple[int, str], float]()

        def score(row: int, caption: str | None) -> float:
            if not caption:
                return float("nan") if caption is None else 0.0
            if (row, caption) not in known:
                known[row, caption] = float(rouge.calc_score([caption], self._references[row]))
            return known[row, caption]

        return {
            name: np.array([score(row, caption) for row, caption in enumerate(captions)], np.float64)
            for name, captions in self._captions.items()
        }
