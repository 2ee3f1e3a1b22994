"""CIDEr-D against the official code, where it is installed, and on hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest

from clipstore.rerank.cider import cider, words

REFERENCES = [
    ["a man rides a red horse", "a man is riding a horse on the beach"],
    ["two dogs play in the snow", "dogs playing in snow"],
    ["a plate of food on a table"],
]
CANDIDATES = ["a man rides a horse", "a dog in the snow", "a plate of food on a table"]


def test_words_are_lower_case_without_punctuation() -> None:
    """As the official tokenizer on plain captions."""
    assert words("A man's dog, on the sofa.") == ["a", "man", "'s", "dog", "on", "the", "sofa"]


def test_equal_to_the_official_code() -> None:
    """Pycocoevalcap's own numbers on the same words."""
    official = pytest.importorskip("pycocoevalcap.cider.cider")
    gts = {i: [" ".join(words(text)) for text in texts] for i, texts in enumerate(REFERENCES)}
    res = {i: [" ".join(words(text))] for i, text in enumerate(CANDIDATES)}
    _, wanted = official.Cider().compute_score(gts, res)
    assert cider(CANDIDATES, REFERENCES, REFERENCES) == pytest.approx(wanted, abs=1e-9)


def test_a_copy_of_the_only_reference_is_ten() -> None:
    """The cosine is 1 for every order, times 10."""
    assert cider(CANDIDATES[2:], REFERENCES[2:], REFERENCES)[0] == pytest.approx(10)


def test_without_references_it_is_not_defined() -> None:
    """NaN, not 0."""
    assert np.isnan(cider(["a man"], [[]], REFERENCES)[0])
