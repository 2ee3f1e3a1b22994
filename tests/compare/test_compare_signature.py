"""Whatever changes a score, an interval or a p changes the signature."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from made import drawn, measured

from clipstore.compare import Style, compare
from clipstore.encoders.protocol import Fingerprint
from clipstore.evaluate.signatures import Configuration, signatures
from clipstore.metrics.recipes import HESSEL2021
from clipstore.significance import Settings

SCORES = drawn(4, 150)
BASE = {"resamples": 200}


def signature(settings=None, **more):
    """Return the signature of one comparison as text."""
    return str(compare(measured(SCORES), settings=Settings(**{**BASE, **(settings or {})}), **more).signature)


@pytest.mark.parametrize(
    "changed",
    [
        {"settings": {"test": "ttest"}},
        {"settings": {"test": "bootstrap"}},
        {"settings": {"correction": "none"}},
        {"settings": {"correction": "bh"}},
        {"settings": {"seed": 0}},
        {"settings": {"resamples": 20_000}},
        {"settings": {"level": 0.9}},
        {"baseline": "s0"},
        {"baseline": "s0", "all_pairs": True, "settings": {"seed": 1}},
        {"slice_by": "caption-length"},
    ],
    ids=str,
)
def test_an_option_that_changes_numbers_changes_the_signature(changed):
    """One option at a time."""
    if "slice_by" in changed:
        scores = measured(SCORES, tags=tuple({"half": str(row % 2)} for row in range(150)))
        parts = compare(scores, settings=Settings(**BASE), slice_by="half").parts
        assert len({str(part.signature("clip-s")) for part in parts}) == 3
        return
    assert signature(**changed) != signature()


@pytest.mark.parametrize("style", [{"digits": 2}, {"hundred": True}, {"columns": ("system", "clip-s")}], ids=str)
def test_an_option_that_changes_only_the_look_does_not(style):
    """Digits and columns are no part of how a number was made."""
    assert signature(style=Style(**style)) == signature()


def test_the_missing_rule_and_the_common_images_are_in_it():
    """The images compared on are part of the number."""
    scores = {name: values.copy() for name, values in SCORES.items()}
    scores["s1"][0] = np.nan
    done = compare(measured(scores), settings=Settings(**BASE), missing="skip")
    assert "missing:skip|common:149/150@" in str(done.signature)


def test_the_fields_stand_in_their_order():
    """Configuration, set, resamples, test, correction with its family, seed, version."""
    assert signature() == (
        "CLIP-S|model:fake|w:2.5|dtype:fp32|set:9f2c11ab|boot:200|test:signflip1200|holm:6|seed:12345|v:0"
    )


def test_few_images_say_student():
    """Below 100 images the interval is Student's, and the signature says which."""
    done = compare(measured(drawn(2, 40)), settings=Settings(**BASE))
    assert "|ci:student|" in str(done.signature)


ENCODER = {
    "weights": "sha256:40d36571",
    "preprocess": {"interpolation": "bicubic", "size": [224, 224], "resize_mode": "shortest", "name": "exact"},
    "exif": "ignore",
    "precision": "fp32",
}
CONFIGURATION = Configuration(HESSEL2021, "9f2c11ab", (5, 7))


def made(shown="ViT-B-32/openai", configuration=CONFIGURATION, **fields):
    """Return the signature of RefCLIP-S of an encoder with these fields."""
    space = SimpleNamespace(shown=shown, fingerprint=Fingerprint({**ENCODER, **fields}))
    return str(signatures(space, configuration)["ref-clip-s"])


@pytest.mark.parametrize(
    "changed",
    [
        {"shown": "ViT-L-14/openai"},
        {"weights": "sha256:11111111"},
        {"precision": "fp16"},
        {"exif": "apply"},
        {"preprocess": {**ENCODER["preprocess"], "size": [336, 336]}},
        {"preprocess": {**ENCODER["preprocess"], "interpolation": "bilinear"}},
        {"preprocess": {**ENCODER["preprocess"], "resize_mode": "squash"}},
        {"preprocess": {**ENCODER["preprocess"], "name": "fast"}},
        {"configuration": replace(CONFIGURATION, recipe=replace(HESSEL2021, name="other"))},
        {"configuration": replace(CONFIGURATION, recipe=replace(HESSEL2021, prefix=""))},
        {"configuration": replace(CONFIGURATION, recipe=replace(HESSEL2021, weight=1.0))},
        {"configuration": replace(CONFIGURATION, set_digest="00000000")},
        {"configuration": replace(CONFIGURATION, reference_counts=(5, 5))},
        {"configuration": replace(CONFIGURATION, skipped=True)},
        {"configuration": replace(CONFIGURATION, empty=True)},
    ],
    ids=str,
)
def test_an_option_that_changes_a_score_changes_the_signature(changed):
    """Model, weights, precision, pixels, recipe, set, references, what is left out: one at a time."""
    assert made(**changed) != made()
