"""The public surface, used as a user would: mypy strict must accept every line. Never run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import assert_type

import numpy as np
import PIL.Image

import clipstore as cs
from clipstore.metrics.score import Score, Signature

# -- a store and its spaces ----------------------------------------------------------------------

store = cs.Store.open(".clipstore")
assert_type(store, cs.Store)
with cs.Store.open(Path("elsewhere"), create=False) as opened:
    assert_type(opened, cs.Store)
assert_type(cs.Store.nearest(), Path)
space = store.space("ViT-B-32/openai", device="auto", precision="fp32", weights=Path("ViT-B-32.pt"))
assert_type(space, cs.Space)
assert_type(space.dim, int)
ensured = space.ensure_texts(["a cat"], "A photo depicts ")
assert_type(ensured.encoded, int)
vectors = space.gather_texts(ensured.keys)
np.linalg.norm(vectors, axis=1)


def told(stage: str, done: int, total: int) -> None:
    """Follow the work."""
    del stage, done, total


# -- eval sets -----------------------------------------------------------------------------------

evalset = cs.EvalSet.read(images="val/", refs="refs.json")
assert_type(evalset, cs.EvalSet)
cs.EvalSet.read(
    images=Path("val"), annotations=Path("captions_val.json"), hints=cs.Hints(id_key="cocoid"), missing="skip"
)
cs.EvalSet.load(store, "coco-test")
paths: dict[str | int, str | Path | bytes | PIL.Image.Image] = {"a": "a.png", 7: Path("b.png"), "c": b"..."}
cs.EvalSet.read(images=paths, refs={"a": ["one", "two"], 7: "three"})
pictures: dict[str, PIL.Image.Image] = {"a": PIL.Image.new("RGB", (2, 2))}
cs.EvalSet.read(images=pictures, refs={"a": "one"})
files: dict[int, Path] = {7: Path("b.png")}
cs.EvalSet.read(images=files)
assert_type(evalset.keys, tuple[str | int, ...])

# -- scores --------------------------------------------------------------------------------------

scores = cs.score(space, {"blip": "blip.json", "ofa": {"img1": "a cat"}}, evalset, progress=told)
assert_type(scores, cs.Scores)
assert_type(scores["blip"], cs.SystemScore)
assert_type(scores["blip"].clip_s, Score)
assert_type(scores["blip"].clip_s.mean, float | None)
assert_type(scores["blip"].ref_clip_s["img1"], float | None)
assert_type(scores["blip"].ref_clip_s[391895], float | None)
assert_type(scores["blip"].n, int)
assert_type(scores.signatures, Mapping[str, Signature])
assert_type(str(scores), str)
assert_type(scores.to_dict(), dict[str, object])
for name, system in scores.items():
    assert_type(name, str)
    assert_type(system, cs.SystemScore)
same: dict[str, Path] = {"blip": Path("blip.json")}
cs.score(space, same, evalset, missing="skip", empty="zero", recipe="hessel2021", encode=False)
rows: dict[str, list[dict[str, object]]] = {"blip": [{"image_id": 1, "caption": "a cat"}]}
cs.score(space, rows, evalset)

# -- errors --------------------------------------------------------------------------------------

try:
    store.space("nothing")
except cs.errors.UnknownModel as error:
    assert_type(error.exit_code, int)
except cs.errors.ClipstoreError:
    pass
