"""A store: one folder with a catalogue and the vectors of any number of encoders."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, final

from clipstore import encoders
from clipstore.encoders import devices, names
from clipstore.encoders.protocol import MAX_PIXELS, Fingerprint, LoadOptions
from clipstore.errors import Busy, CannotWrite, NotStored
from clipstore.storage import spool
from clipstore.storage.catalogue import Catalogue, contents, files, segments, sets, spaces
from clipstore.storage.catalogue.engine import WRITE_PATIENCE
from clipstore.storage.catalogue.spaces import AliasRow
from clipstore.store import naming, pair_scorers
from clipstore.store.fleet import Fleet
from clipstore.store.holdings import Counts, Model
from clipstore.store.identify import identify
from clipstore.store.progress import silent
from clipstore.store.space import Space

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from types import TracebackType

    from clipstore.encoders.names import ModelName
    from clipstore.encoders.protocol import Encoder, PairScorer
    from clipstore.items import Image
    from clipstore.storage.catalogue.files import FailureRow
    from clipstore.storage.catalogue.sets import SetSummary
    from clipstore.storage.catalogue.spaces import SpaceRow
    from clipstore.store.identify import Identified
    from clipstore.store.progress import Progress

DEFAULT_MODEL = names.DEFAULT
FOLDER = ".clipstore"


@final
class Store:
    """A folder that holds vectors and what they are vectors of.

    Open one with :meth:`open`; use it as a context manager or call :meth:`close`.
    One store may be used from several threads and processes.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = True) -> Self:
        """Open the store in a folder, creating it if it is absent.

        Parameters
        ----------
        path
            The store's own folder, such as ``.clipstore``.
        create
            False refuses to make a new one.

        Raises
        ------
        NotAStore
            When the folder holds something else, or is absent and ``create`` is False.
        NewerSchema
            When a newer clipstore wrote it.
        """
        catalogue = Catalogue.open(Path(path), create=create)
        spool.adopt(catalogue)
        return cls(catalogue)

    @staticmethod
    def nearest(start: str | os.PathLike[str] = ".") -> Path:
        """Return ``.clipstore`` in ``start`` or the nearest parent that has one, else the one to make here."""
        here = Path(start).resolve()
        for folder in (here, *here.parents):
            if (folder / FOLDER).is_dir():
                return folder / FOLDER
        return here / FOLDER

    @property
    def catalogue(self) -> Catalogue:
        """The rows behind the store."""
        return self._catalogue

    @property
    def folder(self) -> Path:
        """Where the store lies."""
        return self._catalogue.folder

    def counts(self) -> Counts:
        """Count what the store itself holds; its bases are counted by :meth:`below`."""
        return _counts(self._catalogue)

    def below(self) -> list[tuple[Path, Counts]]:
        """Return the folder of each store that this one rests on, and what it holds; in the order they are read."""
        return [(base.folder, _counts(base)) for base in self._catalogue.bases]

    def sets(self) -> list[SetSummary]:
        """Return a line about each eval set: name, hash, items, systems, when it was made."""
        with self._catalogue.read() as tx:
            return sets.names(tx)

    def failures(self) -> list[FailureRow]:
        """Return the image files that could not be read or encoded when last tried."""
        with self._catalogue.read() as tx:
            return files.failures(tx)

    def models(self) -> list[Model]:
        """Return each model name that the store knows, with how many vectors of it there are, bases included."""
        rows = []
        for base in self._catalogue.bases:
            with base.read() as tx:
                rows += segments.all(tx)
        with self._catalogue.read() as tx:
            rows += segments.all(tx)
            dims = {row.digest: row.dim for row in spaces.all(tx)}
            aliases = spaces.aliases(tx)

        def count(digest: str, modality: str) -> int:
            return sum(row.rows for row in rows if (row.digest, row.modality) == (digest, modality))

        return [
            Model(
                alias.key.model,
                Path(alias.key.weights).name,
                alias.key.precision,
                alias.digest,
                dims[alias.digest],
                count(alias.digest, "image"),
                count(alias.digest, "text"),
            )
            for alias in aliases
        ]

    def space(
        self,
        model: str = DEFAULT_MODEL,
        *,
        pretrained: str | None = None,
        weights: str | os.PathLike[str] | None = None,
        device: str = "auto",
        precision: str = "fp32",
        preprocess: str = "exact",
        exif: str = "ignore",
        batch_size: int | Literal["auto"] | None = None,
        trust_weights: bool = False,
        max_pixels: int = MAX_PIXELS,
    ) -> Space:
        """Return the vectors of one encoder; it is loaded only if the store does not know the name.

        Parameters
        ----------
        model
            ``ViT-B-32/openai`` (architecture/tag), ``ViT-B/32``, ``hf-hub:...``, ``local-dir:...``, ``tiny``.
        pretrained
            open_clip's tag, when ``model`` is an architecture alone.
        weights
            A local weights file for a named model.
        device, precision, preprocess, exif, batch_size, trust_weights, max_pixels
            See :class:`clipstore.encoders.protocol.LoadOptions`.

        Raises
        ------
        UnknownModel
            When there is no such model or its weights can't be had; or there is no such file, but one of that
            name where the store loaded it last.
        FingerprintMismatch
            When the store knows the name with other weights.
        """
        chosen = LoadOptions(device, precision, preprocess, exif, batch_size, trust_weights, max_pixels)
        name = names.parse(model, pretrained, None if weights is None else Path(weights))
        return self.space_of(name, chosen)

    def space_of(self, name: ModelName, options: LoadOptions) -> Space:
        """Return the space of a parsed name: :meth:`space` without the parsing."""
        key = naming.key_of(name, options)
        found = naming.recall((self._catalogue, *self._catalogue.bases), key, name)
        now = naming.stat_of(name)
        if found is not None and not naming.is_changed(found[0], now):
            return self._known(found[1], name, options)
        encoder = encoders.load(name, options)
        if found is not None and found[1].digest != encoder.fingerprint.digest:
            raise naming.mismatch(name, Fingerprint(found[1].fields), encoder.fingerprint)
        alias = AliasRow(key, encoder.fingerprint.digest, *now)
        if found is None:
            row = self._registered(encoder, name.shown, alias)
            return self._made(row, name.shown, encoder, self._fleet(name, options))
        with contextlib.suppress(Busy, CannotWrite):  # the files were looked at in vain; next time again
            self._registered(encoder, name.shown, alias, patience=0)
        return self._made(found[1], name.shown, encoder, self._fleet(name, options))

    def _known(self, row: SpaceRow, name: ModelName, options: LoadOptions) -> Space:
        fingerprint = Fingerprint(row.fields)

        def load() -> Encoder:
            encoder = encoders.load(name, options)
            if encoder.fingerprint.digest != row.digest:
                raise naming.mismatch(name, fingerprint, encoder.fingerprint)
            return encoder

        notes = naming.notes(name, row)
        return Space(self._catalogue, row, name.shown, fingerprint, load, notes, self._fleet(name, options))

    def _made(self, row: SpaceRow, shown: str, encoder: Encoder, fleet: Fleet | None = None) -> Space:
        return Space(self._catalogue, row, shown, encoder.fingerprint, lambda: encoder, fleet=fleet)

    def _fleet(self, name: ModelName, options: LoadOptions) -> Fleet | None:
        return Fleet(self.folder, name, options) if options.device == devices.ALL else None

    def _registered(
        self, encoder: Encoder, shown: str, alias: AliasRow | None = None, patience: float = WRITE_PATIENCE
    ) -> SpaceRow:
        fingerprint = encoder.fingerprint
        with self._catalogue.write(patience) as tx:
            spaces.register(tx, fingerprint.digest, fingerprint.fields, encoder.dim)
            if alias is not None:
                spaces.set_alias(tx, alias)
            row = spaces.get(tx, fingerprint.digest)
        if row is None:  # registered in the same transaction
            msg = f"the space of {shown} could not be registered"
            raise NotStored(msg)
        return row

    def custom_space(self, encoder: Encoder, name: str) -> Space:
        """Return the space of an encoder of your own, registered under its fingerprint.

        Parameters
        ----------
        encoder
            Anything that implements :class:`clipstore.encoders.protocol.Encoder`.
        name
            How messages and signatures call it.
        """
        with self._catalogue.read() as tx:
            row = spaces.get(tx, encoder.fingerprint.digest)
        return self._made(row or self._registered(encoder, name), name, encoder)

    def pair_scorer(self, name: str, *, device: str = "auto") -> PairScorer:
        """Return a pair scorer by its name, for a later stage of a cascade; loaded only when a number is missing.

        Parameters
        ----------
        name
            ``image-reward:FOLDER``, a folder with ``ImageReward.pt`` and ``vocab.txt``.
        device
            As in :meth:`space`.

        Raises
        ------
        UnknownModel
            When it is no pair scorer's name, or a file is missing.
        """
        return pair_scorers.named(self._catalogue, names.parse_pair(name), device)

    def identify(self, images: Sequence[Image], progress: Progress = silent) -> Identified:
        """Return the content id of each image; files whose stat is known are not read again."""
        return identify(self._catalogue, images, progress)

    def close(self) -> None:
        """Close the catalogue's connections."""
        self._catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _counts(catalogue: Catalogue) -> Counts:
    with catalogue.read() as tx:
        return Counts(contents.image_count(tx), contents.text_count(tx), len(sets.names(tx)), len(spaces.all(tx)))
