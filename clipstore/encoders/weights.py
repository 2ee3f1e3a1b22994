"""A file of weights: read without unpickling, recognised, and put into a network."""

from __future__ import annotations

import hashlib
import pickle
import struct
import warnings
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import safetensors
import safetensors.torch
import torch
from open_clip.convert import convert_state_dict
from open_clip.model import convert_to_custom_text_state_dict

from clipstore.encoders import layouts
from clipstore.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OPENAI_KEYS = frozenset({"input_resolution", "context_length", "vocab_size"})
"""What only OpenAI's own files hold beside the tensors of the network."""

_NOT_TENSORS_OF_OURS = ("attn_mask", "text.attn_mask", "text.transformer.embeddings.position_ids")
_READ_ERRORS = (
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    OverflowError,
    struct.error,
    zipfile.BadZipFile,
    pickle.UnpicklingError,
    safetensors.SafetensorError,
)
_SHOWN = 4  # names of tensors in a message


@final
@dataclass(frozen=True, slots=True)
class Weights:
    """Tensors by name, as they lie in a file.

    Parameters
    ----------
    path
        The file.
    tensors
        On the CPU, in the file's dtypes, OpenAI's three numbers left out.
    openai
        Whether the file has the layout of OpenAI's own, whose networks use QuickGELU.
    """

    path: Path
    tensors: dict[str, torch.Tensor]
    openai: bool

    def sha256(self) -> str:
        """Return the sha256 of the file, 64 hex digits."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def read(path: Path, *, trust: bool = False) -> Weights:
    """Read safetensors, a state dict saved with ``torch.save``, or (with trust) a TorchScript archive.

    Parameters
    ----------
    path
        The file.
    trust
        Allow a TorchScript archive: loading it can run code that it carries.

    Raises
    ------
    EncoderError
        When the file is missing or unreadable, holds no tensors, or needs trust.
    """
    if not path.is_file():
        message = f"{path}: {'a folder' if path.is_dir() else 'no such file'}; give the file that holds the weights"
        raise EncoderError(message)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's advice to whoever saved the file
            content = _load(path, trust=trust)
    except _READ_ERRORS as error:
        reason = _reason(path, error)
        message = (
            f"{path}: can't be read as weights ({reason}). Give a safetensors file, or a state dict "
            "saved with torch.save that holds nothing but tensors"
        )
        raise EncoderError(message) from error
    return _weights(path, content)


def fit(network: torch.nn.Module, weights: Weights, shown: str) -> None:
    """Put weights into a network, every tensor of it, cast to the network's dtypes.

    Parameters
    ----------
    network
        One of open_clip's classes; changed in place.
    weights
        From :func:`read`.
    shown
        The model's name, for the message.

    Raises
    ------
    EncoderError
        When a tensor is missing, left over, or of another shape.
    """
    own = network.state_dict()
    tensors = _renamed(network, weights, shown)
    missing = [name for name in own if name not in tensors]
    left = [name for name in tensors if name not in own]
    shapes = [name for name in own if name in tensors and own[name].shape != tensors[name].shape]
    if missing or left or shapes:
        message = (
            f"{weights.path}: these are not the weights of {shown}"
            + _some("missing", missing)
            + _some("unexpected", left)
            + _some("of another shape", [f"{n} {_shape(tensors[n])} not {_shape(own[n])}" for n in shapes])
            + ". Name the architecture that they belong to"
        )
        raise EncoderError(message)
    network.load_state_dict(tensors)


def _load(path: Path, *, trust: bool) -> object:
    if _is_safetensors(path):
        return safetensors.torch.load_file(path)
    if _is_torchscript(path):
        if not trust:
            message = (
                f"{path}: a TorchScript archive, which carries code. If you trust where it came from, "
                "add --trust-weights (trust_weights=True); or save its state dict as safetensors"
            )
            raise EncoderError(message)
        return torch.jit.load(path, map_location="cpu").state_dict()  # type: ignore[no-untyped-call]
    return torch.load(path, map_location="cpu", weights_only=True)


def _is_safetensors(path: Path) -> bool:
    """Look at the file, not at its name: eight bytes of length, then a JSON object."""
    with path.open("rb") as file:
        head = file.read(9)
    return path.suffix == ".safetensors" or head[8:9] == b"{"


def _is_torchscript(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("constants.pkl") or "/code/" in name for name in archive.namelist())


def _reason(path: Path, error: BaseException) -> str:
    """Say in a user's words why a file could not be read as weights."""
    said = str(error).strip().partition("\n")[0]
    if not path.stat().st_size:
        return "the file is empty"
    if said.startswith("Weights only load failed"):
        return "it holds more than tensors, and nothing is ever unpickled"
    if not said or said.isdigit():
        return f"its bytes have no format of weights, {type(error).__name__}"
    return said


def _weights(path: Path, content: object) -> Weights:
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    tensors = dict(content) if isinstance(content, dict) else {}
    strangers = [str(name) for name, value in tensors.items() if not isinstance(value, torch.Tensor)]
    if not tensors or strangers:
        what = _some("not tensors", strangers) or ", no dictionary of tensors"
        message = f"{path}: holds no plain state dict{what}. Save only model.state_dict()"
        raise EncoderError(message)
    if all(str(name).startswith("module.") for name in tensors):  # saved from a parallel wrapper
        tensors = {name.removeprefix("module."): value for name, value in tensors.items()}
    openai = tensors.keys() >= OPENAI_KEYS
    return Weights(path, {name: value for name, value in tensors.items() if name not in OPENAI_KEYS}, openai)


def _renamed(network: torch.nn.Module, weights: Weights, shown: str) -> dict[str, torch.Tensor]:
    """Return the tensors under the names of this network's class."""
    try:
        tensors: dict[str, torch.Tensor] = dict(convert_state_dict(network, layouts.named(weights.tensors)))
    except _READ_ERRORS as error:
        message = f"{weights.path}: can't be converted for {shown} ({error}). Name the architecture it belongs to"
        raise EncoderError(message) from error
    if "positional_embedding" in tensors and not hasattr(network, "positional_embedding"):
        tensors = convert_to_custom_text_state_dict(tensors)
    own = network.state_dict()
    for name in _NOT_TENSORS_OF_OURS:
        if name not in own:
            tensors.pop(name, None)
    for name in ("logit_scale", "logit_bias"):  # a number, or a list of one
        if name in tensors and name in own and tensors[name].numel() == own[name].numel():
            tensors[name] = tensors[name].reshape(own[name].shape)
    return tensors


def _some(what: str, names: Sequence[str]) -> str:
    """Return ``; missing (12): a, b, ...``, or nothing where there are none."""
    if not names:
        return ""
    more = ", ..." if len(names) > _SHOWN else ""
    return f"; {what} ({len(names)}): {', '.join(names[:_SHOWN])}{more}"


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))
