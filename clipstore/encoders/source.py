"""Where a model comes from: its config, its preprocessing, its file of weights, its tokenizer's name."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import open_clip
from open_clip.pretrained import get_pretrained_cfg, list_pretrained_tags_by_model
from open_clip.transform import PreprocessCfg, merge_preprocess_dict

from clipstore.encoders import hub
from clipstore.encoders.names import HF_HUB, LOCAL_DIR, QUICKGELU, ModelName
from clipstore.encoders.profiles import PROFILES
from clipstore.errors import EncoderError, UnknownModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clipstore.encoders.profiles import Pixels, Profile

TINY = Path(__file__).parent / "tiny"
_PREFERRED = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.safetensors",
    "open_clip_pytorch_model.bin",
    "model.safetensors",
    "pytorch_model.bin",
)
_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth")
_PREPROCESS = ("mean", "std", "interpolation", "resize_mode")


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A model before its weights are read.

    Parameters
    ----------
    config
        open_clip's model config.
    preprocess
        open_clip's preprocessing config.
    weights
        The file of weights.
    tokenizer
        What ``open_clip.get_tokenizer`` is asked for; empty for the usual one.
    quick_gelu
        The activation that config and tag say; None where weights were given for an
        architecture that exists both ways, and nothing says which it is.
    pixels
        What prepares its pixels: ``official``, or a way of its own.
    """

    config: Mapping[str, Any]
    preprocess: Mapping[str, Any]
    weights: Path
    tokenizer: str
    quick_gelu: bool | None
    pixels: Pixels = "official"


def find(name: ModelName) -> Source:
    """Find a named model's parts; weights that are not on this machine are fetched.

    Raises
    ------
    UnknownModel
        When there is no such architecture, tag, folder or repository, or a file can't be had.
    EncoderError
        When a config can't be read.
    """
    if name.kind == "tiny":
        return _folder(name, TINY, TINY / "config.json", "")
    if name.kind == "local-dir":
        folder = Path(name.architecture).expanduser()
        return _folder(name, folder, folder / hub.CONFIG, f"{LOCAL_DIR}{folder}")
    if name.kind == "hf-hub":
        config = hub.fetch(name.shown, name.architecture, [hub.CONFIG])
        model, preprocess = _read_config(config, name.shown)
        weights = name.weights or hub.fetch_weights(name.shown, name.architecture)
        return Source(model, preprocess, weights, f"{HF_HUB}{name.architecture}", bool(model.get("quick_gelu")))
    if name.kind == "profile":
        return _published(name, PROFILES[name.architecture])
    return _registered(name)


def _published(name: ModelName, profile: Profile) -> Source:
    """Put a published scorer together: open_clip's config with its context, its own preprocessing and weights."""
    config = open_clip.get_model_config(profile.architecture)
    if config is None:  # pragma: no cover - open_clip has each of them
        raise UnknownModel(_near_misses(name))
    config["text_cfg"] = {**config["text_cfg"], "context_length": profile.context_length}
    weights = name.weights or hub.fetch_profile(profile)
    preprocess = merge_preprocess_dict(PreprocessCfg(), dict(profile.preprocess))
    return Source(config, preprocess, weights, profile.architecture, profile.quick_gelu, profile.pixels)


def _registered(name: ModelName) -> Source:
    """Look an architecture and tag up in open_clip's tables."""
    config = open_clip.get_model_config(name.architecture)
    if config is None:
        raise UnknownModel(_near_misses(name))
    says = bool(config.get("quick_gelu"))
    if name.tag is not None:
        tag = get_pretrained_cfg(name.architecture, name.tag)
        if not tag:
            raise UnknownModel(_near_tags(name))
        weights = name.weights or hub.fetch_tag(name.shown, tag)
        quick = says or bool(tag.get("quick_gelu"))
        return Source(config, merge_preprocess_dict(PreprocessCfg(), tag), weights, name.architecture, quick)
    if name.weights is None:
        raise UnknownModel(_near_tags(name))
    has_twin = open_clip.get_model_config(name.architecture + QUICKGELU) is not None
    return Source(config, _usual_preprocess(name), name.weights, name.architecture, None if has_twin else says)


def _folder(name: ModelName, folder: Path, config: Path, tokenizer: str) -> Source:
    if not config.is_file():
        message = f"{name.shown}: no {config.name} in {folder}; a folder of config and weights is needed"
        raise UnknownModel(message)
    model, preprocess = _read_config(config, name.shown)
    return Source(model, preprocess, name.weights or _weights_in(folder), tokenizer, bool(model.get("quick_gelu")))


def _read_config(path: Path, shown: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the model's config and its preprocessing."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        model = content.get("model_cfg", content)
        parts = [model["vision_cfg"], model["text_cfg"], {"dim": model["embed_dim"]}]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{shown}: {path} is no open_clip config ({type(error).__name__}: {error}); fetch the model again"
        raise EncoderError(message) from error
    if not all(isinstance(part, dict) for part in parts):
        message = f"{shown}: {path} is no open_clip config (vision_cfg and text_cfg are no objects)"
        raise EncoderError(message)
    return dict(model), merge_preprocess_dict(PreprocessCfg(), content.get("preprocess_cfg", {}))


def _weights_in(folder: Path) -> Path:
    """Return the one file of weights in a folder."""
    for file in _PREFERRED:
        if (folder / file).is_file():
            return folder / file
    found = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
    if len(found) != 1:
        names = ", ".join(path.name for path in found[:4]) or "none"
        message = f"{folder}: one file of weights is needed, found {names}; give it with --weights FILE"
        raise UnknownModel(message)
    return found[0]


def _usual_preprocess(name: ModelName) -> dict[str, Any]:
    """Return the preprocessing of weights that come without a tag: the default, unless no tag of theirs has it."""
    default = asdict(PreprocessCfg())
    tags = [get_pretrained_cfg(name.architecture, tag) for tag in list_pretrained_tags_by_model(name.architecture)]
    ways: list[dict[str, Any]] = [merge_preprocess_dict(default, tag) for tag in tags]
    same = [all(way[field] == default[field] for field in _PREPROCESS) for way in ways]
    if not ways or any(same):
        return default
    if any(way != ways[0] for way in ways):
        message = f"{name.shown}: its weights are preprocessed in several ways; name the tag too: {_tags(name)}"
        raise UnknownModel(message)
    return ways[0]


def _tags(name: ModelName) -> str:
    tags = list_pretrained_tags_by_model(name.architecture)
    return ", ".join(f"{name.architecture}/{tag}" for tag in tags) or "none is known to open_clip"


def _near_tags(name: ModelName) -> str:
    why = f"no weights have the tag {name.tag!r}" if name.tag else "that's an architecture, not its weights"
    return f"{name.shown}: {why}. Known: {_tags(name)}; or give a file with --weights FILE"


def _near_misses(name: ModelName) -> str:
    known = open_clip.list_models()
    folded = {model.lower(): model for model in known}
    near = [folded[found] for found in difflib.get_close_matches(name.architecture.lower(), folded, 4, 0.5)]
    message = f"{name.shown}: open_clip has no architecture {name.architecture!r}"
    if near:
        message += f"; did you mean {', '.join(near)}?"
    if name.tag:
        message += f" A repository on the hub is named {HF_HUB}{name.architecture}/{name.tag}"
    return message
