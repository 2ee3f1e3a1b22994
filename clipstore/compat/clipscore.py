"""The official script's command line and prints, from a store: ``python -m clipstore.compat.clipscore``.

Same arguments, same lines on stdout as ``clipscore.py`` of jmhessel/clipscore; what it does
not say (the store, the signature) goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.errors import CannotWrite, ClipstoreError
from clipstore.evalset import EvalSet
from clipstore.evalset.systems import systems_of
from clipstore.evaluate.measuring import measure
from clipstore.formats import read_captions, save
from clipstore.metrics import clip_s, recipes, ref_clip_s
from clipstore.store import DEFAULT_MODEL, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from clipstore.evaluate.measured import Measured
    from clipstore.formats import Captions
    from clipstore.store import Space

_OTHERS = {
    "bleu-1": "BLEU-1",
    "bleu-2": "BLEU-2",
    "bleu-3": "BLEU-3",
    "bleu-4": "BLEU-4",
    "meteor": "METEOR",
    "rouge-l": "ROUGE",
    "cider": "CIDER",
    "spice": "SPICE",
}
_NAME = "candidates"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the official arguments, and of ours after them."""
    made = argparse.ArgumentParser(prog="python -m clipstore.compat.clipscore", description=__doc__)
    made.add_argument("candidates_json", help="Candidates: image_id -> caption.")
    made.add_argument("image_dir", help="Folder of images; their stems are the ids.")
    made.add_argument("--references_json", default=None, help="References: image_id -> list of references.")
    made.add_argument(
        "--compute_other_ref_metrics", default=1, type=int, help="0 leaves out BLEU, METEOR, ROUGE, CIDEr, SPICE."
    )
    made.add_argument("--save_per_instance", default=None, help="Write each image's scores to this .json file.")
    ours = made.add_argument_group("beyond the official script")
    ours.add_argument(
        "--strict-official", action="store_true", help="RefCLIPScore as coded there: no second clip at 0."
    )
    ours.add_argument("--model", default=DEFAULT_MODEL, help="Another model than ViT-B/32.")
    ours.add_argument("--weights", default=None, help="Weights file of the model.")
    ours.add_argument("--trust-weights", action="store_true", help="Load a TorchScript archive, which runs code in it.")
    ours.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
    ours.add_argument("--store", default=None, help="The store; else .clipstore here or in a parent.")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script and return its exit code."""
    asked = parser().parse_args(argv)
    if asked.save_per_instance is not None and not asked.save_per_instance.endswith(".json"):
        print("if you're saving per-instance, please make sure the filepath ends in json.")
        return 0
    try:
        given = material(asked)
        with Store.open(asked.store or Store.nearest()) as store:
            space = store.space(
                asked.model, weights=asked.weights, device=asked.device, trust_weights=asked.trust_weights
            )
            return report(space, asked, given)
    except ClipstoreError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def material(asked: argparse.Namespace) -> tuple[EvalSet, Captions]:
    """Read images, references and candidates and match them: what is wrong there needs no model to be said.

    Raises
    ------
    ClipstoreError
        When a file can't be read, or captions and images do not fit together.
    """
    captions = read_captions(asked.candidates_json)
    evalset = EvalSet.read(images=asked.image_dir, refs=asked.references_json).covering([captions])
    systems_of({_NAME: captions}, evalset)
    target = asked.save_per_instance
    if target is not None and not Path(target).absolute().parent.is_dir():
        msg = f"can't write {target}: its folder does not exist"
        raise CannotWrite(msg)
    return evalset, captions


def report(space: Space, asked: argparse.Namespace, given: tuple[EvalSet, Captions] | None = None) -> int:
    """Score, print the official lines, and return the exit code.

    Parameters
    ----------
    space
        The vectors of one encoder.
    asked
        The parsed arguments.
    given
        What :func:`material` read.
    """
    evalset, captions = given or material(asked)
    metrics = ["clip-s"]
    if asked.references_json:
        metrics += ["ref-clip-s", *(_OTHERS if asked.compute_other_ref_metrics else ())]
    found = measure(space, {_NAME: captions}, evalset, metrics)
    numbers = _Numbers.of(space, found, strict=asked.strict_official and bool(asked.references_json))
    for metric, shown in _OTHERS.items():
        if metric in found.measures and (value := found.measures[metric].values()[0]) is not None:
            print(f"{shown}: {value:.4f}")
    print(f"CLIPScore: {numbers.clip.mean(dtype=np.float64):.4f}")
    if numbers.ref is not None:
        print(f"RefCLIPScore: {numbers.ref.mean(dtype=np.float64):.4f}")
    if asked.save_per_instance is not None:
        save(Path(asked.save_per_instance), json.dumps(numbers.per_instance()).encode())
    for line in [*found.warnings, *found.notes, *numbers.signatures]:
        print(line, file=sys.stderr)
    for failure in found.failures:
        print(f"error: {failure.name}: {failure.reason}", file=sys.stderr)
    return 1 if found.failures else 0


@final
@dataclass(frozen=True, eq=False)
class _Numbers:
    """The two scores of each image, as the script holds them."""

    keys: tuple[str, ...]
    clip: npt.NDArray[np.float32]
    ref: npt.NDArray[np.float32] | None
    signatures: tuple[str, ...]

    @classmethod
    def of(cls, space: Space, found: Measured, *, strict: bool) -> _Numbers:
        """Take the scores out of the measures; strict joins the terms without the second clip."""
        clip = found.measures["clip-s"].per_item[0]
        joined = found.measures["ref-clip-s"].per_item[0] if "ref-clip-s" in found.measures else None
        signatures = [str(one.signature) for one in found.measures.values()]
        if strict and joined is not None:
            joined = _unclipped(space, found, np.asarray(clip, np.float32))
            signatures = [f"{one}|official:unclipped" if "RefCLIP-S" in one else one for one in signatures]
        held = ~np.isnan(clip) if joined is None else ~np.isnan(clip) & _defined(found)
        keys = tuple(str(key) for key, there in zip(found.items.keys, held.tolist(), strict=True) if there)
        ref = None if joined is None else np.asarray(joined[held], np.float32)
        return cls(keys, np.asarray(clip[held], np.float32), ref, tuple(signatures))

    def per_instance(self) -> dict[str, dict[str, float]]:
        """Return the layout of ``--save_per_instance``."""
        clip = self.clip.astype(float).tolist()
        if self.ref is None:
            return {key: {"CLIPScore": one} for key, one in zip(self.keys, clip, strict=True)}
        both = zip(self.keys, clip, self.ref.astype(float).tolist(), strict=True)
        return {key: {"CLIPScore": one, "RefCLIPScore": other} for key, one, other in both}


def _defined(found: Measured) -> npt.NDArray[np.bool_]:
    return np.array([bool(texts) for texts in found.items.references])


def _unclipped(space: Space, found: Measured, clip: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return 2 S T / (S + T) with T = max cos as it comes, below 0 too: ``clipscore.py``, where (0, 0) is NaN."""
    prefix = recipes.HESSEL2021.prefix
    texts = found.systems[0].texts
    out = np.full(len(clip), np.nan, np.float32)
    rows = [row for row, text in enumerate(texts) if text and found.items.references[row] and not np.isnan(clip[row])]
    captions = space.gather_texts(space.text_keys([texts[row] or "" for row in rows], prefix))
    flat = [text for row in rows for text in found.items.references[row]]
    references = space.gather_texts(space.text_keys(flat, prefix))
    counts = np.array([len(found.items.references[row]) for row in rows], np.int64)
    own = np.repeat(np.arange(len(rows)), counts)
    cosines = clip_s.similarities(captions, own, references, np.arange(len(flat)))
    closest = ref_clip_s.best_reference(cosines, np.cumsum(counts) - counts, len(rows))
    with np.errstate(invalid="ignore", divide="ignore"):
        out[rows] = 2 * clip[rows] * closest / (clip[rows] + closest)
    return out


if __name__ == "__main__":
    sys.exit(main())
