"""Published numbers, times 100 as their papers print them, each with its source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIPSCORE: Final = "Hessel et al. 2021, arXiv 2104.08718"
_PAC: Final = "Sarto et al. 2023, arXiv 2303.12112"
_POLOS: Final = "Wada et al. 2024, CVPR (Polos)"
_FLEUR: Final = "Lee et al. 2024, ACL (FLEUR), and its result files"
_EXPERT: Final = "Kim et al. 2025, ACL Findings (EXPERT)"

BLEU_4_CF: Final = "BLEU-4 on Flickr8k-CF: 16.9 in the CLIPScore and PAC-S papers, 16.4 in arXiv 2512.21582"
"""A known conflict between sources."""

PASCAL_VOTES: Final = (
    "the first version of the CLIPScore paper used 11 votes a pair, its erratum of March 2022 all 48: "
    "CLIP-S 83.7 against 80.7 on average"
)

PASCAL_BLEU: Final = (
    "BLEU-4 on Pascal-50S: the paper's numbers fit text without PTB tokens; with them HI is 2 and MM 3 points higher "
    "(--explain shows it)"
)
"""A known difference; the paper does not say how its text was cut."""


@final
@dataclass(frozen=True, slots=True)
class Published:
    """What a paper prints for one metric on one benchmark.

    Parameters
    ----------
    values
        ``tau_b`` and ``tau_c``, or an accuracy by category; times 100.
    source
        The paper.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    source: str = CLIPSCORE

    def to_dict(self) -> dict[str, float | str]:
        """Return raw values (not times 100) and the source."""
        return {**{name: round(value / 100, 6) for name, value in self.values.items()}, "source": self.source}


def _sources(metric: str) -> str:
    by_metric = {"pac-s": _PAC, "ref-pac-s": _PAC, "polos": _POLOS, "fleur": _FLEUR, "ref-fleur": _FLEUR}
    return by_metric.get(metric, _EXPERT if metric == "expert" else CLIPSCORE)


# Metric: (Expert b, Expert c, CF b, CF c, Composite b, Composite c, Nebula b, Nebula c, Polaris c); None: not printed.
# CLIPScore tables 1 to 3; the taus that it does not print, Nebula and Polaris from the tables of PAC-S, Polos and VELA.
_TAUS: Final[dict[str, tuple[float | None, ...]]] = {
    "bleu-1": (None, 32.3, 17.9, None, None, 31.3, None, None, None),
    "bleu-4": (30.6, 30.8, 16.9, 8.7, 28.3, 30.6, 46.5, 44.1, 46.3),
    "rouge-l": (32.1, 32.3, 19.9, 10.3, 30.0, 32.4, 45.8, 43.4, 46.3),
    "meteor": (41.5, 41.8, 22.3, 11.5, 36.0, 38.9, 50.2, 47.6, 51.2),
    "cider": (43.6, 43.9, 24.6, 12.7, 34.9, 37.7, 51.5, 48.8, 52.1),
    "spice": (51.7, 44.9, 24.4, 12.0, 38.8, 40.3, 51.5, 47.4, 51.0),
    "clip-s": (51.1, 51.2, 34.4, 17.7, 49.8, 53.8, 50.5, 47.9, 52.3),
    "ref-clip-s": (52.6, 53.0, 36.4, 18.8, 51.2, 55.4, None, 46.9, 52.3),
    "pac-s": (53.9, 54.3, 36.0, 18.6, 51.5, 55.7, 51.0, 48.3, 52.5),
    "ref-pac-s": (None, 55.9, 37.6, None, None, 57.3, None, 50.6, 56.0),
    "polos": (56.1, 56.4, 37.8, 19.5, 53.7, 57.6, 58.0, 55.0, 57.8),
    "fleur": (None, 53.0, 38.6, None, None, 63.5, None, None, None),
    "ref-fleur": (None, 51.9, 38.8, None, None, 64.2, None, None, None),
    "expert": (None, 56.7, 39.3, None, None, 65.0, None, 54.9, 61.1),
}
_COLUMNS: Final = (
    ("flickr8k-expert", "tau_b"), ("flickr8k-expert", "tau_c"), ("flickr8k-cf", "tau_b"), ("flickr8k-cf", "tau_c"),
    ("composite", "tau_b"), ("composite", "tau_c"), ("nebula", "tau_b"), ("nebula", "tau_c"), ("polaris", "tau_c"),
)  # fmt: skip

# CLIPScore tables 4 (48 votes, after the erratum) and 5; FLEUR's from its result files.
_PASCAL: Final[dict[str, tuple[float, ...]]] = {
    "length": (51.7, 52.3, 63.6, 49.6, 54.3),
    "bleu-4": (60.4, 90.6, 84.9, 54.7, 72.6),
    "meteor": (63.8, 97.7, 93.7, 65.4, 80.1),
    "cider": (65.1, 98.1, 90.5, 64.8, 79.6),
    "spice": (63.6, 96.3, 86.7, 68.3, 78.7),
    "bert-s": (65.4, 96.2, 93.3, 61.4, 79.1),
    "clip-s": (56.5, 99.3, 96.4, 70.4, 80.7),
    "ref-clip-s": (64.5, 99.6, 95.4, 72.8, 83.1),
    "fleur": (61.3, 99.7, 97.6, 74.2, 83.2),
}
_PASCAL_11: Final = {
    "length": 55.8, "bleu-4": 70.8, "meteor": 78.2, "cider": 76.6, "spice": 76.7, "bert-s": 75.3, "clip-s": 83.7,
    "ref-clip-s": 83.6,
}  # fmt: skip
_FOIL: Final = {
    "length": (50.2, 50.2), "bleu-4": (66.5, 82.6), "meteor": (78.8, 85.4), "cider": (82.5, 90.6),
    "spice": (75.5, 86.1), "bert-s": (88.6, 92.1), "clip-s": (87.2, 87.2), "ref-clip-s": (91.0, 92.6),
}  # fmt: skip
_ABSTRACT: Final = {"clip-s": 68.0, "meteor": 79.0, "cider": 79.0, "length": 53.0}
CATEGORIES: Final = ("HC", "HI", "HM", "MM", "mean")

_ALIASES: Final = {
    "clipscore": "clip-s", "refclipscore": "ref-clip-s", "refclip-s": "ref-clip-s",
    "pacscore": "pac-s", "refpacscore": "ref-pac-s", "refpac-s": "ref-pac-s",
}  # fmt: skip


def published(benchmark: str, metric: str) -> Published | None:
    """Return what papers print for a metric on a benchmark; None where none does.

    Parameters
    ----------
    benchmark
        Its name, such as ``flickr8k-expert``.
    metric
        Its name; case, underscores and spaces do not matter.
    """
    plain = metric.lower().replace("_", "-").replace(" ", "-")
    name = _ALIASES.get(plain, plain)
    values: dict[str, float] = {}
    if benchmark == "pascal50s" and name in _PASCAL:
        values = dict(zip(CATEGORIES, _PASCAL[name], strict=True))
    elif benchmark == "pascal50s-11" and name in _PASCAL_11:
        values = {"mean": _PASCAL_11[name]}
    elif benchmark == "foil" and name in _FOIL:
        values = dict(zip(("1 reference", "4 references"), _FOIL[name], strict=True))
    elif benchmark == "abstract50s" and name in _ABSTRACT:
        values = {"mean": _ABSTRACT[name]}
    elif name in _TAUS:
        cells = zip(_COLUMNS, _TAUS[name], strict=True)
        values = {tau: value for (own, tau), value in cells if own == benchmark and value is not None}
    return Published(values, _sources(name)) if values else None
