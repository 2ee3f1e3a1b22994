"""Search by words or by an image; the model loads in a worker, and no page waits for it."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np

from clipstore.errors import ClipstoreError
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.report.board_page import bare
from clipstore.search.nearest import Nearest
from clipstore.search.pools import ImagePool, TextPool

if TYPE_CHECKING:
    from clipstore.arrays import Vectors
    from clipstore.report import Report
    from clipstore.serve.live import Live

Kind = Literal["images", "captions"]

FOUND: Final = 40
PATIENCE = 0.08
"""Seconds that a page waits for a vector: enough to encode some words, not to load a model."""

_KEPT: Final = 200


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What a search gives: hits, a sentence, and whether to ask again soon."""

    hits: list[tuple[Any, ...]]
    message: str
    again: bool = False


@final
class Searcher:
    """Encodes queries in one worker thread, and keeps the last vectors.

    Parameters
    ----------
    live
        Store and vectors.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._pool = ThreadPoolExecutor(1, "clipstore-search")
        self._asked: OrderedDict[str, Future[Vectors]] = OrderedDict()
        self._texts: tuple[Report, TextPool] | None = None
        self._lock = Lock()

    def close(self) -> None:
        """Stop the worker when what it does is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def search(self, report: Report, kind: Kind, query: str, like: int | None) -> Answer:
        """Return the nearest images or captions of words, or of an image of the set."""
        if report.image_similarity is None:
            return Answer([], "search needs an encoder: serve a set with images")
        if not query and like is None:
            return Answer([], "type some words: images, or captions, near to them are shown")
        try:
            vectors = self._of_image(report, like) if like is not None and not query else self._of_text(query)
            if vectors is None:
                message = "the words are being encoded, the model loads first; this page asks again by itself"
                return Answer([], message, again=True)
            return Answer(self._near(report, kind, vectors), f"the nearest {kind}, by cosine")
        except ClipstoreError as error:
            return Answer([], f"search by words is not possible: {bare(str(error))}")

    def _of_image(self, report: Report, row: int) -> Vectors:
        id_ = report.image_id(row)
        return self._live.space.gather_images(np.array([] if id_ is None else [id_], np.int64))

    def _of_text(self, query: str) -> Vectors | None:
        space = self._live.space
        prefix = recipe_of(space).prefix
        stored = space.text_keys([query], prefix)
        if space.has("text", stored).all():
            return space.gather_texts(stored)
        with self._lock:
            future = self._asked.pop(query, None)
            if future is None or (future.done() and future.exception() is not None):
                future = self._pool.submit(lambda: space.encoder().encode_texts([prefix + query]))
            self._asked[query] = future
            while len(self._asked) > _KEPT:
                self._asked.popitem(last=False)
        try:
            return future.result(PATIENCE)
        except TimeoutError:
            return None

    def _near(self, report: Report, kind: Kind, vectors: Vectors) -> list[tuple[Any, ...]]:
        space = self._live.space
        if kind == "captions":
            pool = self._captions(report)
            hits = Nearest(space, pool).search(vectors, FOUND)
            pairs = zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True)
            return [(f"{score:.4f}", pool.texts[id_]) for id_, score in pairs if id_ in pool.texts]
        first = report.first_row
        images = ImagePool(report.title, {id_: report.slugs[row] for id_, row in first.items()})
        hits = Nearest(space, images).search(vectors, FOUND)
        found = zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True)
        rows = [(first[id_], score) for id_, score in found if id_ in first]
        return [(row, report.slugs[row], report.alt(row), f"{score:.4f}") for row, score in rows]

    def _captions(self, report: Report) -> TextPool:
        if self._texts is None or self._texts[0] is not report:
            texts = [text for one in report.measured.systems for text in one.texts if text and text.strip()]
            texts += [text for own in report.measured.items.references for text in own if text.strip()]
            distinct = list(dict.fromkeys(texts))
            found = self._live.space.text_keys(distinct, recipe_of(self._live.space).prefix).tolist()
            pool = TextPool(report.title, dict(zip(found[::-1], distinct[::-1], strict=True)))
            self._texts = (report, pool)
        return self._texts[1]
