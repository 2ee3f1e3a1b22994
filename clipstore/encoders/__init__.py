"""Encoders: models that turn images and texts into unit vectors of one space.

Importing this package loads no model and no torch; :func:`load` does, by the model's name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clipstore.encoders import devices
from clipstore.errors import UnknownModel

if TYPE_CHECKING:
    from clipstore.encoders.names import ModelName, PairName
    from clipstore.encoders.protocol import Encoder, LoadOptions, PairScorer


def load(name: ModelName, options: LoadOptions) -> Encoder:
    """Load the encoder of a parsed model name; of several devices on the first.

    Raises
    ------
    UnknownModel
        When there is no such model, or its weights can't be had.
    EncoderError
        When weights, device or precision don't fit.
    """
    if name.kind == "fake":
        return _fake(name)
    from clipstore.encoders import open_clip  # imports torch: only when a model is needed

    return open_clip.build(name, replace(options, device=devices.named(options.device)[0]))


def load_pair_scorer(name: PairName, device: str = "auto") -> PairScorer:
    """Load the pair scorer of a parsed name; of several devices on the first.

    Raises
    ------
    UnknownModel
        When a file is missing from its folder.
    EncoderError
        When a file does not fit, or transformers is not installed.
    """
    file, vocabulary = name.files()
    from clipstore.encoders import image_reward  # imports torch: only when it is needed

    return image_reward.load(file, vocabulary, devices.named(device)[0])


def _fake(name: ModelName) -> Encoder:
    """Return ``fake``, or with ``fake:128`` one of another length."""
    from clipstore.encoders.fake import FakeEncoder  # imports Pillow

    _, _, dim = name.architecture.partition(":")
    if not dim:
        return FakeEncoder()
    if not dim.isdecimal() or int(dim) < 1:
        message = f"{name.shown!r}: the length of a fake vector is a number, such as fake:64"
        raise UnknownModel(message)
    return FakeEncoder(int(dim))
