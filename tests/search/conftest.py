"""A store with six drawn images, references and a system."""

from __future__ import annotations

from pathlib import Path

import drawn
import pytest

import clipstore as cs
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
def evalset(tmp_path: Path) -> EvalSet:
    """Six drawn images with references."""
    return EvalSet.read(images=drawn.draw(tmp_path / "images", 6), refs=drawn.references(6))


@pytest.fixture
def filled(space: Space, evalset: EvalSet) -> Space:
    """The space with images, references and a system's captions in it."""
    cs.score(space, {"a": drawn.captions(6)}, evalset)
    return space
