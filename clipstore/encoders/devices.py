"""Devices: what a device option names on this machine."""

from __future__ import annotations

from typing import Final

from clipstore.errors import EncoderError

ALL: Final = "cuda:all"
"""The option that stands for every CUDA device of this machine."""


def named(wanted: str) -> list[str]:
    """Return the devices that a device option names: ``cuda:all`` is each, anything else is itself.

    Raises
    ------
    EncoderError
        When ``cuda:all`` is asked for and there is none.
    """
    if wanted != ALL:
        return [wanted]
    import torch  # only where it is asked for

    count = torch.cuda.device_count()
    if not count:
        message = f"no CUDA device here for {ALL}; choose auto or cpu"
        raise EncoderError(message)
    return [f"cuda:{number}" for number in range(count)]
