"""The models that can be named, and their files for a machine without network. Loads no model."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, final

from clipstore.encoders import names
from clipstore.encoders.profiles import (
    ALIASES,
    PAIR_FILES,
    PAIR_FORMULA,
    PAIR_LENGTH,
    PAIR_SCORER,
    PREFIX,
    PROFILES,
    SIGLIP,
)
from clipstore.errors import CannotWrite, UnknownModel

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.encoders.source import Source

_PLAIN = "2.5 max(cos, 0)"


@final
@dataclass(frozen=True, slots=True)
class Known:
    """A model that can be named.

    Parameters
    ----------
    name
        What ``--model`` takes; of a pair scorer, what ``--cascade`` takes.
    formula
        Of its published number.
    prefix
        What goes before a text.
    context_length
        Tokens that it reads; None where open_clip alone knows.
    where
        Where its weights come from.
    recipe
        The recipe that computes the formula; empty for a pair scorer, which needs none.
    """

    name: str
    formula: str
    prefix: str
    context_length: int | None
    where: str
    recipe: str

    def to_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        return asdict(self)


@final
@dataclass(frozen=True, slots=True)
class Fetched:
    """Files that were put into a folder.

    Parameters
    ----------
    files
        Their paths.
    usage
        The options that use them.
    """

    files: tuple[Path, ...]
    usage: str


def known(*, every: bool = False) -> list[Known]:
    """Return the models that can be named: the default, the one that ships, published scorers.

    Parameters
    ----------
    every
        Add each architecture/tag pair of open_clip, which imports it.
    """
    rows = [
        Known(names.DEFAULT, _PLAIN, PREFIX, 77, "the model hub or OpenAI, by open_clip's tag", "hessel2021"),
        Known("tiny", _PLAIN, PREFIX, 77, "ships with clipstore; not for reporting", "hessel2021"),
    ]
    rows += [
        Known(one.name, one.formula, one.prefix, one.context_length, one.where, one.recipe) for one in PROFILES.values()
    ]
    sigmoid = "cos, or sigmoid(exp(logit_scale) cos + logit_bias)"
    rows += [Known(short, sigmoid, "", 64, f"the model hub: {pair}", "raw") for short, pair in ALIASES.items()]
    files = " and ".join(f"{file} of {repository}" for file, repository in PAIR_FILES.items())
    where = f"a folder with {files}; a later model of rerank --cascade"
    rows.append(Known(f"{PAIR_SCORER}:FOLDER", PAIR_FORMULA, "", PAIR_LENGTH, where, ""))
    if every:
        import open_clip  # imports torch

        pairs = (f"{model}/{tag}" for model, tag in open_clip.list_pretrained())
        rows += [_pair(pair) for pair in pairs if pair != names.DEFAULT]
    return rows


def _pair(name: str) -> Known:
    where = "by open_clip's tag"
    if SIGLIP in name:
        return Known(name, "cos", "", None, where, "raw")
    return Known(name, _PLAIN, PREFIX, None, where, "hessel2021")


def fetch(model: str, folder: Path, pretrained: str | None = None) -> Fetched:
    """Put a model's weights, and its config where it comes with one, into a folder.

    Parameters
    ----------
    model, pretrained
        As :func:`clipstore.encoders.names.parse` takes them.
    folder
        Made where it is absent; files of the same name are replaced.

    Raises
    ------
    UnknownModel
        When there is no such model, or its files can't be had.
    CannotWrite
        When the folder can't be written.
    """
    if names.is_pair(model):
        message = f"{PAIR_SCORER} is a folder of two files, fetched by the hub's own tool. {names.bringing()}"
        raise UnknownModel(message)
    name = names.parse(model, pretrained)
    if name.kind in {"tiny", "fake", "local-dir"}:
        message = f"{name.shown} is on this machine already: nothing to fetch"
        raise UnknownModel(message)
    from clipstore.encoders import source  # imports torch

    found = source.find(name)
    whole = name.kind == "hf-hub"  # its config and tokenizer come along, so that the folder is a model
    target = folder / f"{'open_clip_model' if whole else _file_name(name)}{found.weights.suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found.weights, target)
        files = [target, *(_config(found, folder) if whole else ())]
    except OSError as error:
        message = f"can't write {folder}: {(error.strerror or str(error)).lower()}"
        raise CannotWrite(message) from error
    if whole:
        return Fetched(tuple(files), f"--model {shlex.quote(f'local-dir:{folder}')}")
    return Fetched(tuple(files), f"--model {shlex.quote(name.shown)} --weights {shlex.quote(str(target))}")


def _config(found: Source, folder: Path) -> list[Path]:
    path = folder / "open_clip_config.json"
    content = {"model_cfg": dict(found.config), "preprocess_cfg": dict(found.preprocess)}
    path.write_text(json.dumps(content, indent=1, default=list) + "\n", encoding="utf-8")
    return [path]


def _file_name(name: names.ModelName) -> str:
    return name.shown.replace("/", "--").replace(":", "--")
