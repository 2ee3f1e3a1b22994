"""What ``metaeval --metric`` names: clipstore's metrics, and the user's own."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from clipstore.errors import InputError
from clipstore.evaluate.names import metric_names
from clipstore.metaeval.verb import length

if TYPE_CHECKING:
    from clipstore.encoders.protocol import PairScorer
    from clipstore.metaeval.scoring import UserMetric

OWN = "length, none, and MODULE:NAME for your own (a function, or a scorer of image and caption)"


@final
@dataclass(frozen=True, slots=True)
class Metrics:
    """What ``--metric`` names.

    Parameters
    ----------
    names
        Of the metrics that clipstore knows; None: the usual ones.
    functions, scorers
        The user's own.
    """

    names: list[str] | None
    functions: dict[str, UserMetric]
    scorers: dict[str, PairScorer]

    @property
    def own(self) -> bool:
        """Whether there is any of the user's own."""
        return bool(self.functions or self.scorers)


def metrics_of(given: list[str] | None) -> Metrics:
    """Tell the metrics of clipstore, the user's own, ``length`` and ``none`` apart.

    Raises
    ------
    InputError
        When a name stands for nothing.
    """
    if given is None:
        return Metrics(None, {}, {})
    own = {one: _imported(one) for one in given if ":" in one}
    functions: dict[str, UserMetric] = {"length": length} if "length" in given else {}
    functions |= {name: one for name, one in own.items() if not hasattr(one, "fingerprint")}
    known = [one for one in given if one not in own and one not in {"length", "none"}]
    try:
        names = metric_names(known)
    except InputError as error:
        msg = f"{error}; {OWN}"
        raise InputError(msg) from error
    return Metrics(names, functions, {name: one for name, one in own.items() if hasattr(one, "fingerprint")})


def _imported(given: str) -> Any:
    module, _, name = given.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        msg = f"--metric {given}: {error}; give MODULE:NAME, importable here"
        raise InputError(msg) from error
