"""Names of models: every spelling that a user may write, to one canonical name. Loads nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from clipstore.encoders.profiles import ALIASES, PROFILES
from clipstore.errors import UnknownModel

Kind = Literal["open_clip", "hf-hub", "local-dir", "profile", "tiny", "fake"]

DEFAULT = "ViT-B-32/openai"
"""The paper's model: ViT-B/32 with OpenAI's weights."""

HF_HUB, LOCAL_DIR = "hf-hub:", "local-dir:"
QUICKGELU = "-quickgelu"
"""What open_clip appends to an architecture's name for its QuickGELU twin."""

_OPENAI_ARCHITECTURES = {
    "ViT-B/32": "ViT-B-32",
    "ViT-B/16": "ViT-B-16",
    "ViT-L/14": "ViT-L-14",
    "ViT-L/14@336px": "ViT-L-14-336",
}
"""Names in OpenAI's paper and package, to open_clip's architectures."""

_HUGGING_FACE = {
    "openai/clip-vit-base-patch32": "ViT-B-32",
    "openai/clip-vit-base-patch16": "ViT-B-16",
    "openai/clip-vit-large-patch14": "ViT-L-14",
    "openai/clip-vit-large-patch14-336": "ViT-L-14-336",
}
"""OpenAI's repositories on the Hugging Face hub, to open_clip's architectures."""


@final
@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, taken apart.

    Parameters
    ----------
    kind
        Where architecture and weights come from.
    architecture
        open_clip's architecture; the repository for ``hf-hub``, the folder for ``local-dir``, the
        name in :mod:`clipstore.encoders.profiles` for ``profile``.
    tag
        open_clip's name of the weights, such as ``openai``; None where there is none.
    weights
        A local file that holds the weights, or None.
    shown
        The canonical name without the weights file, such as ``ViT-B-32/openai``; of a folder its last part.
    """

    kind: Kind
    architecture: str
    tag: str | None = None
    weights: Path | None = None
    shown: str = ""


def parse(model: str = DEFAULT, pretrained: str | None = None, weights: Path | str | None = None) -> ModelName:
    """Take a model's name apart.

    Parameters
    ----------
    model
        ``ViT-B-32/openai``, ``ViT-B/32``, ``openai/clip-vit-base-patch32``, ``ViT-B-32`` (with
        ``pretrained`` or ``weights``), ``hf-hub:org/name``, ``local-dir:path``, the name of a
        published scorer such as ``pac-s``, or ``tiny``.
    pretrained
        open_clip's tag, when ``model`` is only an architecture.
    weights
        A local file with the weights of the named model.

    Raises
    ------
    UnknownModel
        When the parts don't fit together. Whether an architecture or a tag exists is
        known only at load.
    """
    model, file = model.strip(), None if weights is None else Path(weights)
    pretrained = pretrained or None
    if not model:
        message = f"the model's name is empty; give one such as {DEFAULT}"
        raise UnknownModel(message)
    if model.startswith((HF_HUB, LOCAL_DIR)):
        return _located(model, pretrained, file)
    if model.lower() in PROFILES:
        return _published(model.lower(), pretrained, file)
    model = ALIASES.get(model.lower(), model)
    if model in {"tiny", "fake"} or model.startswith("fake:"):
        return _built_in(model, pretrained, file)
    return _open_clip(model, pretrained, file)


def _located(model: str, pretrained: str | None, weights: Path | None) -> ModelName:
    """Read ``hf-hub:org/name`` and ``local-dir:path``, which are never split."""
    scheme, _, place = model.partition(":")
    if not place:
        message = f"{model!r} names no place; write {HF_HUB}org/name or {LOCAL_DIR}folder"
        raise UnknownModel(message)
    if pretrained:
        message = f"{model!r} already names its weights; leave out the tag {pretrained!r}"
        raise UnknownModel(message)
    if scheme == "hf-hub":
        return ModelName("hf-hub", place, None, weights, model)
    folder = Path(os.path.abspath(Path(place).expanduser())).name  # noqa: PTH100 - resolve() follows links
    return ModelName("local-dir", place, None, weights, f"{LOCAL_DIR}{folder}")


def _built_in(model: str, pretrained: str | None, weights: Path | None) -> ModelName:
    if pretrained or weights:
        message = f"{model!r} comes with its own weights; leave out --pretrained and --weights, or name another model"
        raise UnknownModel(message)
    return ModelName("tiny" if model == "tiny" else "fake", model, None, None, model)


def _published(model: str, pretrained: str | None, weights: Path | None) -> ModelName:
    if pretrained:
        message = f"{model!r} already names its weights; leave out the tag {pretrained!r}"
        raise UnknownModel(message)
    return ModelName("profile", model, None, weights, model)


def _open_clip(model: str, pretrained: str | None, weights: Path | None) -> ModelName:
    architecture, tag = _split(model, pretrained)
    if tag and pretrained and tag != pretrained:
        message = f"{model!r} names the tag {tag!r}, but the tag {pretrained!r} was given too; leave one out"
        raise UnknownModel(message)
    tag = pretrained or tag
    if tag == "openai":  # always QuickGELU: one canonical name for the pair
        architecture = architecture.removesuffix(QUICKGELU)
    return ModelName("open_clip", architecture, tag, weights, f"{architecture}/{tag}" if tag else architecture)


def _split(model: str, pretrained: str | None) -> tuple[str, str | None]:
    """Return architecture and the tag that the name itself holds."""
    if model in _OPENAI_ARCHITECTURES:  # with another tag, only the architecture is meant
        return _OPENAI_ARCHITECTURES[model], None if pretrained else "openai"
    if model in _HUGGING_FACE:
        return _HUGGING_FACE[model], "openai"
    head, slash, tag = model.rpartition("/")
    if not slash:
        return model, None
    if not head or not tag:
        message = f"{model!r} is half a name; write architecture/tag such as {DEFAULT}"
        raise UnknownModel(message)
    return _OPENAI_ARCHITECTURES.get(head, head), tag
