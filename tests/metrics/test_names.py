"""Names of metrics: every spelling of the field leads to one."""

import pytest

from clipstore.errors import InputError
from clipstore.metrics.names import SHOWN, TEXT, canonical_name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("bleu-4", "bleu-4"),
        ("Bleu_4", "bleu-4"),
        ("BLEU@4", "bleu-4"),
        ("bleu 1", "bleu-1"),
        ("ROUGE_L", "rouge-l"),
        ("Rouge", "rouge-l"),
        ("CIDEr", "cider"),
        ("METEOR", "meteor"),
        ("SPICE", "spice"),
        ("CLIPScore", "clip-s"),
        ("clip_s", "clip-s"),
        ("CLIP-S", "clip-s"),
        ("RefCLIPScore", "ref-clip-s"),
        ("refclip-s", "ref-clip-s"),
    ],
)
def test_spellings(spelling, name):
    """Spellings of pycocoevalcap, of papers and of JSON are all accepted."""
    assert canonical_name(spelling) == name


@pytest.mark.parametrize("name", SHOWN)
def test_canonical_and_shown_names_are_accepted(name):
    """A canonical name stands for itself, and so does what tables print."""
    assert canonical_name(name) == canonical_name(SHOWN[name]) == name


def test_unknown_name():
    """A name that is none is refused with a list of those that are."""
    with pytest.raises(InputError, match=r"'bleu-5'.*bleu-4.*cider"):
        canonical_name("bleu-5")


def test_text_metrics():
    """The metrics of text are all but CLIP's."""
    assert set(SHOWN) - set(TEXT) == {"clip-s", "ref-clip-s"}
