"""Encoding what is missing: in blocks, in this process's own order, committed in chunks."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clipstore import keys
from clipstore.encoders import pipeline
from clipstore.errors import BadImage
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.store.identify import content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import PIL.Image

    from clipstore.arrays import Ids
    from clipstore.encoders.protocol import Encoder
    from clipstore.items import Image
    from clipstore.store.progress import Progress
    from clipstore.store.writing import Writer

    Recheck = Callable[[Ids], Ids]  # ids -> those that still have no vector

_IMAGES = 1024  # between two looks at what others committed meanwhile
_TEXTS = 8192


def texts(
    encoder: Encoder,
    writer: Writer,
    missing: Mapping[int, tuple[str, str]],
    recheck: Recheck,
    progress: Progress,
) -> int:
    """Encode texts and return how many; what was done before an interruption is committed.

    Parameters
    ----------
    encoder, writer
        Where vectors come from and go to.
    missing
        Vector key -> (the cleaned string that the encoder gets, the raw text behind it).
    recheck
        Says which keys still have no vector, so that what another process did is left to it.
    progress
        Told as stage ``texts``.
    """
    done = 0
    try:
        for todo in _blocks(np.fromiter(missing, np.int64, len(missing)), recheck, _TEXTS):
            wanted = todo.tolist()
            for batch in pipeline.texts(encoder, [missing[key][0] for key in wanted]):
                took = [wanted[index] for index in batch.indices.tolist()]
                raw = [missing[key][1] for key in took]
                cuts = [
                    (key, kept, cut)
                    for key, kept, cut in zip(took, batch.lengths.tolist(), batch.cut.tolist(), strict=True)
                    if cut
                ]
                known = dict(zip(keys.text_ids(raw), raw, strict=True))
                writer.add_texts(np.array(took, np.int64), batch.vectors, known, cuts)
                done += len(took)
                progress("texts", done, len(missing))
    finally:
        writer.flush()
    return done


def images(
    encoder: Encoder,
    writer: Writer,
    missing: Mapping[int, Image],
    recheck: Recheck,
    progress: Progress,
) -> tuple[int, dict[int, str]]:
    """Encode images and return how many, and the reason of each that failed, by its id.

    Parameters
    ----------
    encoder, writer, recheck
        As in :func:`texts`.
    missing
        Image id -> where the image lies.
    progress
        Told as stage ``images``.
    """
    facts: dict[int, tuple[bytes, int]] = {}
    failed: dict[int, str] = {}
    done = 0

    def sources() -> Iterator[tuple[int, Callable[[], bytes | PIL.Image.Image]]]:
        for todo in _blocks(np.fromiter(missing, np.int64, len(missing)), recheck, _IMAGES):
            for id_ in todo.tolist():
                yield id_, partial(_load, missing[id_], id_, facts)

    try:
        for batch in pipeline.images(encoder, sources()):
            failed.update(batch.failures)
            rows = [
                ImageRow(key, *facts.pop(key), one.mode, one.size[0], one.size[1], one.flags)
                for key, one in zip(batch.keys, batch.decoded, strict=True)
            ]
            writer.add_images(np.array(batch.keys, np.int64), batch.vectors, rows)
            done += len(batch.keys)
            progress("images", done + len(failed), len(missing))
    finally:
        writer.flush()
    return done, failed


def _blocks(missing: Ids, recheck: Recheck, size: int) -> Iterator[Ids]:
    """Yield what is still missing, a block at a time, in this process's own order."""
    starts: Sequence[int] = random.Random(os.urandom(8)).sample(  # noqa: S311 - an order, not a secret
        range(0, len(missing), size), k=-(-len(missing) // size)
    )
    for start in starts:
        todo = recheck(missing[start : start + size])
        if len(todo):
            yield todo


def _load(image: Image, id_: int, facts: dict[int, tuple[bytes, int]]) -> bytes | PIL.Image.Image:
    """Read an image and make sure that it still is what was identified."""
    data = content(image)
    digest = keys.sha256(data)
    if keys.from_sha256(digest) != id_:
        msg = "changed while it was being read: run again"
        raise BadImage(msg)
    facts[id_] = (digest, len(data))
    return data if isinstance(image.source, (bytes, Path)) else image.source
