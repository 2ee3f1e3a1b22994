"""BLIP's image encoder and its text encoder that attends to the image: Li et al. 2022, arXiv 2201.12086.

Tensors have the names of its own checkpoints, so that ImageReward's weights fit as they are.
Inference only: no dropout, no decoder.
"""

from __future__ import annotations

from typing import final

import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention

_HEAD = 64  # width of an attention head in every published size
_EPS_IMAGE, _EPS_TEXT = 1e-6, 1e-12


def _split(x: torch.Tensor) -> torch.Tensor:
    batch, tokens, width = x.shape
    return x.view(batch, tokens, width // _HEAD, _HEAD).transpose(1, 2)


def _join(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).flatten(2)


@final
class _ImageAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (_split(part) for part in self.qkv(x).chunk(3, dim=-1))
        mixed: torch.Tensor = self.proj(_join(scaled_dot_product_attention(query, key, value)))
        return mixed


@final
class _ImageBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=_EPS_IMAGE), nn.LayerNorm(width, eps=_EPS_IMAGE)
        self.attn = _ImageAttention(width)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, 4 * width), "fc2": nn.Linear(4 * width, width)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        whole: torch.Tensor = x + self.mlp["fc2"](gelu(self.mlp["fc1"](self.norm2(x))))
        return whole


@final
class ImageEncoder(nn.Module):
    """A vision transformer.

    Parameters
    ----------
    size, patch
        Edge of the image and of a patch, in pixels.
    width, layers
        Of the transformer.
    """

    def __init__(self, size: int, patch: int, width: int, layers: int) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (size // patch) ** 2, width))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, width, patch, patch)})
        self.blocks = nn.ModuleList(_ImageBlock(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=_EPS_IMAGE)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return features of shape (batch, 1 + patches, width), the class token's first."""
        patches = self.patch_embed["proj"](pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(pixels), -1, -1), patches], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        features: torch.Tensor = self.norm(x)
        return features


@final
class _Projections(nn.Module):
    def __init__(self, width: int, of: int) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(of, width), nn.Linear(of, width)


@final
class _Output(nn.Module):
    def __init__(self, inside: int, width: int) -> None:
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(inside, width), nn.LayerNorm(width, eps=_EPS_TEXT)

    def forward(self, mixed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        whole: torch.Tensor = self.LayerNorm(self.dense(mixed) + x)
        return whole


@final
class _TextAttention(nn.Module):
    def __init__(self, width: int, of: int) -> None:
        super().__init__()
        self.self, self.output = _Projections(width, of), _Output(width, width)

    def forward(self, x: torch.Tensor, other: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        made = self.self
        query, key, value = _split(made.query(x)), _split(made.key(other)), _split(made.value(other))
        whole: torch.Tensor = self.output(_join(scaled_dot_product_attention(query, key, value, attn_mask=mask)), x)
        return whole


@final
class _TextBlock(nn.Module):
    def __init__(self, width: int, inside: int, image: int) -> None:
        super().__init__()
        self.attention, self.crossattention = _TextAttention(width, width), _TextAttention(width, image)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inside)})
        self.output = _Output(inside, width)

    def forward(self, x: torch.Tensor, image: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.crossattention(self.attention(x, x, mask), image)
        whole: torch.Tensor = self.output(gelu(self.intermediate["dense"](x)), x)
        return whole


@final
class _Embeddings(nn.Module):
    def __init__(self, words: int, positions: int, width: int) -> None:
        super().__init__()
        self.word_embeddings, self.position_embeddings = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.LayerNorm = nn.LayerNorm(width, eps=_EPS_TEXT)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        positions = self.position_embeddings.weight[: ids.shape[1]]
        embedded: torch.Tensor = self.LayerNorm(self.word_embeddings(ids) + positions)
        return embedded


@final
class TextEncoder(nn.Module):
    """A BERT whose every block also attends to the image.

    Parameters
    ----------
    words, positions
        Sizes of the vocabulary and of the position table.
    width, inside, layers
        Of the transformer, and between its two linear layers.
    image
        Width of the image's features.
    """

    def __init__(self, words: int, positions: int, width: int, inside: int, layers: int, image: int) -> None:
        super().__init__()
        self.embeddings = _Embeddings(words, positions, width)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(_TextBlock(width, inside, image) for _ in range(layers))})

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        """Return features of shape (batch, tokens, width).

        Parameters
        ----------
        ids, mask
            Token ids, and True where one is no padding; shape (batch, tokens).
        image
            Features of each text's image, shape (batch, 1 + patches, image width).
        """
        x: torch.Tensor = self.embeddings(ids)
        layers: nn.ModuleList = self.encoder["layer"]  # type: ignore[assignment]
        for block in layers:
            x = block(x, image, mask[:, None, None])
        return x
