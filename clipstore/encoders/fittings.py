"""What goes with a network: how it wants its pixels, and its tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, final

import open_clip

from clipstore.encoders import fast, images, tensor_pixels, tokenizer
from clipstore.errors import EncoderError, UnknownModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import PIL.Image
    import torch

    from clipstore.encoders import names, source
    from clipstore.encoders.protocol import LoadOptions, Prepared

PIXELS: Final[Mapping[str, Callable[[bytes | PIL.Image.Image, images.Preprocess, int], Prepared]]] = {
    "exact": images.official,
    "fast": fast.prepare,
    "longest-tensor": tensor_pixels.prepare,
}
"""Name of a preprocessing -> what prepares one image."""


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """What an encoder is made of, for those who examine it.

    Parameters
    ----------
    model, config
        The network, and the config that it was built from.
    preprocess, tokens
        How it wants its pixels, and its tokenizer.
    context
        Tokens that it reads.
    device
        Where it runs.
    """

    model: Any
    config: Mapping[str, Any]
    preprocess: images.Preprocess
    tokens: tokenizer.Tokenizer
    context: int
    device: torch.device


def preprocess(model: torch.nn.Module, found: source.Source, options: LoadOptions) -> images.Preprocess:
    """Return how the model wants its pixels; the network's own size overrides the config's."""
    how = found.preprocess
    size = getattr(getattr(model, "visual", None), "image_size", how["size"])
    height, width = (size, size) if isinstance(size, int) else tuple(size)
    if options.exif not in {"ignore", "apply"}:
        message = f"unknown exif policy {options.exif!r}; choose ignore or apply"
        raise EncoderError(message)
    return images.Preprocess(
        (int(height), int(width)),
        _channels(how["mean"]),
        _channels(how["std"]),
        how["resize_mode"],
        "bilinear" if how["interpolation"] == "bilinear" else "bicubic",
        int(how["fill_color"]),
        options.exif,
        _pixels(found, options),
    )


def _pixels(found: source.Source, options: LoadOptions) -> Literal["exact", "fast", "longest-tensor"]:
    if found.pixels == "official":
        return "fast" if options.preprocess == "fast" else "exact"
    if options.preprocess == "fast":
        message = "preprocess='fast' is not for this model, which resizes in its own way; choose exact"
        raise EncoderError(message)
    return found.pixels


def _channels(value: float | Sequence[float]) -> tuple[float, ...]:
    return (float(value),) * 3 if isinstance(value, float | int) else tuple(value)


def tokens(name: names.ModelName, found: source.Source) -> tokenizer.Tokenizer:
    """Return the model's tokenizer; a vocabulary that is not here is fetched.

    Raises
    ------
    UnknownModel
        When its vocabulary can't be had.
    """
    text = found.config["text_cfg"]
    length = int(text.get("context_length", open_clip.tokenizer.DEFAULT_CONTEXT_LENGTH))
    try:
        if not found.tokenizer:
            return tokenizer.wrap(open_clip.SimpleTokenizer(context_length=length), length)
        return tokenizer.wrap(open_clip.get_tokenizer(found.tokenizer, context_length=length), length)
    except (OSError, ValueError, ImportError) as error:
        message = (
            f"{name.shown}: its tokenizer {text.get('hf_tokenizer_name') or found.tokenizer!r} can't be had ({error}). "
            "Fetch it on a machine with network (`hf download`), or use local-dir:FOLDER with the tokenizer's files"
        )
        raise UnknownModel(message) from error
