"""Many captions cleaned at once come out as each alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clipstore.encoders import canonical

ODD = st.text(st.sampled_from("aB &<>;\n\t é\x7f|endoftxamp"), max_size=12)


@given(st.lists(ODD, max_size=20), st.sampled_from(["", "A photo depicts ", " x", "a  b ", "é ", "&", "a", "<"]))
def test_cleaning_many_equals_cleaning_each(texts: list[str], prefix: str) -> None:
    """Whatever stands in them, and whatever the prefix, no caption comes out otherwise."""
    for name in (canonical.OPENAI_BPE, canonical.IDENTITY):
        clean = canonical.cleaner(name)
        assert canonical.clean_all(name, texts, prefix) == [clean(prefix + text) for text in texts]
        plain = [text.replace("&", "").replace("<", "") for text in texts]
        assert canonical.clean_all(name, plain, prefix) == [clean(prefix + text) for text in plain]
