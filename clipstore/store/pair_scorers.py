"""Pair scorers by name: what a store remembers of one, so that numbers it holds are found without loading it."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, final

from clipstore import encoders
from clipstore.encoders.protocol import FORMAT, Fingerprint
from clipstore.errors import Busy, CannotWrite, FingerprintMismatch
from clipstore.storage.catalogue import settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import PIL.Image

    from clipstore.arrays import Scores
    from clipstore.encoders.names import PairName
    from clipstore.encoders.protocol import PairScorer, Prepared
    from clipstore.storage.catalogue import Catalogue

_SETTING = "pair-scorer:"  # and the folder


def named(catalogue: Catalogue, name: PairName, device: str) -> PairScorer:
    """Return a pair scorer; it is loaded at once only if its files are not those that the store remembers.

    Parameters
    ----------
    catalogue
        Of the store.
    name
        Its name.
    device
        Where it is to run.

    Raises
    ------
    UnknownModel
        When a file is missing.
    EncoderError
        When it has to be loaded and can't be.
    """
    setting = f"{_SETTING}{name.folder.resolve()}"
    stats = [[stat.st_size, stat.st_mtime_ns, stat.st_ino] for stat in (file.stat() for file in name.files())]
    with catalogue.read() as tx:
        noted = json.loads(settings.get(tx, setting) or "{}")
    if noted.get("files") == stats and noted["fields"]["format"] == FORMAT:
        return _Remembered(Fingerprint(noted["fields"]), name, device)
    scorer = encoders.load_pair_scorer(name, device)
    text = json.dumps({"files": stats, "fields": dict(scorer.fingerprint.fields)}, sort_keys=True)
    with contextlib.suppress(Busy, CannotWrite), catalogue.write(patience=0) as tx:  # else next time again
        settings.set(tx, setting, text)
    return scorer


@final
class _Remembered:
    """A pair scorer that is loaded when it is first needed.

    Parameters
    ----------
    fingerprint
        What it was when it was last loaded.
    name, device
        What to load.
    """

    def __init__(self, fingerprint: Fingerprint, name: PairName, device: str) -> None:
        self._fingerprint, self._name, self._device = fingerprint, name, device
        self._loaded: PairScorer | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        """What changes a number."""
        return self._fingerprint

    @property
    def environment(self) -> Mapping[str, str]:
        """Versions and device; loads it."""
        return self._scorer().environment

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Decode and resize one image; loads the scorer."""
        return self._scorer().prepare_image(image)

    def score(self, image: Prepared, texts: Sequence[str]) -> Scores:
        """Return the number of one image with each text."""
        return self._scorer().score(image, texts)

    def _scorer(self) -> PairScorer:
        if self._loaded is None:
            loaded = encoders.load_pair_scorer(self._name, self._device)
            if loaded.fingerprint.digest != self._fingerprint.digest:
                lines = "\n  ".join(self._fingerprint.difference(loaded.fingerprint))
                file = self._name.files()[0]
                msg = (
                    f"{file} is not what this store remembers of it:\n  {lines}\n`touch {file}` has it looked at again."
                )
                raise FingerprintMismatch(msg)
            self._loaded = loaded
        return self._loaded
