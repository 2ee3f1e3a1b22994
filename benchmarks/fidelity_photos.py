"""Our CLIP-S and RefCLIP-S against OpenAI's reference model code, on the same random ViT-B/32 weights.

Claim: equal per image within 1e-5. The weights are random, rounded to float16 as OpenAI's are, and the
visual projection is leaned towards the mean text feature, so that cosines are positive and spread
(plain random towers give only zeros: a blind test). Needs the photographs of ../shared/data/coco200.

    python benchmarks/fidelity_photos.py [number of images]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rivals import official

import clipstore as cs

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CLIPSTORE_SHARED_DATA", HERE.parent.parent / "shared" / "data"))


def reference_clip() -> types.ModuleType:
    """Import OpenAI's code; its one use of pkg_resources is for a version number."""
    if "pkg_resources" not in sys.modules:
        import packaging.version

        stub = types.ModuleType("pkg_resources")
        stub.packaging = packaging
        stub.parse_version = packaging.version.parse
        sys.modules["pkg_resources"] = stub
    import clip
    import clip.clip
    import clip.model

    return clip


def leaning_weights(clip: types.ModuleType, texts: list[str]) -> dict[str, torch.Tensor]:
    """Return a random ViT-B/32 in OpenAI's layout, float16 values, whose cosines are positive."""
    torch.manual_seed(0)
    model = clip.model.CLIP(512, 224, 12, 768, 32, 77, 49408, 512, 8, 12).eval()
    with torch.inference_mode():
        tokens = clip.clip.tokenize([official.PREFIX + text for text in texts], truncate=True)
        feature = model.encode_text(tokens)
        mean = (feature / feature.norm(dim=1, keepdim=True)).mean(0)
        noise = torch.randn(256, 3, 224, 224)
        image = model.encode_image(noise).mean(0)
    with torch.no_grad():
        # every image feature gets a share of the mean text direction
        hidden = torch.linalg.lstsq(model.visual.proj.T, image.unsqueeze(1)).solution.squeeze(1)
        lean = torch.outer(hidden / hidden.norm() ** 2, mean) * image.norm()
        model.visual.proj.add_(lean)
    return {name: value.half().float() for name, value in model.state_dict().items()}


def main() -> None:
    """Compare and print the largest differences."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    clip = reference_clip()
    data = SHARED / "coco200"
    references = dict(list(json.loads((data / "references.json").read_text()).items())[:count])
    rows = {str(row["image_id"]): row["caption"] for row in json.loads((data / "systems/top-down.json").read_text())}
    captions = {key: rows[key] for key in references}
    paths = {int(path.stem.rsplit("_", 1)[-1]): path for path in (data / "images").iterdir()}
    state = leaning_weights(clip, list(captions.values())[:64])
    theirs = clip.model.CLIP(512, 224, 12, 768, 32, 77, 49408, 512, 8, 12).eval()
    theirs.load_state_dict(state)
    transform = clip.clip._transform(224)
    clip_s, ref_clip_s = official.score(
        theirs,
        transform,
        lambda texts: clip.clip.tokenize(texts, truncate=True),
        [paths[int(key)] for key in references],
        [captions[key] for key in references],
        list(references.values()),
    )
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "random.pt"
        torch.save({name: value.half() for name, value in state.items()}, weights)
        with cs.Store.open(Path(folder) / "store") as store:
            space = store.space("ViT-B-32-quickgelu", weights=weights)
            evalset = cs.EvalSet.read(images=data / "images", refs=references)
            ours = cs.score(space, {"top-down": captions}, evalset)["top-down"]
    one = np.array([ours.clip_s[key] for key in references])
    two = np.array([ours.ref_clip_s[key] for key in references])
    print(f"{count} photographs, random ViT-B/32, fp32 CPU; Pillow {Image.__version__}, torch {torch.__version__}")
    for name, ours_, theirs_ in (("CLIP-S", one, clip_s), ("RefCLIP-S", two, ref_clip_s)):
        worst = np.abs(ours_ - theirs_).max()
        print(f"{name:10s} {theirs_.min():.3f} to {theirs_.max():.3f}   largest difference {worst:.2e}")


if __name__ == "__main__":
    main()
