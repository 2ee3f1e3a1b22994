from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipstore import keys
from clipstore.store.text_keys import text_keys


@given(st.binary())
def test_an_image_id_is_the_first_63_bits_of_the_sha256_of_its_bytes(data: bytes) -> None:
    """An image's id is the first 63 bits of its bytes' sha256, a non-negative int64."""
    bits = "".join(f"{byte:08b}" for byte in hashlib.sha256(data).digest())
    assert keys.image_id(data) == int(bits[:63], 2)
    assert 0 <= keys.image_id(data) < 2**63


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_text_ids_are_the_ids_of_the_raw_texts_in_order(texts: list[str]) -> None:
    """The quick form for many texts agrees with the one for one, and hashes raw UTF-8."""
    assert keys.text_ids(texts) == [keys.text_id(text) for text in texts]
    assert keys.text_ids(texts) == [keys.image_id(text.encode()) for text in texts]
    made = text_keys(texts)
    assert (made.dtype, made.tolist()) == (np.int64, keys.text_ids(texts))


@pytest.mark.parametrize(("one", "other"), [("A cat", "a cat"), ("a cat", "a cat "), ("caf\u00e9", "cafe\u0301")])
def test_a_text_id_knows_every_difference_of_the_raw_text(one: str, other: str) -> None:
    """Case, spaces and Unicode form make another text id: only vector keys look through them."""
    assert keys.text_id(one) != keys.text_id(other)


def test_known_ids_never_change() -> None:
    """Ids on disk are for ever: these were written down once."""
    assert keys.to_hex(keys.text_id("a cat")) == "28f233a0ab03bcc1"
    assert keys.to_hex(keys.text_id("")) == "71d862214c7e0e0a"
    assert keys.to_hex(keys.combine([1, 2])) == "463b2a767ebd85b1"


@given(st.integers(0, 2**63 - 1))
def test_hex_survives_the_way_out_and_back(value: int) -> None:
    """An id is 16 lower-case hex digits outside the process, and comes back as it was."""
    text = keys.to_hex(value)
    assert len(text) == 16
    assert text == text.lower()
    assert keys.from_hex(text) == value


@pytest.mark.parametrize(
    "text", ["", "1", "f" * 16, "G" * 16, "0" * 15, "0" * 17, "00000000000000AB", "+000000000000001"]
)
def test_what_is_no_id_is_refused_by_name(text: str) -> None:
    """Anything but 16 lower-case hex digits of 63 bits is refused, and the message shows it."""
    with pytest.raises(ValueError, match=r"16 lower-case hex digits|invalid literal"):
        keys.from_hex(text)


def test_parts_of_a_picture_can_not_run_into_each_other() -> None:
    """Bytes that move from the palette to the pixels, or an absent palette, make another picture."""
    one = keys.picture_bytes("P", (2, 1), b"ab", None, b"cd")
    others = [
        keys.picture_bytes("P", (2, 1), b"a", None, b"bcd"),
        keys.picture_bytes("P", (2, 1), None, b"ab", b"cd"),
        keys.picture_bytes("P", (2, 1), b"", None, b"abcd"),
        keys.picture_bytes("P", (2, 1), None, None, b"abcd"),
        keys.picture_bytes("L", (2, 1), b"ab", None, b"cd"),
        keys.picture_bytes("P", (1, 2), b"ab", None, b"cd"),
    ]
    assert len({one, *others}) == len(others) + 1


def test_the_order_of_combined_ids_counts() -> None:
    """A context of several ids is an ordered list."""
    assert keys.combine([1, 2]) != keys.combine([2, 1])
    assert keys.combine([]) != keys.combine([0])


def test_canonical_json_does_not_know_the_order_of_keys() -> None:
    """The digest of a value is over sorted keys, so that equal values agree on any machine."""
    assert keys.digest_json({"a": 1, "b": [2, "\u00e9"]}) == keys.digest_json({"b": [2, "\u00e9"], "a": 1})
    assert keys.digest_json({"a": 1}) != keys.digest_json({"a": 1.5})
    with pytest.raises(ValueError, match="not JSON compliant"):
        keys.digest_json({"a": float("nan")})
