"""One random ViT-B/32 for both sides: plain open_clip, and the same weights as a file for clipstore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import open_clip
import torch
from safetensors.torch import save_file

from clipstore.encoders import names
from clipstore.encoders import open_clip as ours
from clipstore.encoders.protocol import LoadOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ARCHITECTURE = "ViT-B-32-quickgelu"


def rival(folder: Path) -> tuple[torch.nn.Module, Callable, Callable, Path]:
    """Return model, transform and tokenizer of plain open_clip, and its weights in a file of ``folder``."""
    torch.manual_seed(0)
    model, _, transform = open_clip.create_model_and_transforms(ARCHITECTURE)
    weights = folder / "random.safetensors"
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, weights)
    return model.eval(), transform, open_clip.get_tokenizer(ARCHITECTURE), weights


def encoder(weights: Path, **options: object) -> ours.OpenClipEncoder:
    """Return the same model as clipstore's encoder."""
    return ours.build(names.parse(ARCHITECTURE, weights=weights), LoadOptions(**options))
