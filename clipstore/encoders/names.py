"""Names of models: every spelling that a user may write, to one canonical name. Loads nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final

from clipstore.encoders.profiles import ALIASES, PAIR_FILES, PAIR_SCORER, PROFILES
from clipstore.errors import UnknownModel

if TYPE_CHECKING:
    from collections.abc import Iterable

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


@final
@dataclass(frozen=True, slots=True)
class PairName:
    """A pair scorer's name: ``image-reward:FOLDER``.

    Parameters
    ----------
    folder
        Holds the weights and the vocabulary.
    """

    folder: Path

    def files(self) -> tuple[Path, ...]:
        """Return the files to load, in the order of :data:`clipstore.encoders.profiles.PAIR_FILES`.

        Raises
        ------
        UnknownModel
            When one is missing; with where it comes from.
        """
        missing = [file for file in PAIR_FILES if not (self.folder / file).is_file()]
        if missing:
            where = f"in {self.folder}" if self.folder.is_dir() else f"because there is no folder {self.folder}"
            message = (
                f"{PAIR_SCORER}:{self.folder}: no {' and no '.join(missing)} {where}. {bringing(missing, self.folder)}"
            )
            raise UnknownModel(message)
        return tuple(self.folder / file for file in PAIR_FILES)


def bringing(files: Iterable[str] = PAIR_FILES, folder: Path | str = "FOLDER") -> str:
    """Return how a pair scorer's files are brought into its folder."""
    ways = " and ".join(f"`hf download {PAIR_FILES[file]} {file} --local-dir {folder}`" for file in files)
    return f"On a machine with network: {ways}"


def is_pair(model: str) -> bool:
    """Say whether a name is a pair scorer's, whole or half."""
    return model.strip().partition(":")[0].lower() == PAIR_SCORER


def parse_pair(model: str) -> PairName:
    """Take the name of a pair scorer apart: ``image-reward:FOLDER``.

    Raises
    ------
    UnknownModel
        When it is no pair scorer's, or names no folder.
    """
    place = model.strip().partition(":")[2]
    if not is_pair(model) or not place:
        message = f"{model!r} is no pair scorer with its folder; write {PAIR_SCORER}:FOLDER. {bringing()}"
        raise UnknownModel(message)
    return PairName(Path(place).expanduser())


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
        When the parts don't fit together, or it is a pair scorer, which has no vectors. Whether
        an architecture or a tag exists is known only at load.
    """
    model, file = model.strip(), None if weights is None else Path(weights)
    pretrained = pretrained or None
    if not model:
        message = f"the model's name is empty; give one such as {DEFAULT}"
        raise UnknownModel(message)
    if is_pair(model):
        message = (
            f"{model!r} scores image and caption together and has no vectors: it goes into rerank --cascade "
            f"as a later model, such as --cascade {DEFAULT}:5,{PAIR_SCORER}:FOLDER:1"
        )
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
