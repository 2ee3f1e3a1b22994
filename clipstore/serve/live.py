"""The live report of a saved eval set: made anew when its systems changed, else kept."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, final

from clipstore.compare import compare
from clipstore.errors import ClipstoreError, InputError, NotStored
from clipstore.evalset import EvalSet, load_systems, systems_in
from clipstore.evaluate.measuring import measure_systems, needs_images, wanted
from clipstore.report import gather
from clipstore.storage import overlay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clipstore.compare import Comparison
    from clipstore.evalset import System
    from clipstore.report import Report
    from clipstore.significance import Settings
    from clipstore.store import Space, Store

_MANY = 40  # systems above which every one is tested against the first alone


@final
class Live:
    """A saved eval set as a report; what other processes add shows up at the next request.

    The request that finds the store changed waits for the new report; others are answered from the old one meanwhile.

    Parameters
    ----------
    store
        Where the set is saved.
    set_name
        Its name.
    space
        Gives the vectors; called once, when a metric looks at images.
    metrics
        Names; None: what the set allows.
    baseline
        The system that others are compared with.
    settings
        Of the tests.
    """

    def __init__(
        self,
        store: Store,
        set_name: str,
        space: Callable[[], Space],
        *,
        metrics: Sequence[str] | None = None,
        baseline: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.store = store
        self.set_name = set_name
        self._given_space = space
        self._space: Space | None = None
        self._metrics = metrics
        self._baseline = baseline
        self._settings = settings
        self._lock, self._space_lock = Lock(), Lock()
        self._version: tuple[int, ...] | None = None
        self._state: object = None
        self._report: Report | None = None
        self._left_out = False  # a system that was not encoded yet may be by now

    @property
    def space(self) -> Space:
        """The vectors of one encoder."""
        with self._space_lock:
            if self._space is None:
                self._space = self._given_space()
            return self._space

    def report(self) -> Report:
        """Return the report as the store stands now.

        Raises
        ------
        NotStored
            When the set is gone, or has no system that can be shown.
        """
        known = self._report
        held = self._lock.acquire(blocking=known is None)
        if known is not None and not held:
            return known
        try:
            version = overlay.version(self.store.catalogue)
            if self._report is not None and version == self._version:
                return self._report
            rows = systems_in(self.store, self.set_name)
            state = [(row.name, row.digest) for row in rows], self._set_digest()
            if self._report is None or state != self._state or self._left_out:
                self._report = self._made()
                self._state = state
            self._version = version
            return self._report
        finally:
            self._lock.release()

    def _set_digest(self) -> str | None:
        return next((row.digest for row in self.store.sets() if row.name == self.set_name), None)

    def _made(self) -> Report:
        evalset = EvalSet.load(self.store, self.set_name)
        names = wanted(evalset, self._metrics)
        where: Space | Store = self.space if needs_images(names) else self.store
        shown, left = self._loaded(evalset)
        done, more = self._measured(where, shown, evalset, names)
        self._left_out = bool(left or more)
        notes = tuple(f"{name} is not shown: {reason}" for name, reason in [*left, *more])
        part = done.parts[0]
        part = replace(part, measured=replace(part.measured, warnings=(*part.measured.warnings, *notes)))
        return gather(replace(done, parts=(part, *done.parts[1:])), where)

    def _loaded(self, evalset: EvalSet) -> tuple[list[System], list[tuple[str, str]]]:
        """Return the systems with one caption an image, and those left out with the reason."""
        shown: list[System] = []
        left: list[tuple[str, str]] = []
        for row in systems_in(self.store, self.set_name):
            try:
                shown += load_systems(self.store, evalset, [_exactly(row.name)], missing="skip", empty="zero")
            except ClipstoreError as error:
                left.append((row.name, str(error)))
        return shown, left

    def _measured(
        self, where: Space | Store, systems: Sequence[System], evalset: EvalSet, names: Sequence[str]
    ) -> tuple[Comparison, list[tuple[str, str]]]:
        """Compare what is encoded; a system with captions that are not is named with the remedy."""
        kept: list[System] = list(systems)
        left: list[tuple[str, str]] = []
        try:
            made = measure_systems(where, kept, evalset, names, encode=False)
        except NotStored:
            kept, left = self._encoded(where, systems, evalset, names)
            if not kept:
                msg = (
                    f"nothing of {self.set_name} is encoded with this model: run clipstore score -t {self.set_name} "
                    "with the same --model first"
                )
                raise NotStored(msg) from None
            made = measure_systems(where, kept, evalset, names, encode=False)
        baseline = self._baseline or (made.names[0] if len(made.names) > _MANY else None)
        return compare(made, baseline=baseline, missing="skip", settings=self._settings), left

    def _encoded(
        self, where: Space | Store, systems: Sequence[System], evalset: EvalSet, names: Sequence[str]
    ) -> tuple[list[System], list[tuple[str, str]]]:
        kept: list[System] = []
        left: list[tuple[str, str]] = []
        for system in systems:
            try:
                measure_systems(where, [system], evalset, names, encode=False)
            except NotStored:
                left.append((system.name, f"not encoded yet: clipstore score -t {self.set_name} {system.name!r}"))
            else:
                kept.append(system)
        return kept, left


def _exactly(name: str) -> str:
    """Return a pattern that fits this name alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def check(live: Live) -> Report:
    """Make the report once, so that a wrong name is said before the server starts.

    Raises
    ------
    InputError
        When the set has no system.
    """
    report = live.report()
    if not report.names:
        msg = f"{live.set_name} has no system: clipstore add -t {live.set_name} NAME=CAPS adds one"
        raise InputError(msg)
    return report
