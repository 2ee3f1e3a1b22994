"""The vectors of one encoder: ensure that they are there, then gather them."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.encoders import canonical
from clipstore.encoders.protocol import TURNING
from clipstore.errors import NotStored
from clipstore.storage import overlay
from clipstore.storage.location import VECTORS
from clipstore.store import encoding, known_images
from clipstore.store.claims import Claims
from clipstore.store.ensured import Ensured
from clipstore.store.failures import record
from clipstore.store.identify import Failure, Identified, identify
from clipstore.store.progress import Progress, silent
from clipstore.store.shelves import Shelves
from clipstore.store.text_keys import text_keys
from clipstore.store.turns import Turns
from clipstore.store.writing import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clipstore.arrays import Ids, Vectors
    from clipstore.encoders.protocol import Encoder, Fingerprint
    from clipstore.items import Image
    from clipstore.storage.catalogue import Catalogue
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.storage.lookup import Shelf
    from clipstore.storage.overlay import Stack
    from clipstore.store.fleet import Fleet
    from clipstore.store.shelves import Modality


@final
class Space:
    """The vectors of one encoder in a store.

    Made by :meth:`clipstore.Store.space`. The encoder is loaded when something is missing,
    not before: a fully cached run imports no torch. It may be used from several threads:
    they encode in turn, and gather at once.

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
    notes
        What the user should be told of it, such as that its weights were not looked at.
    fleet
        The further devices, where it is to encode on several.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        row: SpaceRow,
        shown: str,
        fingerprint: Fingerprint,
        load: Callable[[], Encoder],
        notes: tuple[str, ...] = (),
        fleet: Fleet | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._row = row
        self._load = load
        self._fleet = fleet
        self._encoder: Encoder | None = None
        self._cleaning = fingerprint.cleaning
        canonical.cleaner(self._cleaning)  # an unknown one is told now
        self._shelves = Shelves(catalogue, row.digest)
        self._turns = Turns()
        self.shown = shown
        self.fingerprint = fingerprint
        self.notes = notes

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
        with self._turns.taken():
            if self._encoder is None:
                progress("load", 0, 1)
                self._encoder = self._load()
                progress("load", 1, 1)
            return self._encoder

    def text_keys(self, texts: Sequence[str], prefix: str = "") -> Ids:
        """Return the vector key of each text under a prefix, int64 of shape (len(texts),)."""
        return text_keys(self._strings(texts, prefix))

    def _strings(self, texts: Sequence[str], prefix: str) -> list[str]:
        return canonical.clean_all(self._cleaning, texts, prefix)

    def shelf(self, modality: Modality) -> Shelf | Stack:
        """Return the committed segments of a modality, read again when the catalogue changed."""
        return self._shelves.of(modality)

    def _missing(self, modality: Modality, wanted: Ids) -> Ids:
        missing: Ids = wanted[~self.has(modality, wanted)]
        return missing

    def has(self, modality: Modality, wanted: Ids) -> np.ndarray:
        """Say of each image id or vector key whether a vector is committed: bool of shape (len(wanted),)."""
        return self._shelves.look(modality, lambda shelf: shelf.contains(wanted))

    @contextmanager
    def _encoding(self, modality: Modality) -> Iterator[Claims]:
        """Encode, in turn with the threads of this process and beside other processes."""
        place = self._catalogue.folder / VECTORS / self._row.digest / f"{modality}.claims"
        with self._turns.taken(), Claims(place) as claims:
            yield claims

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

    def _gather(self, modality: Modality, ids: Ids) -> Vectors:
        if not len(ids):  # an empty shelf knows no length
            return np.empty((0, self.dim), dtype=np.float32)
        return self._shelves.look(modality, lambda shelf: shelf.gather(ids))

    def cuts(self, vector_keys: Ids) -> dict[int, int]:
        """Return vector key -> tokens that did not fit, only where something was cut."""
        return overlay.cuts(self._catalogue, self._row.digest, vector_keys)

    def ensure(self, items: Sequence[str | Image], prefix: str = "", *, progress: Progress = silent) -> list[Ensured]:
        """Encode what is missing of a mixed list: images, then texts under ``prefix``; see the two methods below."""
        images = [item for item in items if not isinstance(item, str)]
        texts = [item for item in items if isinstance(item, str)]
        return [self.ensure_images(images, progress=progress), self.ensure_texts(texts, prefix, progress=progress)]

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
        ids = text_keys(strings)
        distinct, first = np.unique(ids, return_index=True)
        lacking = ~self.has("text", distinct)
        if not lacking.any():
            return Ensured(len(distinct), 0, 0.0, keys=ids)
        if not encode:
            self._refuse(int(lacking.sum()), "texts")
        rows = first[lacking].tolist()
        missing = {key: (strings[row], texts[row]) for key, row in zip(distinct[lacking].tolist(), rows, strict=True)}
        raw = [text for _, text in missing.values()]
        beside = self._fleet.texts(raw, prefix) if self._fleet else nullcontext(enter_result=False)
        with self._encoding("text") as claims, beside as joined:
            encoder = self.encoder(progress)
            writer = Writer(self._catalogue, self._row, "text", encoder.environment, prefix)
            done = encoding.texts(encoder, writer, missing, partial(self._missing, "text"), claims, progress)
        return Ensured(len(distinct), len(missing) if joined else done, time.monotonic() - start, keys=ids)

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
        done, bad, joined = dict[int, tuple[str, ...]](), dict[int, str](), False
        if missing:
            wanted, recheck = {id_: source[id_] for id_ in missing}, partial(self._missing, "image")
            beside = self._fleet.images([*wanted.values()]) if self._fleet else nullcontext(enter_result=False)
            with self._encoding("image") as claims, beside as joined:
                encoder = self.encoder(progress)
                writer = Writer(self._catalogue, self._row, "image", encoder.environment)
                done, bad = encoding.images(encoder, writer, wanted, recheck, claims, progress)
        named = zip(images, identified.ids, strict=True)
        failures = (*identified.failures, *(Failure(one.name, bad[id_]) for one, id_ in named if id_ in bad))
        record(self._catalogue, images, failures)
        return Ensured(
            len(source) + len(identified.failures),
            len(missing) - len(bad) if joined else len(done),
            time.monotonic() - start if done else 0.0,
            failures,
            len(bad) + len(identified.failures),
            ids=tuple(None if id_ in bad else id_ for id_ in identified.ids),
            flags=self._flags([id_ for id_ in source if id_ not in bad and id_ not in done], done),
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
            return Ensured(len(distinct), 0, 0.0, ids=tuple(ids), flags=self._flags(distinct.tolist(), {}))
        if not encode:
            self._refuse(len(missing), "images")
        found = known_images.find(self._catalogue, missing.tolist(), self.shown, progress)
        ensured = self.ensure_images(found.images, progress=progress, identified=found.identified)
        failures = (*found.failures, *ensured.failures)
        here = set(distinct.tolist()) - set(missing.tolist()) | set(ensured.ids)
        return Ensured(
            len(distinct),
            ensured.encoded,
            ensured.seconds,
            failures,
            len(failures),
            ids=tuple(id_ if id_ in here else None for id_ in ids),
            flags=self._flags([id_ for id_ in distinct.tolist() if id_ in here], {}),
        )

    def _flags(self, cached: Sequence[int], fresh: Mapping[int, tuple[str, ...]]) -> dict[str, int]:
        """Count the flags of images, those that were encoded now by what the encoder said."""
        known = overlay.flags(self._catalogue, cached)
        turned = () if self.fingerprint.fields.get("exif") == "apply" else TURNING  # noted for another space
        counts = Counter(flag for flags in known.values() for flag in flags if flag not in turned)
        counts.update(flag for flags in fresh.values() for flag in flags)
        return dict(sorted(counts.items()))

    def _refuse(self, count: int, what: str) -> None:
        msg = (
            f"{count:,} {what} have no vector of {self.shown} in {self._catalogue.folder.name}, "
            "and encoding is switched off: run once without --no-encode (encode=True)"
        )
        raise NotStored(msg)
