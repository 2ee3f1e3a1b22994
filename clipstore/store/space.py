"""The vectors of one encoder: ensure that they are there, then gather them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from clipstore import keys
from clipstore.encoders import canonical
from clipstore.errors import NotStored
from clipstore.items import Image
from clipstore.storage import overlay
from clipstore.storage.segments import Gone
from clipstore.store import encoding
from clipstore.store.failures import record
from clipstore.store.identify import Failure, Identified, identify
from clipstore.store.progress import Progress, silent
from clipstore.store.writing import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.encoders.protocol import Encoder, Fingerprint
    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.lookup import Shelf
    from clipstore.storage.overlay import Stack

_ATTEMPTS = 5
_Modality = Literal["image", "text"]


@final
@dataclass(frozen=True, slots=True)
class Ensured:
    """What an ``ensure`` found and did.

    Parameters
    ----------
    asked
        Distinct items asked for.
    encoded
        Of these, how many this call encoded; the rest were cached or failed.
    seconds
        Wall time of the encoding, model loading included.
    failures
        Images that could not be read or encoded; copies of one image are named each.
    failed
        How many distinct items failed.
    keys
        Of texts: the vector key of each, in the order asked, repeats included; int64.
    ids
        Of images: the content id of each, in the order asked, None where it failed.
    """

    asked: int
    encoded: int
    seconds: float
    failures: tuple[Failure, ...] = ()
    failed: int = 0
    keys: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    ids: tuple[int | None, ...] = ()

    @property
    def cached(self) -> int:
        """How many were in the store before."""
        return self.asked - self.encoded - self.failed


@final
class Space:
    """The vectors of one encoder in a store.

    Made by :meth:`clipstore.Store.space`. The encoder is loaded when something is missing,
    not before: a fully cached run imports no torch.

    Parameters
    ----------
    catalogue
        The store's catalogue.
    row
        The space as the catalogue knows it.
    shown
        The model's name as messages and signatures show it.
    fingerprint
        What the vectors depend on.
    load
        Gives the encoder; called at most once.
    """

    def __init__(
        self, catalogue: Catalogue, row: SpaceRow, shown: str, fingerprint: Fingerprint, load: Callable[[], Encoder]
    ) -> None:
        self._catalogue = catalogue
        self._row = row
        self._load = load
        self._encoder: Encoder | None = None
        self._clean = canonical.cleaner(fingerprint.cleaning)
        self._shelves: dict[str, tuple[tuple[int, ...], Shelf | Stack]] = {}
        self.shown = shown
        self.fingerprint = fingerprint

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._row.dim

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue of the store that this space belongs to."""
        return self._catalogue

    def encoder(self, progress: Progress = silent) -> Encoder:
        """Return the encoder, loading it the first time."""
        if self._encoder is None:
            progress("load", 0, 1)
            self._encoder = self._load()
            progress("load", 1, 1)
        return self._encoder

    def text_keys(self, texts: Sequence[str], prefix: str = "") -> Ids:
        """Return the vector key of each text under a prefix, int64 of shape (len(texts),)."""
        return np.array(keys.text_ids(self._strings(texts, prefix)), np.int64)

    def _strings(self, texts: Sequence[str], prefix: str) -> list[str]:
        clean = self._clean
        return [clean(prefix + text) for text in texts]

    def shelf(self, modality: _Modality) -> Shelf | Stack:
        """Return the committed segments of a modality, read again when the catalogue changed."""
        version = overlay.version(self._catalogue)
        known = self._shelves.get(modality)
        if known is None or known[0] != version:
            known = (version, overlay.shelf(self._catalogue, self._row.digest, modality))
            self._shelves[modality] = known
        return known[1]

    def _missing(self, modality: _Modality, wanted: Ids) -> Ids:
        missing: Ids = wanted[~self._has(modality, wanted)]
        return missing

    def _has(self, modality: _Modality, wanted: Ids) -> np.ndarray:
        return self._retried(modality, lambda shelf: shelf.contains(wanted))

    def _retried(self, modality: _Modality, look: Callable[[Shelf | Stack], np.ndarray]) -> np.ndarray:
        """Look into the shelf; read the catalogue again where a segment was compacted away meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return look(self.shelf(modality))
            except Gone:
                self._shelves.pop(modality, None)
        return look(self.shelf(modality))

    def gather_images(self, ids: Ids) -> Vectors:
        """Return the vectors of image ids: float32, shape (len(ids), dim), in the order asked.

        Raises
        ------
        NotStored
            When an id has no vector here; the message names the first.
        """
        return self._gather("image", ids)

    def gather_texts(self, vector_keys: Ids) -> Vectors:
        """Return the vectors of vector keys: float32, shape (len(vector_keys), dim), in the order asked.

        Raises
        ------
        NotStored
            When a key has no vector here; the message names the first.
        """
        return self._gather("text", vector_keys)

    def _gather(self, modality: _Modality, ids: Ids) -> Vectors:
        return self._retried(modality, lambda shelf: shelf.gather(ids))

    def cuts(self, vector_keys: Ids) -> dict[int, int]:
        """Return vector key -> tokens that did not fit, only where something was cut."""
        return overlay.cuts(self._catalogue, self._row.digest, vector_keys)

    def ensure_texts(
        self, texts: Sequence[str], prefix: str = "", *, encode: bool = True, progress: Progress = silent
    ) -> Ensured:
        """Encode the texts whose vectors are missing; work is committed in chunks.

        Parameters
        ----------
        texts
            Raw texts; equal ones, and spellings with equal tokens, are encoded once.
        prefix
            What the metric puts before each, such as ``A photo depicts ``.
        encode
            False refuses to encode.
        progress
            Told about the stages.

        Raises
        ------
        NotStored
            When something is missing and ``encode`` is False.
        """
        start = time.monotonic()
        strings = self._strings(texts, prefix)
        ids = np.array(keys.text_ids(strings), np.int64)
        distinct, first = np.unique(ids, return_index=True)
        lacking = ~self._has("text", distinct)
        if not lacking.any():
            return Ensured(len(distinct), 0, 0.0, keys=ids)
        if not encode:
            self._refuse(int(lacking.sum()), "texts")
        rows = first[lacking].tolist()
        missing = {key: (strings[row], texts[row]) for key, row in zip(distinct[lacking].tolist(), rows, strict=True)}
        encoder = self.encoder(progress)
        writer = Writer(self._catalogue, self._row, "text", encoder.environment, prefix)
        done = encoding.texts(encoder, writer, missing, partial(self._missing, "text"), progress)
        return Ensured(len(distinct), done, time.monotonic() - start, keys=ids)

    def ensure_images(
        self,
        images: Sequence[Image],
        *,
        encode: bool = True,
        progress: Progress = silent,
        identified: Identified | None = None,
    ) -> Ensured:
        """Identify images and encode those whose vectors are missing; a bad file does not stop the others.

        Parameters
        ----------
        images
            Files, bytes or pictures.
        encode
            False refuses to encode.
        progress
            Told about the stages.
        identified
            Their ids, where the caller has them already.

        Raises
        ------
        NotStored
            When something is missing and ``encode`` is False.
        """
        start = time.monotonic()
        if identified is None:
            identified = identify(self._catalogue, images, progress)
        source = {id_: image for id_, image in zip(identified.ids, images, strict=True) if id_ is not None}
        missing = self._missing("image", np.array(sorted(source), np.int64)).tolist()
        if missing and not encode:
            self._refuse(len(missing), "images")
        done, bad = 0, dict[int, str]()
        if missing:
            encoder = self.encoder(progress)
            writer = Writer(self._catalogue, self._row, "image", encoder.environment)
            recheck = partial(self._missing, "image")
            done, bad = encoding.images(encoder, writer, {id_: source[id_] for id_ in missing}, recheck, progress)
        named = zip(images, identified.ids, strict=True)
        failures = (*identified.failures, *(Failure(one.name, bad[id_]) for one, id_ in named if id_ in bad))
        record(self._catalogue, images, failures)
        return Ensured(
            len(source) + len(identified.failures),
            done,
            time.monotonic() - start if done else 0.0,
            failures,
            len(bad) + len(identified.failures),
            ids=tuple(None if id_ in bad else id_ for id_ in identified.ids),
        )

    def ensure_known_images(self, ids: Sequence[int], *, encode: bool = True, progress: Progress = silent) -> Ensured:
        """Encode images that the store knows by id and has seen as files; only what is missing is read.

        Raises
        ------
        NotStored
            When something is missing and ``encode`` is False, or no file of it is known any more.
        """
        distinct = np.unique(np.array(ids, np.int64))
        missing = self._missing("image", distinct)
        if not len(missing):
            return Ensured(len(distinct), 0, 0.0, ids=tuple(ids))
        if not encode:
            self._refuse(len(missing), "images")
        paths = overlay.paths(self._catalogue, missing.tolist())
        lost = [id_ for id_ in missing.tolist() if id_ not in paths]
        if lost:
            msg = (
                f"{len(lost):,} images are not encoded with {self.shown}, and the store knows no file of them "
                f"(first: {keys.to_hex(lost[0])}): add the set again with --images"
            )
            raise NotStored(msg)
        wanted = {id_: Image(Path(path), path) for id_, path in paths.items()}
        found = identify(self._catalogue, list(wanted.values()), progress)
        same = [image for (id_, image), now in zip(wanted.items(), found.ids, strict=True) if now == id_]
        other = [
            Failure(image.name, "holds another image than the one that was saved")
            for (id_, image), now in zip(wanted.items(), found.ids, strict=True)
            if now not in {None, id_}
        ]
        ids_of = {image.name: id_ for id_, image in wanted.items()}
        known = Identified(tuple(ids_of[image.name] for image in same), ())
        ensured = self.ensure_images(same, progress=progress, identified=known)
        failures = (*found.failures, *other, *ensured.failures)
        here = set(distinct.tolist()) - set(missing.tolist()) | set(ensured.ids)
        return Ensured(
            len(distinct),
            ensured.encoded,
            ensured.seconds,
            failures,
            len(failures),
            ids=tuple(id_ if id_ in here else None for id_ in ids),
        )

    def _refuse(self, count: int, what: str) -> None:
        msg = (
            f"{count:,} {what} have no vector of {self.shown} in {self._catalogue.folder.name}, "
            "and encoding is switched off: run once without --no-encode (encode=True)"
        )
        raise NotStored(msg)
