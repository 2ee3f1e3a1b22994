"""A store: one folder with a catalogue and the vectors of any number of encoders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self, final

from clipstore import encoders
from clipstore.encoders import names
from clipstore.encoders.protocol import MAX_PIXELS, Fingerprint, LoadOptions
from clipstore.errors import FingerprintMismatch, NotStored
from clipstore.storage.catalogue import Catalogue, contents, files, segments, sets, spaces
from clipstore.storage.catalogue.spaces import AliasKey, AliasRow
from clipstore.store.holdings import Counts, Model
from clipstore.store.identify import identify
from clipstore.store.progress import silent
from clipstore.store.space import Space

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from types import TracebackType

    from clipstore.encoders.names import ModelName
    from clipstore.encoders.protocol import Encoder
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
        """Count what the store holds."""
        with self._catalogue.read() as tx:
            return Counts(contents.image_count(tx), contents.text_count(tx), len(sets.names(tx)), len(spaces.all(tx)))

    def sets(self) -> list[SetSummary]:
        """Return a line about each eval set: name, hash, items, systems, when it was made."""
        with self._catalogue.read() as tx:
            return sets.names(tx)

    def failures(self) -> list[FailureRow]:
        """Return the image files that could not be read or encoded when last tried."""
        with self._catalogue.read() as tx:
            return files.failures(tx)

    def models(self) -> list[Model]:
        """Return each model name that the store knows, with how many vectors of it there are."""
        with self._catalogue.read() as tx:
            rows = segments.all(tx)
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
        batch_size: int | None = None,
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
            When there is no such model or its weights can't be had.
        FingerprintMismatch
            When the store knows the name with other weights.
        """
        chosen = LoadOptions(device, precision, preprocess, exif, batch_size, trust_weights, max_pixels)
        name = names.parse(model, pretrained, None if weights is None else Path(weights))
        return self.space_of(name, chosen)

    def space_of(self, name: ModelName, options: LoadOptions) -> Space:
        """Return the space of a parsed name: :meth:`space` without the parsing."""
        key = _alias_key(name, options)
        for catalogue in (self._catalogue, *self._catalogue.bases):
            with catalogue.read() as tx:
                alias = spaces.alias(tx, key) or _moved(tx_aliases=spaces.aliases(tx), key=key, name=name)
                row = spaces.get(tx, alias.digest) if alias else None
            if row is not None:
                break
        if alias is not None and row is not None and not _weights_changed(alias, name):
            return self._known(row, name, options)
        encoder = encoders.load(name, options)
        if row is not None and row.digest != encoder.fingerprint.digest:
            raise _mismatch(name, Fingerprint(row.fields), encoder.fingerprint)
        return self._registered(encoder, name, key)

    def _known(self, row: SpaceRow, name: ModelName, options: LoadOptions) -> Space:
        fingerprint = Fingerprint(row.fields)

        def load() -> Encoder:
            encoder = encoders.load(name, options)
            if encoder.fingerprint.digest != row.digest:
                raise _mismatch(name, fingerprint, encoder.fingerprint)
            return encoder

        return Space(self._catalogue, row, name.shown, fingerprint, load)

    def _registered(self, encoder: Encoder, name: ModelName, key: AliasKey) -> Space:
        fingerprint = encoder.fingerprint
        with self._catalogue.write() as tx:
            spaces.register(tx, fingerprint.digest, fingerprint.fields, encoder.dim)
            spaces.set_alias(tx, AliasRow(key, fingerprint.digest, *_weights_stat(name)))
            row = spaces.get(tx, fingerprint.digest)
        if row is None:  # registered in the same transaction
            msg = f"the space of {name.shown} could not be registered"
            raise NotStored(msg)
        return Space(self._catalogue, row, name.shown, fingerprint, lambda: encoder)

    def custom_space(self, encoder: Encoder, name: str) -> Space:
        """Return the space of an encoder of your own, registered under its fingerprint.

        Parameters
        ----------
        encoder
            Anything that implements :class:`clipstore.encoders.protocol.Encoder`.
        name
            How messages and signatures call it.
        """
        fingerprint = encoder.fingerprint
        with self._catalogue.read() as tx:
            row = spaces.get(tx, fingerprint.digest)
        if row is None:
            with self._catalogue.write() as tx:
                spaces.register(tx, fingerprint.digest, fingerprint.fields, encoder.dim)
                row = spaces.get(tx, fingerprint.digest)
        if row is None:
            msg = f"the space of {name} could not be registered"
            raise NotStored(msg)
        return Space(self._catalogue, row, name, fingerprint, lambda: encoder)

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


def _alias_key(name: ModelName, options: LoadOptions) -> AliasKey:
    weights = "" if name.weights is None else str(Path(name.weights).resolve())
    return AliasKey(name.shown, weights, options.precision, options.preprocess, options.exif)


def _moved(tx_aliases: list[AliasRow], key: AliasKey, name: ModelName) -> AliasRow | None:
    """Return the alias of a weights file that is not on this machine, by its file name, where only one fits."""
    if name.weights is None or Path(name.weights).exists():
        return None
    wanted = (key.model, Path(key.weights).name, key.precision, key.preprocess, key.exif)
    fits = [
        row
        for row in tx_aliases
        if (row.key.model, Path(row.key.weights).name, row.key.precision, row.key.preprocess, row.key.exif) == wanted
    ]
    return fits[0] if len(fits) == 1 else None


def _weights_stat(name: ModelName) -> tuple[int | None, int | None, int | None]:
    if name.weights is None or not Path(name.weights).exists():
        return None, None, None
    stat = Path(name.weights).stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def _weights_changed(alias: AliasRow, name: ModelName) -> bool:
    now = _weights_stat(name)
    return now[0] is not None and now != (alias.weights_size, alias.weights_mtime_ns, alias.weights_inode)


def _mismatch(name: ModelName, known: Fingerprint, loaded: Fingerprint) -> FingerprintMismatch:
    lines = "\n  ".join(known.difference(loaded))
    msg = (
        f"{name.shown} now loads another encoder than the one this store was filled with "
        f"({known.digest} -> {loaded.digest}):\n  {lines}\n"
        "Use the earlier weights, or another --store for the new ones."
    )
    return FingerprintMismatch(msg)
