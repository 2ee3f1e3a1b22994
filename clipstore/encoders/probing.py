"""Looking into a loaded encoder: the same things by the reference's own way, for the self-test."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import open_clip
import torch
from open_clip.pretrained import get_pretrained_cfg
from open_clip.transform import PreprocessCfg, image_transform_v2

from clipstore.encoders import network
from clipstore.encoders.names import QUICKGELU
from clipstore.encoders.profiles import PROFILES
from clipstore.encoders.text_tower import TextTower

if TYPE_CHECKING:
    from collections.abc import Sequence

    import PIL.Image

    from clipstore.arrays import Vectors
    from clipstore.encoders.names import ModelName
    from clipstore.encoders.open_clip import OpenClipEncoder
    from clipstore.encoders.protocol import Prepared, Tokens

# OpenAI's ViT-B/32, the first features before normalisation: NUMERICS, section 2.
_GOLDEN_TEXT: Final = "a portrait of an astronaut with the American flag"
_GOLDEN: Final = (-0.16626, 0.052277, -0.15332, 0.44946, 0.20667)


def whole_texts(encoder: OpenClipEncoder, tokens: Sequence[Tokens]) -> Vectors:
    """Return unit vectors of texts by the network's own method, padded to the full context."""
    ids = TextTower.padded(tokens, encoder.parts.context, encoder.parts.device)
    with torch.inference_mode(), network.full_float32(encoder.parts.device):
        return _unit(encoder.parts.model.encode_text(ids))


def different_ids(encoder: OpenClipEncoder, texts: Sequence[str]) -> int:
    """Count texts whose ids differ from those of the model's own tokenizer, padded."""
    context = encoder.parts.context
    expected = encoder.parts.tokens.reference(list(texts), context_length=context).tolist()
    found = [[*item.ids, *[0] * (context - len(item.ids))] for item in encoder.tokenize(texts)]
    return sum(one != other for one, other in zip(found, expected, strict=True))


def in_bfloat16(
    encoder: OpenClipEncoder, tokens: Sequence[Tokens], pictures: Sequence[Prepared]
) -> tuple[Vectors, Vectors]:
    """Return vectors of texts and images from a copy of the network with bfloat16 weights."""
    parts = encoder.parts
    model = network.build(parts.config, "bf16", "the model in bf16")
    model.load_state_dict(copy.deepcopy(parts.model.state_dict()))
    network.cast(model.to(parts.device), "bf16", parts.config)
    called: Any = model
    with torch.inference_mode():
        ids = TextTower.padded(tokens, parts.context, parts.device)
        images = called.encode_image(encoder.normalise(pictures).to(torch.bfloat16))
        return _unit(called.encode_text(ids)), _unit(images)


def pixel_gap(encoder: OpenClipEncoder, picture: PIL.Image.Image) -> float:
    """Return how far prepared pixels are from open_clip's transform, in grey levels."""
    how = encoder.parts.preprocess
    size = how.size[0] if how.size[0] == how.size[1] else how.size
    config = PreprocessCfg(
        size=size,
        mean=how.mean,
        std=how.std,
        interpolation=how.interpolation,
        resize_mode=how.resize_mode,
        fill_color=how.fill_color,
    )
    expected = image_transform_v2(config, is_train=False)(picture)
    found = encoder.normalise([encoder.prepare_image(picture)])[0].cpu()
    spread = torch.tensor(how.std).view(3, 1, 1)
    return float(((found - expected) * spread).abs().max() * 255)


def activations(encoder: OpenClipEncoder, name: ModelName) -> tuple[str | None, str]:
    """Return the activation that the tag says, None where there is no tag, and the one inside the network."""
    kinds = {type(module).__name__ for module in encoder.parts.model.modules()}
    built = " and ".join(sorted(kinds & {"QuickGELU", "GELU"})) or "neither"
    if name.kind == "profile":
        return _word(quick=PROFILES[name.architecture].quick_gelu), built
    if name.kind == "open_clip" and name.tag is not None:
        tag: dict[str, Any] = get_pretrained_cfg(name.architecture, name.tag)
        config: dict[str, Any] = open_clip.get_model_config(name.architecture) or {}
        return _word(quick=bool(tag.get("quick_gelu") or config.get("quick_gelu"))), built
    if name.kind == "open_clip" and name.architecture.endswith(QUICKGELU):
        return _word(quick=True), built
    if name.kind in {"tiny", "local-dir", "hf-hub"}:
        return _word(quick=bool(encoder.parts.config.get("quick_gelu"))), built
    return None, built


def golden_gap(encoder: OpenClipEncoder) -> float:
    """Return how far ours are from the published features of a text, before normalisation."""
    ids = TextTower.padded(encoder.tokenize([_GOLDEN_TEXT.lower()]), encoder.parts.context, encoder.parts.device)
    with torch.inference_mode():
        found = encoder.parts.model.encode_text(ids)[0, : len(_GOLDEN)].float().cpu().numpy()
    return float(np.abs(found - np.array(_GOLDEN)).max())


def _word(*, quick: bool) -> str:
    return "QuickGELU" if quick else "GELU"


def _unit(features: torch.Tensor) -> Vectors:
    vectors: Vectors = torch.nn.functional.normalize(features.float(), dim=-1).cpu().numpy()
    return vectors
