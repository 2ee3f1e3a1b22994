"""Encoding what is missing: shared out between processes, committed in chunks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clipstore import keys
from clipstore.encoders import pipeline
from clipstore.errors import BadImage
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.store.identify import content
from clipstore.store.sharing import Shares, Sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import PIL.Image

    from clipstore.arrays import Ids
    from clipstore.encoders.protocol import Encoder
    from clipstore.items import Image
    from clipstore.store.claims import Claims
    from clipstore.store.progress import Progress
    from clipstore.store.sharing import Recheck
    from clipstore.store.writing import Writer

_TEXTS = Sizes(256, 8192)  # sorted by length in a block, so the larger the better
_IMAGES = Sizes(64, 64)  # they are read ahead across blocks


def texts(
    encoder: Encoder,
    writer: Writer,
    missing: Mapping[int, tuple[str, str]],
    recheck: Recheck,
    claims: Claims,
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
    claims
        Which keys this process encodes now.
    progress
        Told as stage ``texts``.
    """
    done = 0

    def run(blocks: Iterator[Ids]) -> None:
        nonlocal done
        for todo in blocks:
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
                progress("texts", done + shares.elsewhere, len(missing))

    shares = Shares(np.fromiter(missing, np.int64, len(missing)), recheck, claims, _TEXTS)
    shares.encode(writer, run)
    if shares.elsewhere:
        progress("texts", len(missing), len(missing))
    return done


def images(
    encoder: Encoder,
    writer: Writer,
    missing: Mapping[int, Image],
    recheck: Recheck,
    claims: Claims,
    progress: Progress,
) -> tuple[dict[int, tuple[str, ...]], dict[int, str]]:
    """Encode images and return the flags of each by its id, and the reason of each that failed.

    Parameters
    ----------
    encoder, writer, recheck, claims
        As in :func:`texts`.
    missing
        Image id -> where the image lies.
    progress
        Told as stage ``images``.
    """
    facts: dict[int, tuple[bytes, int]] = {}
    failed: dict[int, str] = {}
    done: dict[int, tuple[str, ...]] = {}

    def run(blocks: Iterator[Ids]) -> None:
        sources = ((id_, partial(_load, missing[id_], id_, facts)) for todo in blocks for id_ in todo.tolist())
        for batch in pipeline.images(encoder, sources):
            failed.update(batch.failures)
            rows = [
                ImageRow(key, *facts.pop(key), one.mode, one.size[0], one.size[1], one.flags)
                for key, one in zip(batch.keys, batch.decoded, strict=True)
            ]
            writer.add_images(np.array(batch.keys, np.int64), batch.vectors, rows)
            done.update((row.id, row.flags) for row in rows)
            progress("images", len(done) + len(failed) + shares.elsewhere, len(missing))

    shares = Shares(np.fromiter(missing, np.int64, len(missing)), recheck, claims, _IMAGES)
    shares.encode(writer, run)
    if shares.elsewhere:
        progress("images", len(missing), len(missing))
    return done, failed


def _load(image: Image, id_: int, facts: dict[int, tuple[bytes, int]]) -> bytes | PIL.Image.Image:
    """Read an image and make sure that it still is what was identified."""
    data = content(image)
    digest = keys.sha256(data)
    if keys.from_sha256(digest) != id_:
        msg = "changed while it was being read: run again"
        raise BadImage(msg)
    facts[id_] = (digest, len(data))
    return data if isinstance(image.source, (bytes, Path)) else image.source
