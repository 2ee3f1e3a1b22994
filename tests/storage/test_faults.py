"""Every step of a commit, with the process killed there: the store opens, is sound, and has all or nothing of it."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from small_stores import DIGEST, commit, in_children, unit_vectors

from clipstore.storage import faults
from clipstore.storage.catalogue import Catalogue, segments
from clipstore.storage.check import check
from clipstore.storage.lookup import Shelf
from clipstore.storage.repair import repair

OLD, NEW = np.arange(8), np.arange(8, 16)
VECTORS = unit_vectors(16)
BEFORE_COMMIT = faults.STEPS[: faults.STEPS.index("committing") + 1]


def test_steps_cost_nothing_without_a_hook():
    """A step does nothing unless a test has installed a hook, and calls it with its name when one has."""
    faults.reach("committed")
    seen = []
    faults.install(seen.append)
    faults.reach("committed")
    faults.install(None)
    faults.reach("committed")
    assert seen == ["committed"]


def test_a_commit_passes_every_step_in_order(catalogue):
    """Bytes come first, the row second: the steps are reached in the order in which they are listed."""
    seen = []
    faults.install(seen.append)
    commit(catalogue, OLD, VECTORS[:8])
    faults.install(None)
    assert seen == [step for step in faults.STEPS if not step.startswith("file delet")]


@pytest.mark.parametrize("step", [*BEFORE_COMMIT, "committed"])
def test_killed_at_any_step_the_store_has_all_or_nothing(folder, step):
    """SIGKILL at any step leaves a store that opens, has nothing worse than litter, and every committed vector."""
    first = Catalogue.open(folder)
    commit(first, OLD, VECTORS[:8])
    first.close()

    def work(_):
        catalogue = Catalogue.open(folder)
        faults.install(lambda reached: os.kill(os.getpid(), signal.SIGKILL) if reached == step else None)
        commit(catalogue, NEW, VECTORS[8:])

    assert in_children(1, work) == [-signal.SIGKILL]
    catalogue = Catalogue.open(folder)
    assert [finding for finding in check(folder, catalogue) if finding.severity != "note"] == []
    there = step == "committed"
    assert _shelf(catalogue).contains(NEW).tolist() == [there] * 8
    assert np.array_equal(_shelf(catalogue).gather(OLD), VECTORS[:8])
    repair(folder, catalogue, grace=0)
    assert check(folder, catalogue) == []
    whole = step not in ("file opened", "file written", "file synced")
    assert _shelf(catalogue).contains(NEW).tolist() == [whole] * 8
    catalogue.close()


def _shelf(catalogue):
    with catalogue.read() as tx:
        return Shelf(catalogue.folder, segments.all(tx, DIGEST, "text"))
