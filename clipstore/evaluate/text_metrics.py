"""Text metrics of systems, through the cache of pair scores: Java runs for new captions only.

A number is known by (scorer, context, caption). The context of BLEU, METEOR, ROUGE-L and
SPICE is the item's references; that of CIDEr is all references of the set and the
item's, because its document frequencies come from the whole set.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final, final

import numpy as np
import numpy.typing as npt

from clipstore import keys
from clipstore.errors import Busy, CannotWrite, InputError
from clipstore.evaluate.measures import Measure
from clipstore.metrics.names import SHOWN, TIMES_100
from clipstore.metrics.score import Signature
from clipstore.metrics.text import CORPUS, bleu, java, meteor, score_texts
from clipstore.storage.catalogue import pairs, settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.evalset import EvalSet
    from clipstore.evalset.systems import System
    from clipstore.storage.catalogue import Catalogue

    Values = npt.NDArray[np.float64]

# A pair score is a float32, exact for whole numbers below 2^24: two counts below 2^12 go into one.
_PACK: Final = 1 << 12
_KINDS: Final = {"bleu": bleu.STATISTICS, "meteor": meteor.STATISTICS}
_DISTRIBUTION: Final = "pycocoevalcap"
_LEAST: Final = "1.2"  # the version that the extra asks for


@final
@dataclass(frozen=True, eq=False)
class TextMeasures:
    """Text metrics, and what could not be had.

    Parameters
    ----------
    measures
        By name, in the order asked.
    problems
        One line a fault, such as "no Java"; the metrics concerned are left out.
    """

    measures: Mapping[str, Measure]
    problems: tuple[str, ...]


def text_measures(
    catalogue: Catalogue,
    systems: Sequence[System],
    evalset: EvalSet,
    metrics: Sequence[str],
    signed: Sequence[tuple[str, str]],
) -> TextMeasures:
    """Return text metrics of systems; what the store knows is read, the rest computed and kept.

    Parameters
    ----------
    catalogue
        Where pair scores are kept; one that can't be written is only read.
    systems
        In the order of the eval set.
    evalset
        Closed.
    metrics
        Canonical names.
    signed
        Fields that end each signature: set, references, version.
    """
    version = _version(catalogue)
    found: dict[str, Values] = {}
    faults: dict[str, list[str]] = {}
    for family in dict.fromkeys(_family(metric) for metric in metrics):
        cached = _Cached(catalogue, systems, evalset, family, version)
        fault = cached.complete()
        if fault:
            faults.setdefault(fault, []).extend(SHOWN[name] for name in metrics if _family(name) == family)
        else:
            found[family] = cached.values
    measures = {
        metric: _measure(metric, found[_family(metric)], version, signed)
        for metric in metrics
        if _family(metric) in found
    }
    return TextMeasures(measures, tuple(f"{fault}; left out: {', '.join(names)}" for fault, names in faults.items()))


def _version(catalogue: Catalogue) -> str:
    """Return the version behind the numbers: of what is installed, else of what made those in the store."""
    try:
        java.package()
        return metadata.version(_DISTRIBUTION)
    except (InputError, metadata.PackageNotFoundError):
        with catalogue.read() as tx:
            return settings.get(tx, _DISTRIBUTION) or _LEAST


def _family(metric: str) -> str:
    return "bleu" if metric.startswith("bleu") else metric


def _measure(metric: str, values: Values, version: str, signed: Sequence[tuple[str, str]]) -> Measure:
    fields = [("tok", "ptb"), ("impl", f"{_DISTRIBUTION}-{version}")]
    if metric == "cider":
        fields.append(("df", "set"))
    signature = Signature(SHOWN[metric], (*fields, *signed))
    percent = metric in TIMES_100
    if metric not in CORPUS:
        # kept in float32: the tests must take their ties for what they are
        return Measure(metric, signature, values[:, :, 0].astype(np.float32), percent=percent)
    per_item = CORPUS[metric](values)
    per_item[np.isnan(values).any(axis=2)] = np.nan
    return Measure(metric, signature, per_item, "corpus", values, CORPUS[metric], percent=percent)


class _Cached:
    """The numbers of one family: read from the store, then completed."""

    def __init__(
        self, catalogue: Catalogue, systems: Sequence[System], evalset: EvalSet, family: str, version: str
    ) -> None:
        self._catalogue, self._systems, self._evalset, self._family = catalogue, systems, evalset, family
        self._kinds, self._version = _KINDS.get(family, 1), version
        fields = {"kind": family, "impl": _DISTRIBUTION, "version": version, "tok": "ptb"}
        self._scorer = keys.digest_json(fields)[: keys.HEX_DIGITS]
        contexts = [keys.combine(keys.text_ids(item.references)) for item in evalset.items]
        if family == "cider":
            whole = keys.combine(sorted(contexts))
            contexts = [keys.combine([whole, own]) for own in contexts]
        self._places = [
            (row, place)
            for row, system in enumerate(systems)
            for place, text in enumerate(system.texts)
            if text is not None and evalset.items[place].references
        ]
        texts = keys.text_ids(systems[row].texts[place] or "" for row, place in self._places)
        self._texts = np.array(texts, np.int64)
        self._contexts = np.array([contexts[place] for _, place in self._places], np.int64)
        self.values: Values = np.full((len(systems), len(evalset.items), self._kinds), np.nan)

    def _fill(self, values: Values) -> None:
        for kind in range(self._kinds):
            column = self.values[:, :, kind]
            column[tuple(np.array(self._places, np.int64).reshape(-1, 2).T)] = values[:, kind]

    def complete(self) -> str:
        """Read what is known, compute and keep the rest; return what went wrong, or nothing."""
        values = self._read()
        missing = np.flatnonzero(np.isnan(values).any(axis=1)).tolist()
        if missing:
            fault = self._compute(values, missing)
            if fault:
                return fault
        self._fill(values)
        return ""

    def _scorers(self) -> list[str]:
        return [f"{self._scorer}{part:02x}" for part in range(-(-self._kinds // 2))]

    def _read(self) -> Values:
        with self._catalogue.read() as tx:
            stored = [pairs.get(tx, scorer, self._contexts, self._texts) for scorer in self._scorers()]
        return _unpacked(np.stack(stored, axis=1).astype(np.float64), self._kinds)

    def _compute(self, values: Values, missing: list[int]) -> str:
        """Compute what is missing into ``values`` and keep it; return what went wrong, or nothing."""
        names = [system.name for system in self._systems]
        asked: dict[str, dict[str | int, str | None]] = {name: {} for name in names}
        for at in missing:
            row, place = self._places[at]
            asked[names[row]][self._evalset.keys[place]] = self._systems[row].texts[place]
        metric = "bleu-4" if self._family == "bleu" else self._family
        references = {item.key: item.references for item in self._evalset.items}
        try:
            made = score_texts(references, {name: own for name, own in asked.items() if own}, [metric])
        except InputError as error:  # pycocoevalcap is not installed
            return str(error)
        if made.problems:
            return made.problems[metric]
        for at in missing:
            row, place = self._places[at]
            score = made.systems[names[row]][metric]
            values[at] = score.per_item[place] if score.statistics is None else score.statistics[place]
        packed = _packed(values[missing]).astype(np.float32)
        again = _unpacked(packed.astype(np.float64), self._kinds)
        whole = np.ones(len(missing), bool)
        if self._kinds > 1:  # a count that does not fit is computed each time rather than kept wrong
            whole = (again == values[missing]).all(axis=1)
        sound = np.array(missing)[whole]
        values[sound] = again[whole]
        self._keep(sound.tolist(), packed[whole])
        return ""

    def _keep(self, rows: list[int], packed: npt.NDArray[np.float32]) -> None:
        if self._catalogue.readonly or not rows:
            return
        try:
            with self._catalogue.write(patience=0) as tx:
                settings.set(tx, _DISTRIBUTION, self._version)
                for part, scorer in enumerate(self._scorers()):
                    pairs.add(tx, scorer, self._contexts[rows], self._texts[rows], packed[:, part])
        except (Busy, CannotWrite):
            return


def _packed(values: Values) -> Values:
    """Return two counts a column: low + 4096 high; a single number stays as it is."""
    if values.shape[1] == 1:
        return values
    padded = np.pad(values, ((0, 0), (0, values.shape[1] % 2)))
    return np.asarray(padded[:, ::2] + _PACK * padded[:, 1::2])


def _unpacked(values: Values, kinds: int) -> Values:
    if kinds == 1:
        return values
    both = np.stack([values % _PACK, values // _PACK], axis=2).reshape(len(values), -1)
    return np.asarray(both[:, :kinds])
