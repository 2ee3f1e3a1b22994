"""ImageReward as a pair scorer: Xu et al. 2023, arXiv 2304.05977; THUDM/ImageReward.

``(MLP(BLIP text feature that attends to the image) - mean) / std``; text cut at 35 tokens.
"""

from __future__ import annotations

import platform
import re
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch
from torch import nn

from clipstore import keys
from clipstore.encoders import images, network, weights
from clipstore.encoders.blip import ImageEncoder, TextEncoder
from clipstore.encoders.fingerprint import tensors_digest
from clipstore.encoders.profiles import PAIR_LENGTH
from clipstore.encoders.protocol import FORMAT, MAX_PIXELS, Fingerprint, Prepared
from clipstore.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import PIL.Image

    from clipstore.arrays import Scores

MEAN: Final = 0.16717362830052426  # ImageReward.py of the authors
STD: Final = 1.0333394966054072

_PIXELS_MEAN, _PIXELS_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_MLP = (1024, 128, 64, 16, 1)
_DENSE = (0, 2, 4, 6, 7)  # places of the linear layers in the published checkpoint; dropout between them
_LAYER = re.compile(r"blip\.(?:text_encoder\.encoder\.layer|visual_encoder\.blocks)\.(\d+)\.")
_TEXTS = 64  # in a batch


@final
class Network(nn.Module):
    """Both encoders and the head, of the sizes that the tensors have.

    Parameters
    ----------
    tensors
        A state dict in the layout of ``ImageReward.pt``.
    """

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        words = tensors["blip.text_encoder.embeddings.word_embeddings.weight"]
        positions = len(tensors["blip.text_encoder.embeddings.position_embeddings.weight"])
        patches = tensors["blip.visual_encoder.patch_embed.proj.weight"]
        inside = len(tensors["blip.text_encoder.encoder.layer.0.intermediate.dense.weight"])
        patch, width = patches.shape[-1], len(patches)
        side = round((tensors["blip.visual_encoder.pos_embed"].shape[1] - 1) ** 0.5)
        self.size = patch * side
        self.blip = nn.ModuleDict(
            {
                "visual_encoder": ImageEncoder(self.size, patch, width, _layers(tensors, "visual_encoder")),
                "text_encoder": TextEncoder(
                    len(words), positions, words.shape[1], inside, _layers(tensors, "text_encoder"), width
                ),
            }
        )
        sizes = (words.shape[1], *_MLP)
        dense = {str(at): nn.Linear(sizes[row], sizes[row + 1]) for row, at in enumerate(_DENSE)}
        self.mlp = nn.ModuleDict({"layers": nn.ModuleDict(dense)})

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        """Return rewards of shape (batch,) from tokens and features of images."""
        x: torch.Tensor = self.blip["text_encoder"](ids, mask, image)[:, 0]
        layers: Any = self.mlp["layers"]
        for at in _DENSE:
            x = layers[str(at)](x)
        return (x[:, 0] - MEAN) / STD


def load(file: Path | str, vocabulary: Path | str, device: str = "auto") -> ImageReward:
    """Load ImageReward from its checkpoint.

    Parameters
    ----------
    file
        ``ImageReward.pt`` of THUDM/ImageReward on the model hub.
    vocabulary
        ``vocab.txt`` of google-bert/bert-base-uncased.
    device
        ``auto``, ``cpu``, ``cuda`` or ``cuda:n``.

    Raises
    ------
    EncoderError
        When a file is missing or does not fit, or transformers is not installed.
    """
    where = network.device(device, "fp32")
    held = weights.read(Path(file)).tensors
    try:
        with torch.random.fork_rng(devices=[]):
            built = Network(held)
        built.load_state_dict({name: held[name] for name in built.state_dict()})
    except (KeyError, RuntimeError) as error:
        message = f"{file}: these are not the weights of ImageReward ({str(error).strip().partition(chr(10))[0]})"
        raise EncoderError(message) from error
    return ImageReward(built.eval().requires_grad_(requires_grad=False).to(where), _Words(Path(vocabulary)), where)


