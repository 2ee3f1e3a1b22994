"""The weight of mix: found where it is right, cross-fitted, with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from clipstore.errors import InputError
from clipstore.rerank.ragged import Ragged
from clipstore.rerank.tuning import FOLDS, GRID, best_weight, fold_of, tuned


def development(images: int, signal: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, Ragged]:
    """Draw candidates whose target follows clip, logp, or both."""
    random = np.random.default_rng(3)
    lists = Ragged.of_counts(np.full(images, 5))
    clip, logp = random.standard_normal(lists.total), random.standard_normal(lists.total)
    target = {"clip": clip, "logp": logp, "both": clip + logp}[signal] + 0.01 * random.standard_normal(lists.total)
    return clip, logp, target, lists


@pytest.mark.parametrize(("signal", "low", "high"), [("clip", 0.8, 1), ("logp", 0, 0.2), ("both", 0.35, 0.65)])
def test_the_weight_follows_the_signal(signal: str, low: float, high: float) -> None:
    """A target that is CLIP-S gives a weight near 1, log-probability near 0, their sum near 0.5."""
    clip, logp, target, lists = development(400, signal)
    keys = list(range(400))
    found = tuned(clip, logp, target, lists, np.arange(lists.total), keys, name="cider", source="dev.json")
    assert low <= found.weight <= high
    assert found.low <= found.weight <= found.high
    assert found.value > found.first
    assert found.ci is not None
    assert found.ci.low < found.value < found.ci.high
    assert found.value <= max(found.grid) + 1e-9, "cross-fitted picks are no better than the best weight on all"


def test_images_without_a_target_are_left_out() -> None:
    """NaN drops the image; with fewer than two left, tuning is refused."""
    clip, logp, target, lists = development(3, "clip")
    target[5:] = np.nan
    with pytest.raises(InputError, match="needs at least two"):
        tuned(clip, logp, target, lists, np.arange(lists.total), [1, 2, 3], name="cider", source="dev.json")


def test_equal_weights_go_to_the_one_nearest_half() -> None:
    """A flat grid says nothing, and 0.5 stays."""
    assert GRID[best_weight(np.ones(len(GRID)))] == 0.5


def test_folds_follow_the_ids() -> None:
    """An image's fold does not depend on its place, and all folds are used."""
    keys = [f"image-{i}" for i in range(100)]
    folds = fold_of(keys)
    assert fold_of(keys[::-1]).tolist() == folds.tolist()[::-1]
    assert set(folds.tolist()) == set(range(FOLDS))
