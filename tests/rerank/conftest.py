"""Small n-best sets in a real store, with the watched fake encoder."""

from __future__ import annotations

from pathlib import Path

import drawn
import pytest

from clipstore import EvalSet, Store
from clipstore.store import Space


@pytest.fixture
def encoder() -> drawn.Watched:
    """The fake encoder, with a record of what it embedded."""
    return drawn.Watched()


@pytest.fixture
def space(store: Store, encoder: drawn.Watched) -> Space:
    """Its space in a real store."""
    return store.custom_space(encoder, "fake")


@pytest.fixture
def other(store: Store) -> Space:
    """A second model's space in the same store."""
    return store.custom_space(drawn.Watched(32), "fake:32")


@pytest.fixture
def evalset(tmp_path: Path) -> EvalSet:
    """Six drawn images with references."""
    return EvalSet.read(images=drawn.draw(tmp_path / "images", 6), refs=drawn.references(6))


@pytest.fixture
def nbest() -> list[dict[str, object]]:
    """Six images with two to four candidates and log-probabilities."""
    return [
        {
            "image_id": drawn.name(i),
            "captions": [f"candidate {j} of picture {i}" for j in range(2 + i % 3)],
            "mean_logprob": [-1.0 - ((7 * i + 3 * j) % 5) / 3 for j in range(2 + i % 3)],
        }
        for i in range(6)
    ]
