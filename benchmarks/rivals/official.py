"""The official procedure (jmhessel/clipscore, clipscore.py), with the model handed in.

Each system: decode and encode every image, encode every candidate padded to the full context,
then encode the references of every image, as the script does; nothing is kept between systems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PREFIX = "A photo depicts "
WEIGHT = 2.5


def _unit(features: np.ndarray) -> np.ndarray:
    return features / np.sqrt(np.sum(features**2, axis=1, keepdims=True))


@torch.inference_mode()
def encode_images(model: torch.nn.Module, transform: Callable, paths: Sequence[Path], batch: int = 64) -> np.ndarray:
    """Return unit features of image files, float32 of shape (len(paths), dim)."""
    out = []
    for start in range(0, len(paths), batch):
        pixels = torch.stack([transform(Image.open(path)) for path in paths[start : start + batch]])
        out.append(model.encode_image(pixels).float().cpu().numpy())
    return _unit(np.vstack(out))


@torch.inference_mode()
def encode_texts(model: torch.nn.Module, tokenizer: Callable, texts: Sequence[str], batch: int = 256) -> np.ndarray:
    """Return unit features of texts with the prefix, padded to the full context, float32."""
    out = []
    for start in range(0, len(texts), batch):
        tokens = tokenizer([PREFIX + text for text in texts[start : start + batch]])
        out.append(model.encode_text(tokens).float().cpu().numpy())
    return _unit(np.vstack(out))


def score(
    model: torch.nn.Module,
    transform: Callable,
    tokenizer: Callable,
    paths: Sequence[Path],
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
) -> tuple[np.ndarray, np.ndarray]:
    """Return CLIP-S and RefCLIP-S of each image, as the script computes them for one system."""
    images = encode_images(model, transform, paths)
    texts = encode_texts(model, tokenizer, candidates)
    clip = WEIGHT * np.clip(np.sum(images * texts, axis=1), 0, None)
    flat = [text for each in references for text in each]
    encoded = encode_texts(model, tokenizer, flat)
    best, start = [], 0
    for row, each in enumerate(references):
        best.append(np.max(texts[row] @ encoded[start : start + len(each)].T))
        start += len(each)
    reference = np.clip(np.array(best), 0, None)
    return clip, 2 * clip * reference / (clip + reference)
