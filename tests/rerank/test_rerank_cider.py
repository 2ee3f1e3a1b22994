"""CIDEr-D against the official code, where it is installed, and on hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest

from clipstore.metrics.text.cider import Frequencies
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
    assert cider(CANDIDATES, [0, 1, 2], REFERENCES) == pytest.approx(wanted, abs=1e-9)


def test_a_copy_of_the_only_reference_is_ten() -> None:
    """The cosine is 1 for every order, times 10."""
    assert cider(CANDIDATES[2:], [2], REFERENCES)[0] == pytest.approx(10)


def test_without_references_it_is_not_defined() -> None:
    """NaN, not 0; document frequencies are those of the images that have references."""
    found = cider(["a man", *CANDIDATES], [3, 0, 1, 2], [*REFERENCES, []])
    assert np.isnan(found[0])
    assert (found[1:] == cider(CANDIDATES, [0, 1, 2], REFERENCES)).all()


def test_the_arithmetic_is_that_of_the_table() -> None:
    """Bit for bit what ``clipstore.metrics.text`` gives of the same words: there is one CIDEr."""
    tokens = [[" ".join(words(text)) for text in texts] for texts in REFERENCES]
    table = Frequencies(tokens).score([" ".join(words(text)) for text in CANDIDATES])
    assert cider(CANDIDATES, [0, 1, 2], REFERENCES).tolist() == table.tolist()