@final
class ImageReward:
    """Implements :class:`clipstore.encoders.protocol.PairScorer`; made by :func:`load`.

    Parameters
    ----------
    built
        The network, on its device.
    words
        Its tokenizer.
    where
        The device.
    """

    def __init__(self, built: Network, words: _Words, where: torch.device) -> None:
        self._network, self._words, self._device = built, words, where
        self._how = images.Preprocess((built.size, built.size), _PIXELS_MEAN, _PIXELS_STD)
        channels = (1, 3, 1, 1)
        self._mean = torch.tensor(_PIXELS_MEAN, device=where).view(channels)
        self._std = torch.tensor(_PIXELS_STD, device=where).view(channels)
        tensors = ((name, value.cpu().numpy()) for name, value in built.state_dict().items())
        fields = {
            "kind": "image-reward",
            "weights": tensors_digest(tensors),
            "preprocess": self._how.fields(),
            "tokenizer": {"name": "bert-uncased", "vocabulary": words.digest},
            "context_length": PAIR_LENGTH,
            "precision": "fp32",
            "format": FORMAT,
        }
        self._fingerprint = Fingerprint(MappingProxyType(fields))

    @property
    def fingerprint(self) -> Fingerprint:
        """Weights, pixels, tokenizer and length."""
        return self._fingerprint

    @property
    def environment(self) -> Mapping[str, str]:
        """Versions and device."""
        device = platform.machine() if self._device.type == "cpu" else torch.cuda.get_device_name(self._device)
        return {**{name: metadata.version(name) for name in ("torch", "pillow", "transformers")}, "device": device}

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Decode one image and resize it as the official transform does.

        Raises
        ------
        BadImage
            When it can't be decoded.
        """
        return images.official(image, self._how, MAX_PIXELS)

    def score(self, image: Prepared, texts: Sequence[str]) -> Scores:
        """Return the reward of one image with each text, float32 of shape (len(texts),); the image is encoded once."""
        out = np.empty(len(texts), np.float32)
        with torch.inference_mode(), network.full_float32(self._device):
            pixels = torch.from_numpy(image.pixels.copy()).to(self._device).permute(2, 0, 1)[None].float()
            seen = self._network.blip["visual_encoder"]((pixels / 255 - self._mean) / self._std)
            for start in range(0, len(texts), _TEXTS):
                ids, mask = (part.to(self._device) for part in self._words(texts[start : start + _TEXTS]))
                rewards = self._network(ids, mask, seen.expand(len(ids), -1, -1))
                out[start : start + len(ids)] = rewards.float().cpu().numpy()
        return out


@final
class _Words:
    """BERT's uncased tokenizer, from its vocabulary."""

    def __init__(self, vocabulary: Path) -> None:
        try:
            from transformers import BertTokenizer  # an extra: only this scorer needs it
        except ImportError as error:
            message = "ImageReward's tokenizer needs transformers: pip install 'clipstore[pairs]'"
            raise EncoderError(message) from error
        if not vocabulary.is_file():
            message = f"{vocabulary}: no such file; give vocab.txt of google-bert/bert-base-uncased"
            raise EncoderError(message)
        lines = vocabulary.read_text(encoding="utf-8").splitlines()
        self.digest = keys.digest_json(list[object](lines))
        self._tokenizer: Any = BertTokenizer(vocab={word: number for number, word in enumerate(lines)})

    def __call__(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ids padded to the longest, and True where an id is no padding; at most 35 tokens."""
        made = self._tokenizer(list(texts), padding=True, truncation=True, max_length=PAIR_LENGTH, return_tensors="pt")
        return made["input_ids"], made["attention_mask"].bool()


def _layers(tensors: Mapping[str, torch.Tensor], part: str) -> int:
    found = (_LAYER.match(name) for name in tensors if name.startswith(f"blip.{part}."))
    return 1 + max((int(match.group(1)) for match in found if match), default=-1)
