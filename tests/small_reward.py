"""ImageReward at a reduced size with random weights: transformers' BLIP and the published head, and their checkpoint."""

import torch
import transformers

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "cat", "on", "the", "mat", "##s", "."]


def text_names(number):
    """Tensors of a block of the text encoder: theirs -> the checkpoint's."""
    parts = ["attention.self.query", "attention.self.key", "attention.self.value"]
    parts += ["attention.output.dense", "attention.output.LayerNorm", "intermediate.dense"]
    parts += ["output.dense", "output.LayerNorm"]
    parts += [part.replace("attention", "crossattention") for part in parts if part.startswith("attention")]
    return {f"encoder.layer.{number}.{part}": f"blip.text_encoder.encoder.layer.{number}.{part}" for part in parts}


def image_names(number):
    """Tensors of a block of the image encoder: theirs -> the checkpoint's."""
    renamed = {
        "layer_norm1": "norm1",
        "layer_norm2": "norm2",
        "self_attn.qkv": "attn.qkv",
        "self_attn.projection": "attn.proj",
        "mlp.fc1": "mlp.fc1",
        "mlp.fc2": "mlp.fc2",
    }
    return {
        f"encoder.layers.{number}.{own}": f"blip.visual_encoder.blocks.{number}.{their}"
        for own, their in renamed.items()
    }


def upstream(seed=0):
    """Return both of transformers' towers and the published head, with random weights."""
    torch.manual_seed(seed)
    vision = transformers.BlipVisionConfig(
        hidden_size=128, intermediate_size=512, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=16,
        hidden_act="gelu", layer_norm_eps=1e-6,
    )  # fmt: skip
    text = transformers.BlipTextConfig(
        vocab_size=len(WORDS), hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=1,
        encoder_hidden_size=128, max_position_embeddings=40, is_decoder=True, layer_norm_eps=1e-12,
    )  # fmt: skip
    from transformers.models.blip.modeling_blip_text import BlipTextModel

    seen = transformers.BlipVisionModel(vision).eval()
    said = BlipTextModel(text, add_pooling_layer=False).eval()
    head = torch.nn.Sequential(
        torch.nn.Linear(64, 1024), torch.nn.Dropout(0.2), torch.nn.Linear(1024, 128), torch.nn.Dropout(0.2),
        torch.nn.Linear(128, 64), torch.nn.Dropout(0.1), torch.nn.Linear(64, 16), torch.nn.Linear(16, 1),
    ).eval()  # fmt: skip
    with torch.no_grad():
        for part in (seen, said):
            for parameter in part.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return seen, said, head


def written(folder, towers):
    """Write a checkpoint in the published layout, with tensors that nobody needs, and a vocabulary; return the folder."""
    seen, said, head = towers
    folder.mkdir(parents=True, exist_ok=True)
    names = {
        "embeddings.class_embedding": "blip.visual_encoder.cls_token",
        "embeddings.position_embedding": "blip.visual_encoder.pos_embed",
        "embeddings.patch_embedding": "blip.visual_encoder.patch_embed.proj",
        "post_layernorm": "blip.visual_encoder.norm",
    }
    for number in range(2):
        names |= image_names(number)
    state = renamed(seen.state_dict(), names)
    names = {f"embeddings.{part}": f"blip.text_encoder.embeddings.{part}"
             for part in ("word_embeddings", "position_embeddings", "LayerNorm")}  # fmt: skip
    for number in range(2):
        names |= text_names(number)
    state |= renamed(said.state_dict(), names)
    state |= {f"mlp.layers.{name}": tensor for name, tensor in head.state_dict().items()}
    state["blip.vision_proj.weight"] = torch.zeros(2, 2)
    torch.save(state, folder / "ImageReward.pt")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    return folder


def renamed(state, names):
    """The tensors under the checkpoint's names."""
    out = {}
    for name, tensor in state.items():
        stem, _, ending = name.rpartition(".")
        if name in names:
            out[names[name]] = tensor
        elif stem in names:
            out[f"{names[stem]}.{ending}"] = tensor
    return out
