"""``selftest``: whether the numbers of this machine, with this model, can be trusted.

Each check is a measured number against its limit; nothing is looked up by name.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, cast, final

import numpy as np
import PIL.Image

from clipstore.encoders import canonical
from clipstore.errors import EncoderError

if TYPE_CHECKING:
    from types import ModuleType

    from clipstore.arrays import Vectors
    from clipstore.encoders.names import ModelName
    from clipstore.encoders.open_clip import OpenClipEncoder
    from clipstore.encoders.protocol import LoadOptions

FLOAT32, HALF = 1e-5, 1e-3
"""How far a cosine may move with batch or path, in single and in half precision: NUMERICS, section 1."""

GOLDEN = 2e-3
"""How far a published feature, printed from half precision, may be."""

_WORDS = ["a", "red", "bicycle", "leans", "on", "the", "old", "wall", "while", "two", "children", "play", "with"]
_LENGTHS = (0, 1, 5, 12, 30, 72, 73, 200)
_SIZES = ((301, 200), (64, 64), (120, 333), (640, 480), (51, 77))
PREFIX = "A photo depicts "

Verdict = Literal["ok", "failed", "not run"]


@final
@dataclass(frozen=True, slots=True)
class Check:
    """One check and what it found.

    Parameters
    ----------
    name
        What was checked.
    verdict
        ``ok``, ``failed``, or ``not run`` with the reason in ``found``.
    found
        The measured number, or the reason.
    limit
        What it must keep to.
    remedy
        What to do where it failed.
    """

    name: str
    verdict: Verdict
    found: str
    limit: str
    remedy: str = ""


class _Measure(Protocol):
    def __call__(self, encoder: OpenClipEncoder, /) -> Check: ...


def selftest(name: ModelName, options: LoadOptions) -> tuple[Check, ...]:
    """Load a model and check it on this machine.

    Parameters
    ----------
    name
        The model.
    options
        How to load it.

    Raises
    ------
    UnknownModel
        When there is no such model, or its weights can't be had.
    EncoderError
        When it is no model with two towers.
    """
    from clipstore.encoders import load  # imports torch

    if name.kind == "fake":
        message = "fake has no model behind it: there is nothing to test; name another with --model"
        raise EncoderError(message)
    encoder = cast("OpenClipEncoder", load(name, options))
    return examine(encoder, name)


def examine(encoder: OpenClipEncoder, name: ModelName) -> tuple[Check, ...]:
    """Check a loaded encoder: see :func:`selftest`."""
    measures: tuple[_Measure, ...] = (_paths, _ends, _batches, _unit, _half, _pixels)
    return (*(measure(encoder) for measure in measures), _activation(encoder, name), _golden(encoder, name))


def passed(checks: tuple[Check, ...]) -> bool:
    """Say whether no check failed."""
    return all(check.verdict != "failed" for check in checks)


def _judged(name: str, gap: float, limit: float, remedy: str) -> Check:
    """Return a check that passes where a gap stays within its limit; a NaN fails."""
    verdict: Verdict = "ok" if gap <= limit else "failed"
    return Check(name, verdict, f"{gap:.1e}", f"<= {limit:.0e}", "" if verdict == "ok" else remedy)


def _tolerance(encoder: OpenClipEncoder) -> float:
    return FLOAT32 if encoder.fingerprint.fields["precision"] == "fp32" else HALF


def _texts(encoder: OpenClipEncoder) -> list[str]:
    clean = canonical.cleaner(encoder.fingerprint.cleaning)
    turned = [_WORDS[number:] + _WORDS[:number] for number in range(len(_LENGTHS))]
    return [clean(PREFIX + " ".join((words * 20)[:length])) for words, length in zip(turned, _LENGTHS, strict=True)]


def _paths(encoder: OpenClipEncoder) -> Check:
    """Compare texts as they are encoded with the network's own method at full length."""
    tokens = encoder.tokenize(_texts(encoder))
    how = "true length" if encoder.cuts_texts else "full length"
    gap = _gap(encoder.embed_texts(tokens), _probing().whole_texts(encoder, tokens))
    return _judged(f"text at its {how} against the network's own path", gap, _tolerance(encoder), "report it")


def _ends(encoder: OpenClipEncoder) -> Check:
    """Compare ids with open_clip's own tokenizer, which ends each long caption with its end token."""
    texts = _texts(encoder)
    wrong = _probing().different_ids(encoder, texts)
    remedy = "the tokenizer differs from the model's own: install the open_clip that this clipstore was tested with"
    verdict: Verdict = "failed" if wrong else "ok"
    found = f"{wrong} of {len(texts)} differ"
    return Check("token ids, long captions cut with their end", verdict, found, "0 differ", remedy if wrong else "")


