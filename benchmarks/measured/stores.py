"""Stores of a given size, filled through the store's own writer with made-up unit vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clipstore import Store, keys
from clipstore.encoders.fake import FakeEncoder
from clipstore.store.writing import Writer

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.store import Space

DIM = 512
MODEL = f"fake:{DIM}"
PREFIX = "A photo depicts "
_CHUNK = 200_000
_DRAWN = 20_000  # distinct vectors; what they are is no matter to what is measured


def caption(number: int) -> str:
    """Return a caption of usual length, 52 characters or so."""
    return f"a man number {number} rides a brown horse along the beach"


def unit_vectors(rows: int, seed: int = 0) -> np.ndarray:
    """Return unit vectors, float32 of shape (rows, DIM)."""
    drawn = np.random.default_rng(seed).standard_normal((min(rows, _DRAWN), DIM), np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.resize(drawn, (rows, DIM))


def fill(store: Store, texts: int, first: int = 0) -> Space:
    """Add the vectors of so many captions; return their space."""
    space = store.space(MODEL)
    for start in range(first, first + texts, _CHUNK):
        numbers = range(start, min(start + _CHUNK, first + texts))
        add(store, space, [caption(number) for number in numbers])
    return space


def add(store: Store, space: Space, texts: list[str]) -> None:
    """Commit vectors for texts as an encoder's are committed: file first, rows second, then tidying."""
    writer = Writer(store.catalogue, space._row, "text", FakeEncoder(DIM).environment, PREFIX)
    raw = dict(zip(keys.text_ids(texts), texts, strict=True))
    writer.add_texts(space.text_keys(texts, PREFIX), unit_vectors(len(texts)), raw, [])
    writer.flush()


def of_size(folder: Path, texts: int) -> Path:
    """Make a store with so many captions, unless it stands there from an earlier run."""
    where = folder / f"store-{texts}"
    if not (where / "full").exists():
        with Store.open(where) as store:
            fill(store, texts)
        (where / "full").write_text("")
    return where
