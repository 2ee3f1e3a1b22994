"""Warnings before scoring."""

from __future__ import annotations

import pytest

from clipstore.formats import lint, read_captions

GOOD = {f"img{number}": f"a man with {number} dogs" for number in range(100)}


def codes(captions: dict[str, str], **options: object) -> list[str]:
    """Return the codes of the warnings."""
    return [warning.code for warning in lint(read_captions(captions), **options)]  # type: ignore[arg-type]


def test_good_captions_raise_nothing() -> None:
    """Plain captions give no warning, also for a model that knows English only."""
    references = {key: [f"two people and {key}"] for key in GOOD}
    assert codes(GOOD, references=references, english_only=True) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({f"img{number}": f"img{number}" for number in range(2)}, "placeholder"),
        ({f"img{number}": f"photo_{number}.txt" for number in range(2)}, "placeholder"),
        ({f"img{number}": "a man" for number in range(21)}, "repeated"),
        ({"img0": "a man<|endoftext|>"}, "special-tokens"),
        ({"img0": "<s> a man </s>"}, "special-tokens"),
        ({"img0": "a man [PAD] [PAD]"}, "special-tokens"),
        ({"img0": "a <unk> man"}, "special-tokens"),
        ({"img0": "a cafÃ© in Paris"}, "encoding"),
        ({"img0": "itâ€™s a man"}, "encoding"),
        ({"img0": "a man \ufffd"}, "encoding"),
        ({"img0": "a man\nand a dog"}, "line-breaks"),
        ({"img0": "a man\tand a dog"}, "line-breaks"),
    ],
)
def test_each_kind_of_trouble_is_counted_with_examples(changes: dict[str, str], code: str) -> None:
    """One warning of the right kind, with how many captions and which."""
    (warning,) = lint(read_captions({**GOOD, **changes}))
    assert (warning.code, warning.count, warning.total) == (code, len(changes), 100)
    assert warning.examples[0] == next(iter(changes.items()))
    assert f"{len(changes)} of 100 captions" in str(warning)


@pytest.mark.parametrize(
    "changes", [{"img0": "img0"}, {f"img{number}": "a man" for number in range(20)}, {"img0": " a man \n"}]
)
def test_what_stays_under_the_threshold_is_silent(changes: dict[str, str]) -> None:
    """1% placeholders, 20% of one caption, and breaks at the ends only are let pass."""
    assert codes({**GOOD, **changes}) == []


def test_one_caption_for_a_few_images_is_seen() -> None:
    """Three of a handful count, two do not; an n-best list that repeats itself within images does not."""
    five = {f"img{number}": f"a man with {number} dogs" for number in range(5)}
    assert codes({**five, **{f"img{number}": "a man" for number in range(3)}}) == ["repeated"]
    assert codes({**five, "img0": "a man", "img1": "a man"}) == []
    assert codes({f"img{number}": ["a dog"] * 4 for number in range(2)}) == []  # type: ignore[dict-item]


def test_captions_copied_from_references_are_seen_over_five_percent() -> None:
    """A system that gives out references of its own images is named."""
    references = {f"img{number}": [f"A man with {number} dogs."] for number in range(6)}
    assert codes(GOOD, references=references) == ["copied"]
    assert codes(GOOD, references=dict(list(references.items())[:5])) == []


def test_all_empty_captions_are_one_warning() -> None:
    """An early checkpoint that says nothing."""
    assert codes(dict.fromkeys(GOOD, " ")) == ["empty"]


@pytest.mark.parametrize("text", ["一个男人骑摩托车 {}", "ein Mann fährt mit seinem Hund Nummer {}", "мужчина едет {}"])
def test_other_languages_warn_only_for_english_models(text: str) -> None:
    """German, Chinese and Russian captions meet a model that knows English only."""
    captions = {key: text.format(place) for place, key in enumerate(GOOD)}
    assert codes(captions, english_only=True) == ["not-english"]
    assert codes(captions) == []


def test_accents_and_markup_are_no_damage() -> None:
    """Correct accents, emoji and brackets are not taken for damage."""
    assert codes({**GOOD, "img0": "a café in São Paulo 😀 [red] <b> \u00c3 la carte"}) == []
