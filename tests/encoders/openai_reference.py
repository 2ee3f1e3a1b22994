"""OpenAI's own model code and the official formula, for comparison: nothing of clipstore's in it."""

import io
import sys
import types
import warnings

import numpy as np
import packaging
import packaging.version
import PIL.Image
import torch

PREFIX = "A photo depicts "
WORDS = ["a", "red", "bicycle", "leans", "on", "the", "old", "wall", "while", "two", "children", "play", "with", "dogs"]


def openai_clip():
    """Import ``clip`` (clip-anytorch); its one use of pkg_resources is stubbed while that happens."""
    stub = types.ModuleType("pkg_resources")
    stub.packaging = packaging
    held = sys.modules.get("pkg_resources")
    sys.modules["pkg_resources"] = stub
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import clip
            import clip.model
    finally:
        if held is None:
            del sys.modules["pkg_resources"]
        else:
            sys.modules["pkg_resources"] = held
    return clip


def config(*, image=64, patch=16, width=128, layers=2, text_width=128, text_layers=3, dim=64):
    """The open_clip config of such a network, QuickGELU as OpenAI's."""
    return {
        "embed_dim": dim,
        "quick_gelu": True,
        "vision_cfg": {"image_size": image, "layers": layers, "width": width, "patch_size": patch},
        "text_cfg": {
            "context_length": 77,
            "vocab_size": 49408,
            "width": text_width,
            "heads": text_width // 64,
            "layers": text_layers,
        },
    }


FULL = config(image=224, patch=32, width=768, layers=12, text_width=512, text_layers=12, dim=512)


def random_weights(cfg, seed=0):
    """Random weights in the layout of OpenAI's files: float16, and three numbers beside the tensors.

    Random towers give cosines around zero, where every CLIP-S is 0: the visual projection
    is leaned towards the mean text feature, so that scores are positive and spread.
    """
    clip = openai_clip()
    torch.manual_seed(seed)
    vision, text = cfg["vision_cfg"], cfg["text_cfg"]
    network = clip.model.CLIP(
        embed_dim=cfg["embed_dim"],
        image_resolution=vision["image_size"],
        vision_layers=vision["layers"],
        vision_width=vision["width"],
        vision_patch_size=vision["patch_size"],
        context_length=text["context_length"],
        vocab_size=text["vocab_size"],
        transformer_width=text["width"],
        transformer_heads=text["heads"],
        transformer_layers=text["layers"],
    ).eval()
    with torch.inference_mode():
        texts = clip.tokenize([PREFIX + " ".join(WORDS[start:]) for start in range(4)])
        towards = unit(network.encode_text(texts)).mean(0)
        pixels = torch.randn(4, 3, vision["image_size"], vision["image_size"])
        size = network.encode_image(pixels).norm(dim=-1).mean()
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    lean = torch.nn.functional.normalize(torch.randn(vision["width"]), dim=0)
    state["visual.ln_post.bias"] += 1.5 * lean
    state["visual.proj"] += size * torch.outer(lean, unit(towards))
    state = {name: tensor.half() for name, tensor in state.items()}
    state["input_resolution"] = torch.tensor(vision["image_size"])
    state["context_length"] = torch.tensor(text["context_length"])
    state["vocab_size"] = torch.tensor(text["vocab_size"])
    return state


class Official:
    """What the official script computes on a CPU: one image or caption at full length each time."""

    def __init__(self, state):
        self.clip = openai_clip()
        self.size = int(state["input_resolution"])
        self.network = self.clip.model.build_model(dict(state)).float()
        self.transform = self.clip.clip._transform(self.size)

    def images(self, files):
        """Unit features of encoded image files."""
        pixels = torch.stack([self.transform(PIL.Image.open(io.BytesIO(file))) for file in files])
        with torch.inference_mode():
            return unit(self.network.encode_image(pixels)).numpy()

    def texts(self, captions):
        """Unit features of captions, prefix included, cut as the official script cuts."""
        with torch.inference_mode():
            ids = self.clip.tokenize([PREFIX + caption for caption in captions], truncate=True)
            return unit(self.network.encode_text(ids)).numpy()


def unit(features):
    """Rows of length one."""
    return features / features.norm(dim=-1, keepdim=True)


def clip_s(images, candidates):
    """2.5 * max(cos, 0), a pair a row."""
    return 2.5 * np.clip((images * candidates).sum(1), 0, None)


def ref_clip_s(images, candidates, references):
    """The harmonic mean of CLIP-S and the best cosine with a reference."""
    scores = clip_s(images, candidates)
    best = np.array([max(0, (rows @ row).max()) for row, rows in zip(candidates, references, strict=True)])
    return 2 * scores * best / (scores + best)


def drawn_images(count=12, seed=0):
    """Encoded image files of several sizes, shapes and modes, drawn from a seed."""
    rng = np.random.default_rng(seed)
    files = []
    for index in range(count):
        height, width = rng.integers(40, 400, 2)
        coarse = rng.integers(0, 256, (rng.integers(2, 9), rng.integers(2, 9), 3), dtype=np.uint8)
        picture = PIL.Image.fromarray(coarse).resize((int(width), int(height)), PIL.Image.Resampling.BICUBIC)
        if index % 5 == 4:
            picture = picture.convert("L")
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG" if index % 2 else "PNG")
        files.append(buffer.getvalue())
    return files


def drawn_captions(count=12, seed=0):
    """Captions: the empty one, and ones of 1, 72, 73 and 200 words among shorter ones."""
    rng = np.random.default_rng(seed)
    fixed = ["", "dog", "x " * 72, "x " * 73, "x " * 200, "A  Dog &amp; a CAT, isn't it?", "café ☕ naïve"]
    free = [" ".join(rng.choice(WORDS, rng.integers(3, 20))) for _ in range(count)]
    return (fixed + free)[:count]
