"""Any open_clip model as an encoder: the one place where images and texts meet torch."""

from __future__ import annotations

import platform
from functools import cached_property
from importlib import metadata
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

import numpy as np
import torch

from clipstore.encoders import activation, batch_search, fast, fittings, in_order, names, network, source, weights
from clipstore.encoders.fingerprint import tensors_digest
from clipstore.encoders.protocol import FORMAT, Fingerprint, LoadOptions, Prepared, Tokens
from clipstore.encoders.text_tower import TextTower
from clipstore.errors import EncoderError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import PIL.Image

    from clipstore.arrays import Vectors
    from clipstore.encoders import images, tokenizer

Item = TypeVar("Item")

_PROBES = (
    "a dog",
    "x " * 200,
    *(f"A photo depicts {rest}" for rest in ("", "a man who rides a red bicycle", "two children " * 9, "a cat")),
)
_IMAGES_CPU, _IMAGES_CUDA = 16, 256
_TOKENS_CPU, _TOKENS_CUDA = 512, 65_536  # on CPUs a small batch stays in the cache: 1.4x over 2048
_TOKENS_WHOLE = 2048  # on CPUs, where texts run at full length
_LIBRARIES = ("torch", "torchvision", "pillow", "open_clip_torch", "ftfy")


def load(
    name: str, weights: Path | str | None = None, device: str = "auto", precision: str = "fp32"
) -> OpenClipEncoder:
    """Load a model by its name.

    Parameters
    ----------
    name
        Such as ``ViT-B-32/openai``, ``hf-hub:org/name``, ``local-dir:folder`` or ``tiny``.
    weights
        A local file with its weights.
    device
        ``auto``, ``cpu``, ``cuda`` or ``cuda:n``.
    precision
        ``fp32``, ``fp16`` or ``bf16``.

    Raises
    ------
    UnknownModel
        When there is no such model, or its weights can't be had.
    EncoderError
        When weights, device or precision don't fit.
    """
    return build(names.parse(name, weights=weights), LoadOptions(device=device, precision=precision))


def build(name: names.ModelName, options: LoadOptions) -> OpenClipEncoder:
    """Load a model by its parsed name; see :func:`load`."""
    where = network.device(options.device, options.precision)
    if options.preprocess not in {"exact", "fast"}:
        message = f"unknown preprocess {options.preprocess!r}; choose exact or fast"
        raise EncoderError(message)
    if options.preprocess == "fast":
        fast.require()
    found = source.find(name)
    held = weights.read(found.weights, trust=options.trust_weights)
    config = {**found.config, "quick_gelu": activation.settle(name, found, held)}
    model = network.build(config, options.precision, name.shown)
    weights.fit(model, held, name.shown)
    how, tokens = fittings.preprocess(model, found, options), fittings.tokens(name, found)
    return OpenClipEncoder(model, config, how, tokens, device=where, options=options)