def _batches(encoder: OpenClipEncoder) -> Check:
    """Check that the batch which an item meets does not move it."""
    tokens = encoder.tokenize(_texts(encoder))
    pictures = [encoder.prepare_image(picture) for picture in _pictures()]
    gap = max(
        _gap(encoder.embed_texts(tokens), np.concatenate([encoder.embed_texts([one]) for one in tokens])),
        _gap(encoder.embed_images(pictures), np.concatenate([encoder.embed_images([one]) for one in pictures])),
    )
    return _judged("batches of one against one batch", gap, _tolerance(encoder), "use another --device, and report it")


def _unit(encoder: OpenClipEncoder) -> Check:
    vectors = np.concatenate([encoder.embed_texts(encoder.tokenize(_texts(encoder))), encoder.encode_images(_files())])
    gap = float(np.abs(np.linalg.norm(vectors.astype(np.float64), axis=1) - 1).max())
    return _judged("vectors of unit length", gap, FLOAT32, "the weights are damaged: fetch them again")


def _half(encoder: OpenClipEncoder) -> Check:
    """Measure how far bfloat16 is from single precision here."""
    name = "bfloat16 weights against single precision"
    if encoder.fingerprint.fields["precision"] != "fp32":
        return Check(name, "not run", "the model itself is in half precision", f"<= {HALF:.0e}")
    tokens, pictures = encoder.tokenize(_texts(encoder)), [encoder.prepare_image(one) for one in _pictures()]
    texts, images = _probing().in_bfloat16(encoder, tokens, pictures)
    gap = max(_gap(encoder.embed_texts(tokens), texts), _gap(encoder.embed_images(pictures), images))
    return _judged(name, gap, HALF, "do not use --precision bf16 with this model")


def _pixels(encoder: OpenClipEncoder) -> Check:
    """Compare prepared pixels with the reference transform, in grey levels."""
    gap = max(_probing().pixel_gap(encoder, picture) for picture in _pictures())
    fields = encoder.fingerprint.fields["preprocess"]
    exact = isinstance(fields, dict) and fields.get("name") == "exact"
    remedy = "another Pillow or torchvision changes the pixels: install the versions that clipstore was tested with"
    return _judged("pixels against the reference transform, grey levels", gap, 1e-3 if exact else 1.01, remedy)


def _activation(encoder: OpenClipEncoder, name: ModelName) -> Check:
    """Compare the activation inside the network with what its tag says."""
    title = "activation against the tag"
    wanted, built = _probing().activations(encoder, name)
    if wanted is None:
        return Check(title, "not run", f"nothing but the file says it ({built})", "equal")
    verdict: Verdict = "ok" if wanted == built else "failed"
    remedy = "" if verdict == "ok" else f"name the model whose weights use {built}, or fetch these again"
    return Check(title, verdict, built, wanted, remedy)


def _golden(encoder: OpenClipEncoder, name: ModelName) -> Check:
    """Compare with published features, where the weights are OpenAI's."""
    title = "golden values of the published weights"
    if name.shown != "ViT-B-32/openai":
        return Check(title, "not run", f"there are none for {name.shown}", f"<= {GOLDEN:.0e}")
    remedy = "these weights are not OpenAI's, or this machine computes something else: fetch them again"
    return _judged(title, _probing().golden_gap(encoder), GOLDEN, remedy)


def _probing() -> ModuleType:
    from clipstore.encoders import probing  # imports torch

    return probing


def _gap(one: Vectors, other: Vectors) -> float:
    """Return the largest 1 - cosine of unit rows; NaN where a row is not finite."""
    return float((1 - (one.astype(np.float64) * other.astype(np.float64)).sum(axis=1)).max())


def _pictures() -> list[PIL.Image.Image]:
    rng = np.random.default_rng(0)
    coarse = [rng.integers(0, 256, (9, 7, 3), dtype=np.uint8) for _ in _SIZES]
    bicubic = PIL.Image.Resampling.BICUBIC
    return [PIL.Image.fromarray(one).resize(size, bicubic) for one, size in zip(coarse, _SIZES, strict=True)]


def _files() -> list[bytes]:
    out = []
    for picture in _pictures()[:2]:
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        out.append(buffer.getvalue())
    return out
