"""What was asked of ``rerank``, apart from the candidates, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.errors import InputError
from clipstore.rerank.cascade import check as check_cascade

if TYPE_CHECKING:
    from clipstore.rerank.cascade import Stage
    from clipstore.rerank.embedding import Switches
    from clipstore.rerank.selecting import Method
    from clipstore.store import Space


@final
@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, apart from the candidates."""

    space: Space | None
    report_space: Space | None
    stages: tuple[Stage, ...]
    by: Method
    k: int
    mmr: float | None
    switches: Switches

    def check(self) -> None:
        """Refuse options that do not fit together.

        Raises
        ------
        InputError
            Naming the option.
        """
        if self.stages:
            check_cascade(self.stages)
        for ok, fault in (
            (self.k >= 1, f"-k counts captions of an image, 1 or more, not {self.k}"),
            (self.mmr is None or 0 <= self.mmr <= 1, f"--mmr takes a lambda between 0 and 1, not {self.mmr}"),
            (self.mmr is None or self.k > 1, "--mmr chooses several captions of an image: give -k 2 or more"),
            (not self.stages or self.mmr is None, "--mmr and --cascade can't be joined: give one of them"),
        ):
            if not ok:
                raise InputError(fault)

    def refuse_given_weight(self, weight: float | None) -> None:
        """Refuse tuning where a weight was given or none is used."""
        if self.by != "mix" or self.stages:
            msg = "a weight is tuned for --by mix only: leave --tune-on out, or choose by mix"
            raise InputError(msg)
        if weight is not None:
            msg = "--clip-weight gives the weight and --tune-on looks for it: leave one of them out"
            raise InputError(msg)
