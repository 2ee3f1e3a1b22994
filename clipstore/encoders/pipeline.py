"""Prepare in threads, embed in batches: how any encoder is kept busy with bounded memory.

Preparing (decoding, tokenising) runs in threads that end with the generator, also after
Ctrl-C; embedding runs in the calling thread. Nothing here imports torch.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar, final

import numpy as np

from clipstore.errors import BadImage, EncoderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import PIL.Image

    from clipstore.arrays import Ids, Vectors
    from clipstore.encoders.protocol import Encoder, Prepared, Tokens

K = TypeVar("K")

_WINDOW = 8192  # texts that are tokenised and sorted together
_MOST_THREADS = 8


@final
@dataclass(frozen=True, slots=True)
class Decoded:
    """What an image was when it was decoded.

    Parameters
    ----------
    mode
        Pillow's mode.
    size
        Width and height in pixels.
    flags
        What was done beyond the official preprocessing.
    """

    mode: str
    size: tuple[int, int]
    flags: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class ImageBatch(Generic[K]):
    """Some images, embedded.

    Parameters
    ----------
    keys
        The caller's keys of the images that were embedded.
    decoded
        What each of them was, in the same order.
    vectors
        float32 of shape (len(keys), dim).
    failures
        Key and reason of each image that could not be read, decoded or embedded.
    """

    keys: list[K]
    decoded: list[Decoded]
    vectors: Vectors
    failures: list[tuple[K, str]]


@final
@dataclass(frozen=True, slots=True)
class TextBatch:
    """Some texts, embedded.

    Parameters
    ----------
    indices
        Positions in the texts that were given, int64.
    vectors
        float32 of shape (len(indices), dim).
    lengths
        Tokens that the encoder read, start and end included, int64.
    cut
        Tokens that did not fit the context, int64.
    """

    indices: Ids
    vectors: Vectors
    lengths: Ids
    cut: Ids


def images(
    encoder: Encoder, sources: Iterable[tuple[K, Callable[[], bytes | PIL.Image.Image]]], threads: int | None = None
) -> Iterator[ImageBatch[K]]:
    """Embed images in batches, decoding ahead in threads.

    Parameters
    ----------
    encoder
        Prepares and embeds.
    sources
        Pairs of a key and a function that reads the image; the function runs in a thread.
        Taken as they are needed: at most two batches are ahead.
    threads
        Threads that read and decode; None for one a usable core, at most eight.

    Yields
    ------
    ImageBatch
        In the order of ``sources``. An image that can't be read (``OSError``), decoded
        (``BadImage``) or embedded is among the failures of its batch.
    """
    size = max(1, encoder.image_batch)

    def prepare(item: tuple[K, Callable[[], bytes | PIL.Image.Image]]) -> tuple[K, Prepared | str]:
        key, read = item
        try:
            return key, encoder.prepare_image(read())
        except (OSError, BadImage) as error:
            return key, _reason(error)

    with _ahead(prepare, sources, threads or _threads(), 2 * size) as ready:
        while chunk := list(islice(ready, size)):
            yield _embed_images(encoder, chunk)


def texts(encoder: Encoder, texts: Sequence[str]) -> Iterator[TextBatch]:
    """Embed texts in batches of like length, tokenising ahead in a thread.

    Parameters
    ----------
    encoder
        Tokenises and embeds.
    texts
        The exact strings: canonical already, with their prefix. Distinct ones, if each is
        to be embedded once.

    Yields
    ------
    TextBatch
        Every index once, shortest texts of a window first.

    Raises
    ------
    EncoderError
        When a text gets no finite vector; the message quotes it.
    """
    starts = range(0, len(texts), _WINDOW)
    with _ahead(lambda start: (start, encoder.tokenize(texts[start : start + _WINDOW])), starts, 1, 1) as windows:
        for start, tokens in windows:
            for rows in _batches([len(item.ids) for item in tokens], encoder.token_budget):
                batch = [tokens[row] for row in rows]
                indices = np.array(rows, dtype=np.int64) + start
                vectors = _embed_texts(encoder, batch, [texts[index] for index in indices])
                lengths = np.array([len(item.ids) for item in batch], dtype=np.int64)
                yield TextBatch(indices, vectors, lengths, np.array([item.cut for item in batch], dtype=np.int64))


def _embed_images(encoder: Encoder, chunk: Sequence[tuple[K, Prepared | str]]) -> ImageBatch[K]:
    good = [(key, item) for key, item in chunk if not isinstance(item, str)]
    failures = [(key, item) for key, item in chunk if isinstance(item, str)]
    try:
        vectors = encoder.embed_images([item for _, item in good]) if good else _none(encoder)
    except EncoderError:  # find the images at fault; if all are, the model is
        alone = [(key, item, _embed_alone(encoder, item)) for key, item in good]
        if len(alone) > 1 and all(isinstance(result, str) for _, _, result in alone):
            raise
        failures += [(key, result) for key, _, result in alone if isinstance(result, str)]
        good = [(key, item) for key, item, result in alone if not isinstance(result, str)]
        rows = [result for _, _, result in alone if not isinstance(result, str)]
        vectors = np.concatenate([_none(encoder), *rows])
    decoded = [Decoded(item.mode, item.size, item.flags) for _, item in good]
    return ImageBatch([key for key, _ in good], decoded, vectors, failures)


def _embed_alone(encoder: Encoder, image: Prepared) -> Vectors | str:
    try:
        return encoder.embed_images([image])
    except EncoderError as error:
        return _reason(error)


def _embed_texts(encoder: Encoder, batch: Sequence[Tokens], quoted: Sequence[str]) -> Vectors:
    try:
        return encoder.embed_texts(batch)
    except EncoderError as error:
        for item, text in zip(batch, quoted, strict=True):
            try:
                encoder.embed_texts([item])
            except EncoderError as cause:
                message = f"the text {text[:80]!r}: {cause}"
                raise EncoderError(message) from cause
        raise error from None


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Split positions, sorted by length, into batches whose padded size stays within ``budget`` tokens."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > budget:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


A = TypeVar("A")
B = TypeVar("B")


@contextmanager
def _ahead(work: Callable[[A], B], items: Iterable[A], threads: int, window: int) -> Iterator[Iterator[B]]:
    """Run ``work`` on items in threads, at most ``window`` waiting, results in order; the threads end on leaving."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="clipstore")
    try:
        yield _in_order(pool, work, iter(items), window + threads)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _in_order(pool: ThreadPoolExecutor, work: Callable[[A], B], items: Iterator[A], most: int) -> Iterator[B]:
    waiting: deque[Future[B]] = deque(pool.submit(work, item) for item in islice(items, most))
    while waiting:
        result = waiting.popleft().result()
        waiting.extend(pool.submit(work, item) for item in islice(items, 1))
        yield result


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _none(encoder: Encoder) -> Vectors:
    return np.empty((0, encoder.dim), dtype=np.float32)


def _threads() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_THREADS, usable)
