"""Cleaning many captions at once gives what cleaning each alone gives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clipstore.encoders import canonical

ODD = st.sampled_from(
    [
        "",
        " ",
        "a  b",
        " a",
        "a ",
        "a\nb",
        "A Dog",
        "&amp;",
        "<|endoftext|>",
        "caf\u00e9",
        "tab\there",
        "x" * 300,
        "\x7f",
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(ODD, st.text(max_size=30)), max_size=700),
    st.sampled_from(["", "A photo depicts ", " odd  prefix ", "&"]),
    st.sampled_from([canonical.OPENAI_BPE, canonical.IDENTITY]),
)
def test_together_is_as_alone(texts, prefix, name):
    """Whatever stands in a group, each caption comes out as it would alone, in order."""
    clean = canonical.cleaner(name)
    assert canonical.clean_all(name, texts, prefix) == [clean(prefix + text) for text in texts]


def test_plain_captions_take_the_quick_way():
    """A thousand ordinary captions: lower-cased behind the prefix, across groups."""
    texts = [f"A dog number {i} runs" for i in range(1000)]
    together = canonical.clean_all(canonical.OPENAI_BPE, texts, "A photo depicts ")
    assert together == [f"a photo depicts a dog number {i} runs" for i in range(1000)]
