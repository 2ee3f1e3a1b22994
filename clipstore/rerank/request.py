"""What was asked of ``rerank``, apart from the candidates, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.errors import InputError
from clipstore.rerank.cascade import check as check_cascade

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clipstore.encoders.protocol import PairScorer
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

    @property
    def looking(self) -> tuple[Space | PairScorer | None, ...]:
        """The models that look at the candidates: those of the cascade, else the selector's; and the judge's."""
        selectors = tuple(stage.scorer for stage in self.stages) or (self.space,)
        return (*selectors, self.report_space)

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
            (
                not self.stages or self.k <= self.stages[-1].keep,
                f"-k {self.k} asks for more captions than the last stage of --cascade keeps: give it a larger number",
            ),
            (not self.stages or self.mmr is None, "--mmr and --cascade can't be joined: give one of them"),
            (self.mmr is None or self.space is not None, "--mmr compares captions by a model: name one with --model"),
        ):
            if not ok:
                raise InputError(fault)

    def check_images(self, *, images: bool) -> None:
        """Refuse what looks at images where there are none.

        Raises
        ------
        InputError
            Naming the option.
        """
        for ok, fault in (
            (images or not self.stages, "a cascade needs images"),
            (images or self.report_space is None, "--report-model judges by CLIP-S, which needs images"),
        ):
            if not ok:
                msg = f"{fault}: give --images DIR, or a saved set with images (-t SET)"
                raise InputError(msg)

    def refuse_idle(self, *, by: bool, fuse: bool, weight: bool) -> None:
        """Refuse options that would be left alone in silence: which were given, in words on the command line.

        Raises
        ------
        InputError
            Naming both.
        """
        mixes = self.by == "mix" and not self.stages
        for idle, fault in (
            (by and bool(self.stages), "--by and --cascade both say how to choose: leave one of them out"),
            (
                fuse and (self.by != "rrf" or bool(self.stages)),
                "--fuse names what --by rrf joins: leave --fuse out, or choose with --by rrf",
            ),
            (
                weight and not mixes,
                "--clip-weight weighs CLIP-S in --by mix only: leave --clip-weight out, or choose with --by mix",
            ),
        ):
            if idle:
                raise InputError(fault)

    def refuse_idle_tuning(self, given: Mapping[str, bool], *, tune: bool, weight: bool) -> None:
        """Refuse tuning that finds no use, and what belongs to tuning where nothing is tuned.

        Raises
        ------
        InputError
            Naming the options.
        """
        without = next((flag for flag, there in given.items() if there and not tune), None)
        if without is not None:
            msg = f"{without} belongs to --tune-on: name the development file with --tune-on, or leave {without} out"
            raise InputError(msg)
        if tune and (self.by != "mix" or self.stages):
            msg = "a weight is tuned for --by mix only: leave --tune-on out, or choose by mix"
            raise InputError(msg)
        if tune and weight:
            msg = "--clip-weight gives the weight and --tune-on looks for it: leave one of them out"
            raise InputError(msg)
