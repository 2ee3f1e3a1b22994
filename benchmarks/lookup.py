"""Claim: 100,000 cached 512-d vectors come back by caption text as from a dict over a mapped .npy.

Rivals: LangChain's CacheBackedEmbeddings on a file store, diskcache, simonw/llm's SQLite
collection, and a dict over a mapped ``.npy``. One that is not installed is named and left
out: ``pip install diskcache langchain-classic llm``. Slow ones fetch fewer and are scaled.

    python benchmarks/lookup.py [TEXTS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from measured import machine
from measured.stores import PREFIX, caption, fill, unit_vectors

from clipstore import Store

REPEATS = 5
GOAL = 10
FEWER = 10  # slow rivals hold and fetch one in so many
Fetch = Callable[[Sequence[str]], np.ndarray]


def clipstore(folder: Path, texts: list[str], vectors: np.ndarray) -> Fetch:
    """Derive keys from the texts, then gather their vectors."""
    store = Store.open(folder / "store")
    space = fill(store, len(texts))
    del vectors  # the store was filled with the same
    return lambda asked: space.gather_texts(space.text_keys(asked, PREFIX))


def mapped(folder: Path, texts: list[str], vectors: np.ndarray) -> Fetch:
    """Look into a dict that stands in memory, then into a mapped array."""
    np.save(folder / "vectors.npy", vectors)
    view = np.load(folder / "vectors.npy", mmap_mode="r")
    rows = {text: row for row, text in enumerate(texts)}
    return lambda asked: np.asarray(view[[rows[text] for text in asked]])


def diskcache(folder: Path, texts: list[str], vectors: np.ndarray) -> Fetch:
    """Keep one entry a text, its bytes as the value."""
    import diskcache as rival

    cache = rival.Cache(str(folder / "diskcache"), eviction_policy="none", size_limit=1 << 40)
    with cache.transact():
        for text, vector in zip(texts, vectors, strict=True):
            cache.set(text, vector.tobytes())
    return lambda asked: np.stack([np.frombuffer(cache.get(text), np.float32) for text in asked])


def langchain(folder: Path, texts: list[str], vectors: np.ndarray) -> Fetch:
    """CacheBackedEmbeddings over LocalFileStore, keys by sha256."""
    from langchain_classic.embeddings import CacheBackedEmbeddings
    from langchain_classic.storage import LocalFileStore
    from langchain_core.embeddings import Embeddings

    class Known(Embeddings):
        """Gives the vectors once; a second call would be a cache miss."""

        def __init__(self) -> None:
            self.left = iter(vectors.tolist())

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [next(self.left) for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            raise NotImplementedError(text)

    files = LocalFileStore(folder / "langchain")
    cached = CacheBackedEmbeddings.from_bytes_store(Known(), files, namespace="fake", key_encoder="sha256")
    cached.embed_documents(texts)
    return lambda asked: np.array(cached.embed_documents(list(asked)), np.float32)


def llm(folder: Path, texts: list[str], vectors: np.ndarray) -> Fetch:
    """Take the texts as ids of a collection: its primary key, the quickest way it has."""
    import llm as rival
    import sqlite_utils

    class Known(rival.EmbeddingModel):
        """Gives the vectors in order."""

        model_id = "known"
        batch_size = 1000

        def __init__(self) -> None:
            self.left = iter(vectors.tolist())

        def embed_batch(self, items: object) -> Iterator[list[float]]:
            return (next(self.left) for _ in items)  # type: ignore[attr-defined]

    database = sqlite_utils.Database(str(folder / "llm.db"))
    collection = rival.Collection("captions", database, model=Known())
    collection.embed_multi([(text, text) for text in texts], store=False)
    query = "SELECT embedding FROM embeddings WHERE collection_id = ? AND id = ?"
    one = database.conn.execute

    def fetch(asked: Sequence[str]) -> np.ndarray:
        found = (one(query, (collection.id, text)).fetchone()[0] for text in asked)
        return np.array([rival.decode(blob) for blob in found], np.float32)

    return fetch


def measure(
    name: str, prepare: Callable[[Path, list[str], np.ndarray], Fetch], count: int, repeats: int
) -> tuple[float, float] | None:
    """Return the median seconds to fetch all, in an order of its own and in the stored one; None without the rival."""
    texts, vectors = [caption(number) for number in range(count)], unit_vectors(count)
    order = np.random.default_rng(1).permutation(count)
    shuffled = [texts[row] for row in order]
    with tempfile.TemporaryDirectory() as folder:
        try:
            fetch = prepare(Path(folder), texts, vectors)
        except ImportError as error:
            print(f"{name:24} left out: {error}")
            return None
        if not np.allclose(fetch(shuffled), vectors[order], atol=1e-6):  # also warms it
            print(f"{name:24} gives other vectors")
        own = machine.repeated(lambda: fetch(shuffled), repeats)
        stored = machine.repeated(lambda: fetch(texts), repeats)
    print(f"{name:24} {count:>8,} vectors: {machine.spread(own)}; in stored order {machine.spread(stored)}")
    return statistics.median(own), statistics.median(stored)


def main() -> None:
    """Print times and ratios."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(machine.line("numpy", "sqlalchemy"))
    ours = measure("clipstore", clipstore, count, REPEATS)
    memory = measure("dict + mapped .npy", mapped, count, REPEATS)
    assert ours is not None
    assert memory is not None
    print(f"  clipstore / dict + .npy: {machine.verdict(ours[0] / memory[0], 2)}")
    print(f"  the same, in stored order: {machine.verdict(ours[1] / memory[1], 2)}")
    rivals = {"diskcache": diskcache, "LangChain, file store": langchain, "llm, SQLite collection": llm}
    for name, prepare in rivals.items():
        taken = measure(name, prepare, count // FEWER, 3)
        if taken is not None:
            ratio = taken[0] * FEWER / ours[0]
            reached = "reached" if ratio >= GOAL else "missed"
            print(f"  {name} / clipstore, scaled to {count:,}: {ratio:.0f}x, goal >= {GOAL}x: {reached}")


if __name__ == "__main__":
    main()
