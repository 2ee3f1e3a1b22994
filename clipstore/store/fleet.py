"""A fleet: on a machine with several devices one more process for each further one, which encodes beside this one.

Processes are spawned, never forked: a fork beside CUDA or FAISS hangs. They share nothing but the
store's folder: claims divide the work, and each writes its own segments.
"""

from __future__ import annotations

import logging
import multiprocessing
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

from clipstore.encoders import devices
from clipstore.errors import ClipstoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from clipstore.encoders.names import ModelName
    from clipstore.encoders.protocol import LoadOptions
    from clipstore.items import Image
    from clipstore.store.space import Space

logger = logging.getLogger("clipstore.store")

WORTH: Final = 1000
"""Missing items below which loading the model once more takes longer than it saves."""

_GRACE: Final = 10.0  # seconds for a worker to commit what it has after Ctrl-C


@final
@dataclass(frozen=True, slots=True)
class Fleet:
    """The further devices of a space, and how a process gets there.

    Parameters
    ----------
    folder
        Of the store.
    name, options
        What the space was asked for with; ``options.device`` names the devices.
    """

    folder: Path
    name: ModelName
    options: LoadOptions

    @contextmanager
    def texts(self, texts: Sequence[str], prefix: str) -> Iterator[bool]:
        """Have the further devices encode these texts meanwhile; gives whether there are any.

        Raises
        ------
        EncoderError
            When all devices are asked for and there is none.
        """
        with self._beside(_texts, len(texts), list(texts), prefix) as joined:
            yield joined

    @contextmanager
    def images(self, images: Sequence[Image]) -> Iterator[bool]:
        """Have the further devices encode these images meanwhile, as :meth:`texts`."""
        with self._beside(_images, len(images), list(images)) as joined:
            yield joined

    @contextmanager
    def _beside(self, work: Callable[..., None], count: int, *given: object) -> Iterator[bool]:
        others = devices.named(self.options.device)[1:] if count >= WORTH else []
        context = multiprocessing.get_context("spawn")
        started = []
        try:
            for device in others:
                way = (self.folder, self.name, replace(self.options, device=device))
                process = context.Process(target=_one, args=(work, way, given), daemon=True)
                process.start()
                started.append((device, process))
            yield bool(started)
            for _, process in started:
                process.join()
        except BaseException:  # each gets Ctrl-C itself, and commits what it has
            _stop([process for _, process in started])
            raise
        for device, process in started:
            if process.exitcode:
                logger.warning(
                    "%s: its worker failed (exit code %d); the others did its part", device, process.exitcode
                )


def _texts(space: Space, texts: list[str], prefix: str) -> None:
    space.ensure_texts(texts, prefix)


def _images(space: Space, images: list[Image]) -> None:
    space.ensure_images(images)


def _one(work: Callable[..., None], way: tuple[Path, ModelName, LoadOptions], given: tuple[Any, ...]) -> None:
    """Encode in the worker; an interrupt ends it quietly, an error of ours with its message."""
    from clipstore.store.store import Store  # which imports the space, and that this module

    folder, name, options = way
    try:
        with Store.open(folder) as store:
            work(store.space_of(name, options), *given)
    except KeyboardInterrupt:
        sys.exit(130)
    except ClipstoreError as error:
        sys.exit(f"{options.device}: {error}")


def _stop(processes: Sequence[SpawnProcess]) -> None:
    for process in processes:
        process.join(_GRACE)
    for process in processes:
        if process.is_alive():
            process.terminate()
            process.join()
