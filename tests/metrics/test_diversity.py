"""Words and distinct n-grams."""

import pytest

from clipstore.metrics.diversity import distinct, word_count, words


def test_words_are_lower_case_without_punctuation():
    """``A man's T-shirt.`` has three words."""
    assert words("A man's T-shirt.") == ["a", "man's", "t-shirt"]


def test_word_count_is_by_space():
    """As the score table counts."""
    assert word_count("a  dog , here") == 4


def test_distinct_by_hand():
    """Two captions, 5 unigrams of which 4 differ, 3 bigrams of which 3 differ."""
    captions = ["a dog runs", "a cat"]
    assert distinct(captions, 1) == pytest.approx(4 / 5)
    assert distinct(captions, 2) == pytest.approx(1)


def test_repeats_lower_it():
    """The same caption on every image: few different n-grams."""
    assert distinct(["a dog runs"] * 100, 1) == pytest.approx(3 / 300)


def test_no_words_no_number():
    """Captions shorter than n have none."""
    assert distinct(["dog", ""], 2) is None
