"""Other layouts of the same networks: tensors of Hugging Face's CLIP and of Long-CLIP, under open_clip's names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT = 20  # positions that Long-CLIP takes over from CLIP: arXiv 2403.15378, section 3.1
_RES = "positional_embedding_res"
_HF = "text_model.embeddings.token_embedding.weight"
_WHOLE = {
    "vision_model.embeddings.class_embedding": "visual.class_embedding",
    "vision_model.embeddings.patch_embedding.weight": "visual.conv1.weight",
    "vision_model.embeddings.position_embedding.weight": "visual.positional_embedding",
    "text_model.embeddings.token_embedding.weight": "token_embedding.weight",
    "text_model.embeddings.position_embedding.weight": "positional_embedding",
    "logit_scale": "logit_scale",
}
_TURNED = {"visual_projection.weight": "visual.proj", "text_projection.weight": "text_projection"}
_NORMS = {
    "vision_model.pre_layrnorm": "visual.ln_pre",
    "vision_model.post_layernorm": "visual.ln_post",
    "text_model.final_layer_norm": "ln_final",
}
_PARTS = {
    "layer_norm1": "ln_1",
    "layer_norm2": "ln_2",
    "self_attn.out_proj": "attn.out_proj",
    "mlp.fc1": "mlp.c_fc",
    "mlp.fc2": "mlp.c_proj",
}
_LAYER = re.compile(r"(vision|text)_model\.encoder\.layers\.(\d+)\.(.+)\.(weight|bias)")


def named(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return tensors under open_clip's names, those of a layout that is not known as they are."""
    if _HF in tensors:
        return _from_hugging_face(tensors)
    if _RES in tensors:
        return _from_long_clip(tensors)
    return dict(tensors)


def _from_long_clip(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Join its two position tables, whose rows its code takes from the one up to 20, then from the other."""
    out = {name: tensor for name, tensor in tensors.items() if name != _RES}
    first, later = tensors["positional_embedding"], tensors[_RES]
    out["positional_embedding"] = torch.cat([first[:_KEPT], later[_KEPT:]])
    return out


def _from_hugging_face(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rename ``CLIPModel``'s tensors, join query, key and value, and turn the projections.

    A tensor that has no place keeps its name, so that fitting the weights says so.
    """
    out: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        stem, _, ending = name.rpartition(".")
        layer = _LAYER.fullmatch(name)
        if name.endswith("position_ids"):
            continue
        if name in _WHOLE:
            out[_WHOLE[name]] = tensor
        elif name in _TURNED:
            out[_TURNED[name]] = tensor.T.contiguous()
        elif stem in _NORMS:
            out[f"{_NORMS[stem]}.{ending}"] = tensor
        elif layer is None:
            out[name] = tensor
        else:
            _put_layer(out, tensors, layer)
    return out


def _put_layer(out: dict[str, torch.Tensor], tensors: Mapping[str, torch.Tensor], layer: re.Match[str]) -> None:
    """Put one tensor of a block: query, key and value as one when the query comes."""
    tower, number, part, kind = layer.groups()
    block = f"{'visual.' if tower == 'vision' else ''}transformer.resblocks.{number}"
    if part in _PARTS:
        out[f"{block}.{_PARTS[part]}.{kind}"] = tensors[layer.string]
    elif part == "self_attn.q_proj":
        others = [tensors[layer.string.replace("q_proj", other)] for other in ("q_proj", "k_proj", "v_proj")]
        out[f"{block}.attn.in_proj_{kind}"] = torch.cat(others)
    elif part not in {"self_attn.k_proj", "self_attn.v_proj"}:
        out[layer.string] = tensors[layer.string]
