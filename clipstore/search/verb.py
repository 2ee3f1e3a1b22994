"""``search``: the nearest captions or images of a caption or an image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import InputError
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.items import Image
from clipstore.search.nearest import RECALL_AT, Nearest
from clipstore.search.pools import TextPool
from clipstore.storage.search import NOTHING
from clipstore.store.progress import silent
from clipstore.tables import Column, Table, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.arrays import Vectors
    from clipstore.items import ItemKey
    from clipstore.search.pools import ImagePool
    from clipstore.store import Progress, Space

Query = str | Path | Image
"""A caption, or an image: its path, or an :class:`clipstore.items.Image`."""


@final
@dataclass(frozen=True, slots=True)
class Approximate:
    """A trained index in place of an exact search.

    Parameters
    ----------
    factory
        A FAISS factory string, such as ``IVF4096,PQ64``.
    nprobe
        Inverted lists to look into; None: a 32nd of them, at least 8.
    """

    factory: str
    nprobe: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Hit:
    """One hit.

    Parameters
    ----------
    rank
        0 is the nearest.
    score
        The cosine.
    found
        The caption, or what the image is called.
    """

    rank: int
    score: float
    found: ItemKey


@final
@dataclass(frozen=True, eq=False)
class Found:
    """The hits of each query, in the order asked.

    Parameters
    ----------
    queries
        What was asked, in words.
    hits
        Of each query, the nearest first.
    pool
        Where was searched.
    recall
        Of a trained index: the share of the exact ten nearest that it finds, on a sample; None: exact.
    """

    queries: tuple[str, ...]
    hits: tuple[tuple[Hit, ...], ...]
    pool: str
    recall: float | None = None

    def table(self) -> Table:
        """Return one row a hit."""
        several = len(self.queries) > 1
        columns = [
            *([Column("query", "left")] if several else []),
            Column("#"),
            Column("cosine"),
            Column("found", "left"),
        ]
        rows = [
            (*((query,) if several else ()), str(hit.rank + 1), f"{hit.score:.4f}", str(hit.found))
            for query, hits in zip(self.queries, self.hits, strict=True)
            for hit in hits
        ]
        notes = () if self.recall is None else (f"recall@{RECALL_AT} of the index against exact: {self.recall:.3f}",)
        return Table(tuple(columns), tuple(rows), notes)

    def __str__(self) -> str:
        return text(self.table())

    def to_dict(self) -> dict[str, object]:
        """Return the hits as JSON values."""
        return {
            "schema": 1,
            "pool": self.pool,
            "recall": self.recall,
            "queries": [
                {
                    "query": query,
                    "hits": [{"rank": hit.rank, "score": hit.score, "found": hit.found} for hit in hits],
                }
                for query, hits in zip(self.queries, self.hits, strict=True)
            ],
        }


def search(
    space: Space,
    queries: Sequence[Query],
    pool: TextPool | ImagePool,
    k: int = 10,
    *,
    index: Approximate | None = None,
    recipe: str | None = None,
    encode: bool = True,
    progress: Progress = silent,
) -> Found:
    """Return the nearest captions, or images, of each query.

    Exact unless an index is asked for. A new image is encoded and kept; a new text is encoded and not kept.

    Parameters
    ----------
    space
        The vectors of one encoder.
    queries
        Captions as strings; images as paths or :class:`clipstore.items.Image`.
    pool
        Where to search.
    k
        How many hits a query.
    index
        A trained index, kept beside the segments and made anew when they change.
    recipe
        Gives the prefix of captions; None: the model's own.
    encode, progress
        As in :func:`clipstore.score`.

    Raises
    ------
    InputError
        When there is no query, an empty one or nothing to search in, or an image can't be read.
    NotStored
        When a query is missing and ``encode`` is False.
    """
    if k < 1 or not queries:
        msg = f"a search needs a query and k of 1 or more, not {len(queries)} and {k}"
        raise InputError(msg)
    blank = next((number for number, query in enumerate(queries, 1) if isinstance(query, str) and not query.strip()), 0)
    if blank:
        msg = f"query {blank} is an empty text: give words, or an image"
        raise InputError(msg)
    prefix = recipe_of(space, recipe).prefix
    vectors = _vectors(space, queries, prefix, encode=encode, progress=progress)
    finder = Nearest(space, pool, index)
    hits, recall = finder.search(vectors, k), finder.recall(vectors)
    ids = [id_ for id_ in hits.ids.ravel().tolist() if id_ != NOTHING]
    names = pool.texts if isinstance(pool, TextPool) else pool.named(space, ids)
    found = []
    for row in zip(hits.ids.tolist(), hits.scores.tolist(), strict=True):
        near = [(id_, score) for id_, score in zip(*row, strict=True) if id_ in names]
        found.append(tuple(Hit(rank, score, names[id_]) for rank, (id_, score) in enumerate(near)))
    return Found(tuple(map(_shown, queries)), tuple(found), pool.name, recall)


def _shown(query: Query) -> str:
    return query.name if isinstance(query, Image) else str(query)


def _vectors(space: Space, queries: Sequence[Query], prefix: str, *, encode: bool, progress: Progress) -> Vectors:
    """Return one vector a query, in order; images that can't be read are an error."""
    out = np.empty((len(queries), space.dim), np.float32)
    texts = [row for row, query in enumerate(queries) if isinstance(query, str)]
    if texts:
        out[texts] = _of_texts(space, [str(queries[row]) for row in texts], prefix, encode=encode, progress=progress)
    images = [row for row, query in enumerate(queries) if not isinstance(query, str)]
    if images:
        sources = [_image(queries[row]) for row in images]
        placed = space.ensure_images(sources, encode=encode, progress=progress)
        if placed.failures:
            msg = f"{placed.failures[0].name}: {placed.failures[0].reason}: give an image that can be read"
            raise InputError(msg)
        out[images] = space.gather_images(np.array(placed.ids, np.int64))
    return out


def _of_texts(space: Space, texts: list[str], prefix: str, *, encode: bool, progress: Progress) -> Vectors:
    """Return vectors of query texts; a new one is encoded and not kept, or it would be its own best hit for ever."""
    vector_keys = space.text_keys(texts, prefix)
    stored = space.has("text", vector_keys)
    if stored.all() or not encode:
        return space.gather_texts(vector_keys)
    out = np.empty((len(texts), space.dim), np.float32)
    if stored.any():
        out[stored] = space.gather_texts(vector_keys[stored])
    new = np.flatnonzero(~stored)
    out[new] = space.encoder(progress).encode_texts([prefix + texts[row] for row in new.tolist()])
    return out


def _image(query: Query) -> Image:
    return query if isinstance(query, Image) else Image(Path(query), str(query))
