"""Audit: encode some stored items again, here and now, and say how far they come from what is stored."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.encoders import canonical, pipeline
from clipstore.errors import BadImage, InputError
from clipstore.storage import overlay
from clipstore.storage.catalogue import segments, settings
from clipstore.store import known_images
from clipstore.store.progress import silent
from clipstore.store.text_keys import text_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.arrays import Vectors
    from clipstore.encoders.protocol import Encoder
    from clipstore.store.progress import Progress
    from clipstore.store.space import Space

FLOAT32, HALF = 1e-5, 1e-3
"""Largest 1 - cosine between two encodings of one item, in single and in half precision: NUMERICS, section 1."""


@final
@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Parameters
    ----------
    images, texts
        How many were encoded again.
    gap
        Largest 1 - cosine between stored and fresh vector; None where nothing was encoded.
    limit
        What it must keep to.
    worst
        The image's path or the text where it was found.
    unread
        Images whose file is gone, changed, or can't be read; not counted above.
    changed
        One line for each version or device that differs between the store and this machine.
    """

    images: int
    texts: int
    gap: float | None
    limit: float
    worst: str
    unread: int
    changed: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether every vector came out as it is stored; not where images were to be read and none could be."""
        return not self.blind and (self.gap is None or self.gap <= self.limit)

    @property
    def blind(self) -> bool:
        """Whether no image could be read of those that were to be."""
        return self.unread > 0 and not self.images


def audit(space: Space, sample: int = 200, *, seed: int | None = None, progress: Progress = silent) -> Audit:
    """Encode random stored items of a space again, and compare; nothing is written.

    Parameters
    ----------
    space
        The vectors of one encoder; it is loaded.
    sample
        How many images, and how many texts, at most.
    seed
        Which ones; None for others each time.
    progress
        Told about the stages.

    Raises
    ------
    InputError
        When the space holds nothing that could be encoded again.
    """
    chosen = random.Random(seed)  # noqa: S311 - a sample, not a secret
    images, texts = _images(space, sample, chosen), _texts(space, sample, chosen)
    if not images and not texts:
        msg = (
            f"nothing of {space.shown} can be encoded again: "
            "the store holds no vector of it whose image file or text it knows"
        )
        raise InputError(msg)
    encoder = space.encoder(progress)
    seen, fresh = _encode_images(encoder, images, progress)
    gaps = [(space.gather_images(np.array(list(seen), np.int64)), fresh, list(seen.values()))]
    strings = [string for _, string in texts]
    gaps.append((space.gather_texts(np.array([key for key, _ in texts], np.int64)), _encode(encoder, strings), strings))
    gap, worst = _worst(gaps)
    half = str(space.fingerprint.fields.get("precision", "fp32")) != "fp32" or _stored_in_half(space)
    changed = _changed(space, encoder.environment)
    return Audit(len(seen), len(texts), gap, HALF if half else FLOAT32, worst, len(images) - len(seen), changed)


def _images(space: Space, sample: int, chosen: random.Random) -> dict[int, tuple[str, ...]]:
    """Return id -> paths of some images that have a vector here and a known file."""
    ids = overlay.images(space.catalogue)
    held = ids[space.has("image", ids)].tolist()
    return overlay.paths(space.catalogue, chosen.sample(held, min(sample, len(held))))


def _texts(space: Space, sample: int, chosen: random.Random) -> list[tuple[int, str]]:
    """Return (vector key, string that the encoder gets) of some texts that have a vector here."""
    clean = canonical.cleaner(space.fingerprint.cleaning)
    prefixes, raw = overlay.prompts(space.catalogue, space.fingerprint.digest), overlay.texts(space.catalogue)
    strings = list(dict.fromkeys(clean(prefix + text) for prefix in prefixes for text in raw))
    made = text_keys(strings)
    held = np.flatnonzero(space.has("text", made)).tolist()
    return [(int(made[row]), strings[row]) for row in chosen.sample(held, min(sample, len(held)))]


def _encode_images(
    encoder: Encoder, images: Mapping[int, Sequence[str]], progress: Progress
) -> tuple[dict[int, str], Vectors]:
    """Return id -> path of those that could be encoded, and their vectors."""
    read: dict[int, str] = {}
    sources = ((id_, partial(_same, id_, paths, read)) for id_, paths in images.items())
    seen: list[int] = []
    rows = [np.empty((0, encoder.dim), np.float32)]
    for batch in pipeline.images(encoder, sources):
        seen += batch.keys
        rows.append(batch.vectors)
        progress("images", len(seen), len(images))
    return {id_: read[id_] for id_ in seen}, np.concatenate(rows)


def _same(id_: int, paths: Sequence[str], read: dict[int, str]) -> bytes:
    """Read a file that still is the image that it was, and note which."""
    found = known_images.read(id_, paths)
    if found is None:
        msg = "is gone, or holds another image now"
        raise BadImage(msg)
    read[id_], content = found
    return content


def _encode(encoder: Encoder, strings: Sequence[str]) -> Vectors:
    vectors = np.empty((len(strings), encoder.dim), np.float32)
    for batch in pipeline.texts(encoder, strings):
        vectors[batch.indices] = batch.vectors
    return vectors


def _worst(parts: Sequence[tuple[Vectors, Vectors, Sequence[str]]]) -> tuple[float | None, str]:
    """Return the largest 1 - cosine of stored and fresh rows, lengths taken out, and whose it is."""
    found: list[tuple[float, str]] = []
    for stored, fresh, names in parts:
        one, other = stored.astype(np.float64), fresh.astype(np.float64)
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        gaps = 1 - (one * other).sum(axis=1) / lengths
        found += zip(gaps.tolist(), names, strict=True)
    return max(found, default=(None, ""), key=lambda pair: pair[0])


def _stored_in_half(space: Space) -> bool:
    for one in (*space.catalogue.bases, space.catalogue):
        with one.read() as tx:
            if any(row.dtype == "float16" for row in segments.all(tx, space.fingerprint.digest)):
                return True
    return False


def _changed(space: Space, now: Mapping[str, str]) -> tuple[str, ...]:
    """Compare this machine with each environment that wrote vectors of the space."""
    lines: dict[str, None] = {}
    for was in _environments(space):
        for name in sorted(set(was) | set(now)):
            if was.get(name) != now.get(name):
                lines[f"{name}: {was.get(name, '(absent)')} -> {now.get(name, '(absent)')}"] = None
    return tuple(lines)


def _environments(space: Space) -> list[dict[str, str]]:
    """Return what vectors of the space were made in, in the store and those that it rests on."""
    found = []
    for one in (*space.catalogue.bases, space.catalogue):
        with one.read() as tx:
            known = settings.environments(tx)
            wrote = {row.environment for row in segments.all(tx, space.fingerprint.digest)}
        found += [known.get(number, {}) for number in sorted(number for number in wrote if number is not None)]
    return found
