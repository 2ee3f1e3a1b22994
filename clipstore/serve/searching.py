"""Search by words, by an image of the set or by one's own; the model loads in a worker, and no page waits for it."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np

from clipstore import keys
from clipstore.errors import Busy, ClipstoreError, InputError, NotStored
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.report.board_page import bare
from clipstore.search.nearest import Nearest
from clipstore.search.pools import ImagePool, TextPool

if TYPE_CHECKING:
    from collections.abc import Callable

    from clipstore.arrays import Vectors
    from clipstore.report import Report
    from clipstore.serve.live import Live
    from clipstore.store import Space

Kind = Literal["images", "captions"]

FOUND: Final = 40
PATIENCE = 0.08
"""Seconds that a page waits for a vector: enough to encode some words, not to load a model."""

_KEPT: Final = 200
_WAITING: Final = 8
"""Queries that may wait for the worker; each of a picture holds its bytes."""

_NO_ENCODER: Final = "search needs an encoder: serve a set with images"

Asked = tuple[Literal["words", "picture"], str]
"""What a vector is of: words, or the content id of somebody's picture."""


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
        self._asked: OrderedDict[Asked, Future[Vectors]] = OrderedDict()
        self._texts: tuple[Report, TextPool] | None = None
        self._lock = Lock()

    def close(self) -> None:
        """Stop the worker when what it does is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def search(
        self, report: Report, kind: Kind, query: str, like: int | None = None, picture: int | None = None
    ) -> Answer:
        """Return the nearest images or captions of words, of an image of the set, or of a picture that was shown.

        Parameters
        ----------
        report
            Whose images and captions.
        kind
            What is looked for.
        query
            Words; where there are some, they count.
        like
            Row of an image of the set.
        picture
            What :meth:`shown` returned.
        """
        if report.image_similarity is None:
            return Answer([], _NO_ENCODER)
        if not query and like is None and picture is None:
            return Answer([], "type some words or choose an image: images, or captions, near to it are shown")
        try:
            vectors = self._vectors(report, query, like, picture)
            if vectors is None:
                what = "words are" if query else "picture is"
                message = f"the {what} being encoded, the model loads first; this page asks again by itself"
                return Answer([], message, again=True)
            return Answer(self._near(report, kind, vectors), f"the nearest {kind}, by cosine")
        except ClipstoreError as error:
            return Answer([], f"this search is not possible: {bare(str(error))}")

    def shown(self, report: Report, data: bytes) -> int:
        """Have the worker encode somebody's picture, and return its content id; its vector is kept in memory alone.

        Raises
        ------
        InputError
            When the set is shown without an encoder.
        Busy
            When too many wait for the worker.
        """
        if report.image_similarity is None:
            raise InputError(_NO_ENCODER)
        id_ = keys.image_id(data)
        if not self._stored_image(id_):
            self._soon(("picture", keys.to_hex(id_)), lambda: _of_bytes(self._live.space, data))
        return id_

    def _vectors(self, report: Report, query: str, like: int | None, picture: int | None) -> Vectors | None:
        """Return the query's vector; None while the worker has it."""
        if query:
            return self._of_text(query)
        if picture is not None:
            return self._of_picture(picture)
        id_ = None if like is None else report.image_id(like)
        return self._live.space.gather_images(np.array([] if id_ is None else [id_], np.int64))

    def _of_text(self, query: str) -> Vectors | None:
        space = self._live.space
        prefix = recipe_of(space).prefix
        stored = space.text_keys([query], prefix)
        if space.has("text", stored).all():
            return space.gather_texts(stored)
        return _in_time(self._soon(("words", query), lambda: space.encoder().encode_texts([prefix + query])))

    def _of_picture(self, id_: int) -> Vectors | None:
        if self._stored_image(id_):
            return self._live.space.gather_images(np.array([id_], np.int64))
        with self._lock:
            future = self._asked.get(("picture", keys.to_hex(id_)))
        if future is None:
            msg = "the picture is not at hand any more: choose it again"
            raise NotStored(msg)
        return _in_time(future)

    def _stored_image(self, id_: int) -> bool:
        return bool(self._live.space.has("image", np.array([id_], np.int64)).all())

    def _soon(self, asked: Asked, make: Callable[[], Vectors]) -> Future[Vectors]:
        """Return what the worker makes or made of a query; a failure is tried again."""
        with self._lock:
            future = self._asked.get(asked)
            if future is None or (future.done() and future.exception() is not None):
                if sum(not one.done() for one in self._asked.values()) >= _WAITING:
                    msg = "the model has too much to encode: ask again in a while"
                    raise Busy(msg)
                future = self._pool.submit(make)
            self._asked[asked] = future
            self._asked.move_to_end(asked)
            while len(self._asked) > _KEPT:
                self._asked.popitem(last=False)
        return future

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
        known = self._texts
        if known is None or known[0] is not report:
            texts = [text for one in report.measured.systems for text in one.texts if text and text.strip()]
            texts += [text for own in report.measured.items.references for text in own if text.strip()]
            distinct = list(dict.fromkeys(texts))
            found = self._live.space.text_keys(distinct, recipe_of(self._live.space).prefix).tolist()
            known = (report, TextPool(report.title, dict(zip(found[::-1], distinct[::-1], strict=True))))
            self._texts = known
        return known[1]


def _of_bytes(space: Space, data: bytes) -> Vectors:
    encoder = space.encoder()
    encoder.prepare_image(data)  # says what is wrong with it without a place in a list
    return encoder.encode_images([data])


def _in_time(future: Future[Vectors]) -> Vectors | None:
    """Return what a worker made, None where it takes longer than a page waits."""
    try:
        return future.result(PATIENCE)
    except TimeoutError:
        if not future.done():
            return None
        raise  # the worker's own, from a download