@final
class OpenClipEncoder:
    """Implements :class:`clipstore.encoders.protocol.Encoder` with one of open_clip's networks.

    Made by :func:`load`.

    Parameters
    ----------
    model
        The network with its weights, in float32 on the CPU; taken over, moved and cast.
    config
        Its config, activation settled.
    preprocess
        How it wants its pixels.
    tokens
        Its tokenizer.
    device
        Where it is to run.
    options
        Precision, batch size, limits.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        config: Mapping[str, Any],
        preprocess: images.Preprocess,
        tokens: tokenizer.Tokenizer,
        *,
        device: torch.device,
        options: LoadOptions,
    ) -> None:
        self._model = cast(Any, model)
        self._context: int = self._model.context_length
        self._preprocess, self._tokens, self._device, self._options = preprocess, tokens, device, options
        digest = tensors_digest((key, _array(value)) for key, value in model.state_dict().items())
        self._fingerprint = Fingerprint(
            MappingProxyType(
                {
                    "kind": "open_clip",
                    "architecture": network.architecture(config),
                    "weights": digest,
                    "preprocess": preprocess.fields(),
                    "exif": options.exif,
                    "tokenizer": tokens.fields,
                    "cleaning": tokens.cleaning,
                    "context_length": self._context,
                    "precision": options.precision,
                    "normalisation": "l2 in float32",
                    "format": FORMAT,
                }
            )
        )
        self._dim, self._config = int(config["embed_dim"]), config
        self._dtype = network.PRECISIONS[options.precision]
        model.to(device)
        with network.full_float32(device):
            self._text = TextTower(model, self._context, tokens(_PROBES))
        network.cast(model, options.precision, config)
        channels = (1, 3, 1, 1)
        self._mean = torch.tensor(preprocess.mean, dtype=torch.float32, device=device).view(channels)
        self._std = torch.tensor(preprocess.std, dtype=torch.float32, device=device).view(channels)

    @property
    def fingerprint(self) -> Fingerprint:
        """Everything that changes a vector."""
        return self._fingerprint

    @property
    def parts(self) -> fittings.Parts:
        """What it is made of."""
        return fittings.Parts(self._model, self._config, self._preprocess, self._tokens, self._context, self._device)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    @property
    def image_batch(self) -> int:
        """How many images one call of ``embed_images`` should get; under ``auto`` tried out the first time."""
        if self._options.batch_size == "auto":
            return self._quickest
        return self._options.batch_size or (_IMAGES_CUDA if self._device.type == "cuda" else _IMAGES_CPU)

    @cached_property
    def _quickest(self) -> int:
        height, width = self._preprocess.size
        blank = Prepared(np.zeros((height, width, 3), np.uint8), "RGB", (width, height))

        def run(size: int) -> None:
            with torch.inference_mode(), network.full_float32(self._device):
                self._model.encode_image(self.normalise([blank] * size).to(self._dtype)).cpu()

        return batch_search.search(run, (torch.OutOfMemoryError,))

    @property
    def token_budget(self) -> int:
        """How many tokens, padding included, one call of ``embed_texts`` should get."""
        if self._device.type == "cuda":
            return _TOKENS_CUDA
        return _TOKENS_CPU if self._text.cuts else _TOKENS_WHOLE

    @property
    def cuts_texts(self) -> bool:
        """Whether texts run at their true length: the check at load found that exact."""
        return self._text.cuts

    @property
    def logits(self) -> tuple[float, float]:
        """Scale and bias of the model's own logits: ``scale * cos + bias``; SigLIP's probability is their sigmoid."""
        bias = getattr(self._model, "logit_bias", None)
        return float(self._model.logit_scale.exp()), 0.0 if bias is None else float(bias)

    @property
    def environment(self) -> Mapping[str, str]:
        """Versions and device."""
        cuda = self._device.type == "cuda"
        name = torch.cuda.get_device_name(self._device) if cuda else platform.processor() or platform.machine()
        return {**{library: metadata.version(library) for library in _LIBRARIES}, "device": name}

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Decode one image and resize it: as the official transform does, or nearly so and faster.

        Raises
        ------
        BadImage
            When it can't be decoded.
        """
        return fittings.PIXELS[self._preprocess.name](image, self._preprocess, self._options.max_pixels)

    def normalise(self, batch: Sequence[Prepared]) -> torch.Tensor:
        """Return the network's input, float32 of shape (len(batch), 3, height, width): (pixels / 255 - mean) / std."""
        stacked = torch.from_numpy(np.stack([image.pixels for image in batch]))
        if self._device.type == "cuda":
            stacked = stacked.pin_memory()
        pixels = stacked.to(self._device, non_blocking=True).permute(0, 3, 1, 2).contiguous().float()
        return pixels.div_(255).sub_(self._mean).div_(self._std)

    def embed_images(self, images: Sequence[Prepared]) -> Vectors:
        """Return unit vectors, float32 of shape (len(images), dim), in order.

        Raises
        ------
        EncoderError
            When a vector is zero or not finite; the message gives its place in the batch.
        """
        return self._embed(lambda part: self._model.encode_image(self.normalise(part).to(self._dtype)), images)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of canonical texts."""
        return self._tokens(texts)

    def embed_texts(self, texts: Sequence[Tokens]) -> Vectors:
        """Return unit vectors, float32 of shape (len(texts), dim), in order.

        Raises
        ------
        EncoderError
            When a vector is zero or not finite; the message gives its place in the batch.
        """
        step = len(texts) if self._text.cuts else max(1, self.token_budget // self._context)
        parts = [texts[start : start + step] for start in range(0, len(texts), step or 1)]
        rows = [self._embed(lambda part: self._text(part, self._device), part) for part in parts]
        return np.concatenate([np.empty((0, self._dim), np.float32), *rows])

    def encode_images(self, images: Sequence[bytes | str | os.PathLike[str] | PIL.Image.Image]) -> Vectors:
        """Return unit vectors of images, in input order."""
        return in_order.images(self, images)

    def encode_texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of raw texts, in input order."""
        return in_order.texts(self, texts)

    def _embed(self, run: Callable[[Sequence[Item]], torch.Tensor], items: Sequence[Item]) -> Vectors:
        """Run a batch; where the device's memory is too small, in halves."""
        if not items:
            return np.empty((0, self._dim), np.float32)
        try:
            with torch.inference_mode(), network.full_float32(self._device):
                return _unit(run(items).float().cpu().numpy())
        except torch.OutOfMemoryError as error:
            if len(items) == 1:
                message = f"the memory of {self._device} is too small for one item; choose fp16, or the CPU"
                raise EncoderError(message) from error
        torch.cuda.empty_cache()
        half = len(items) // 2
        return np.concatenate([self._embed(run, items[:half]), self._embed(run, items[half:])])


def _unit(features: np.ndarray) -> Vectors:
    """Return each row divided by its length, in float32."""
    norms = np.sqrt((features * features).sum(axis=1, keepdims=True))
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if bad.size:
        message = f"the vector of item {bad[0]} in a batch of {len(features)} is zero or not finite; try fp32"
        raise EncoderError(message)
    unit: Vectors = features / norms
    return unit


def _array(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor's values; bfloat16, which NumPy lacks, as float32."""
    held = tensor.detach().cpu()
    return (held.float() if held.dtype == torch.bfloat16 else held).numpy()
