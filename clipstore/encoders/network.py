"""One of open_clip's networks, built from a config with its weights, on a device in a precision."""

from __future__ import annotations

import copy
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import torch
from open_clip.coca_model import CoCa
from open_clip.model import CLIP, CustomTextCLIP, convert_weights_to_lp, get_cast_dtype
from open_clip.transformer import LayerNormFp32

from clipstore.errors import EncoderError, UnknownModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

_NO_EFFECT = ("init_logit_scale", "init_logit_bias", "output_dict", "custom_text")
_NO_EFFECT_VISION = ("timm_model_pretrained", "patch_dropout", "timm_drop", "timm_drop_path", "output_tokens")
_NO_EFFECT_TEXT = ("hf_model_pretrained", "hf_tokenizer_name", "tokenizer_kwargs", "tokenizer_mode", "output_tokens")


def device(wanted: str, precision: str) -> torch.device:
    """Return the device to use: ``auto`` is CUDA where there is one.

    Raises
    ------
    EncoderError
        When there is no such device, or the precision does not fit it.
    """
    if precision not in PRECISIONS:
        message = f"unknown precision {precision!r}; choose {', '.join(PRECISIONS)}"
        raise EncoderError(message)
    cuda = torch.cuda.is_available()
    try:
        found = torch.device(("cuda" if cuda else "cpu") if wanted == "auto" else wanted)
    except RuntimeError as error:
        message = f"unknown device {wanted!r}; choose auto, cpu, cuda or cuda:N"
        raise EncoderError(message) from error
    if found.type not in {"cpu", "cuda"}:
        message = f"device {wanted!r} is not supported; choose auto, cpu, cuda or cuda:N"
        raise EncoderError(message)
    if found.type == "cuda" and (not cuda or (found.index or 0) >= torch.cuda.device_count()):
        message = f"no device {wanted!r} here ({torch.cuda.device_count()} CUDA devices); choose auto or cpu"
        raise EncoderError(message)
    if precision == "fp16" and found.type == "cpu":
        message = "fp16 needs a CUDA device; on the CPU choose fp32, or bf16 where the CPU has AMX"
        raise EncoderError(message)
    return found


def build(config: Mapping[str, Any], precision: str, shown: str) -> torch.nn.Module:
    """Return the network of a config in float32, ready for its weights; torch's random state is left as it was.

    Parameters
    ----------
    config
        open_clip's model config, with ``quick_gelu`` settled.
    precision
        What it will be cast to: half precisions get layer norms that compute in float32.
    shown
        The model's name, for the message.

    Raises
    ------
    EncoderError
        When the config does not make a network, or one of its towers can't be had.
    """
    parts = copy.deepcopy(dict(config))
    text, vision = parts["text_cfg"], parts["vision_cfg"]
    custom = parts.pop("custom_text", False) or "hf_model_name" in text
    if "timm_model_name" in vision:
        vision["timm_model_pretrained"] = False
    if "hf_model_name" in text:
        text["hf_model_pretrained"] = False
    kind = CLIP if not custom else CoCa if "multimodal_cfg" in parts else CustomTextCLIP
    try:
        with torch.random.fork_rng(devices=[]):
            network: torch.nn.Module = kind(**parts, cast_dtype=get_cast_dtype(precision))
    except OSError as error:  # a text tower's own config is fetched from the hub
        message = f"{shown}: the config of its text tower {text.get('hf_model_name')!r} can't be had ({_first(error)})"
        raise UnknownModel(message) from error
    except (TypeError, ValueError, RuntimeError, AssertionError, ImportError, AttributeError) as error:
        message = f"{shown}: its config makes no network with this open_clip ({_first(error)}); try a newer one"
        raise EncoderError(message) from error
    return network.eval().requires_grad_(requires_grad=False)


def cast(network: torch.nn.Module, precision: str, config: Mapping[str, Any]) -> None:
    """Cast the weights in place as open_clip's ``precision``: layer norms stay in float32."""
    dtype = PRECISIONS[precision]
    if dtype == torch.float32:
        return
    if "timm_model_name" not in config["vision_cfg"]:
        convert_weights_to_lp(network, dtype=dtype)
        return
    network.to(dtype=dtype)
    for module in network.modules():
        if isinstance(module, LayerNormFp32):
            module.float()


def architecture(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a config changes vectors, for the fingerprint."""
    vision, text = dict(config["vision_cfg"]), dict(config["text_cfg"])
    for part, without in ((vision, _NO_EFFECT_VISION), (text, _NO_EFFECT_TEXT)):
        for name in without:
            part.pop(name, None)
    whole = {name: value for name, value in config.items() if name not in _NO_EFFECT and value is not None}
    return {**whole, "vision_cfg": vision, "text_cfg": text}


@contextmanager
def full_float32(where: torch.device) -> Iterator[None]:
    """Let float32 mean float32 for a while, whatever the caller has switched on; afterwards all is as it was.

    Autocast is off on the device, and so are TF32 and the CPU's bfloat16 inside products of float32.
    """
    _IN_FORCE.enter()
    try:
        with torch.autocast(where.type, enabled=False):
            yield
    finally:
        _IN_FORCE.leave()


@final
class _InForce:
    """Full precision while anyone wants it: torch's settings are of the process, so threads share one change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: list[tuple[_Rounding, object]] = []

    def enter(self) -> None:
        """Switch rounding off, unless another did."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = [(one, value) for one in _roundings() if (value := one.value()) is not None]
                for setting, _ in self._before:
                    setting.set(setting.full)

    def leave(self) -> None:
        """Put all back as it was, where nobody wants it any more."""
        with self._lock:
            self._users -= 1
            if not self._users:
                for setting, value in self._before:
                    setting.set(value)


@final
@dataclass(frozen=True, slots=True)
class _Rounding:
    """A setting that lets torch round float32, and the value with which it does not."""

    get: Callable[[], object]
    set: Callable[[Any], None]
    full: object

    def value(self) -> object:
        """Return the value in force, None where torch won't tell: old settings to a program that uses the new."""
        try:
            return self.get()
        except RuntimeError:
            return None


def _roundings() -> list[_Rounding]:
    backends: Any = torch.backends
    settings = [
        _Rounding(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
        _attribute(backends.cudnn, "allow_tf32", full=False),
    ]
    if not hasattr(backends.cuda.matmul, "fp32_precision"):  # torch before 2.9
        return settings
    places = (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn, backends.mkldnn.matmul)
    return [*settings, *(_attribute(one, "fp32_precision", "ieee") for one in (*places, backends.mkldnn.conv))]


def _attribute(place: object, name: str, full: object) -> _Rounding:
    return _Rounding(partial(getattr, place, name), partial(setattr, place, name), full)


_IN_FORCE = _InForce()


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
