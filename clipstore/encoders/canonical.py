"""Text cleaning by name: the torch-free part of a tokenizer, so that a warm run needs no model.

Spellings that a tokenizer reads alike share one canonical text, and so one vector. The
tokenizer takes canonical text as it stands: cleaning twice is not the same as cleaning once
(``&amp;amp;amp;lt;`` loses two layers each time).
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from clipstore.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OPENAI_BPE = "openai-bpe"
"""OpenAI's cleaning: ftfy, HTML entities twice, special strings out, one space, lower case."""

IDENTITY = "identity"
"""No cleaning: for tokenizers that do their own, or that we don't know."""

SPECIAL_STRINGS = ("<|startoftext|>", "<|endoftext|>", "<start_of_text>", "<end_of_text>")
"""What the tokenizers spell their start and end as; captioners built on GPT-2 emit them."""

_TOGETHER = 512  # captions looked at together
_SPECIAL = re.compile("|".join(map(re.escape, SPECIAL_STRINGS)), re.IGNORECASE | re.ASCII)


def cleaner(name: str) -> Callable[[str], str]:
    """Return the function from a raw caption to its canonical text.

    Parameters
    ----------
    name
        ``openai-bpe`` or ``identity``, as a fingerprint's ``cleaning`` field holds it.

    Raises
    ------
    EncoderError
        When no cleaning has this name.
    """
    try:
        return _CLEANERS[name]
    except KeyError as error:
        known = ", ".join(sorted(_CLEANERS))
        message = f"unknown text cleaning {name!r}; this clipstore knows {known}: install the one that wrote the store"
        raise EncoderError(message) from error


def clean_all(name: str, texts: Sequence[str], prefix: str = "") -> list[str]:
    """Return :func:`cleaner` of each text behind ``prefix``; plain captions are cleaned many at once.

    Raises
    ------
    EncoderError
        When no cleaning has this name.
    """
    clean = cleaner(name)
    plain = name == OPENAI_BPE and clean(f"{prefix}x") == f"{prefix}x".lower()
    cleaned: list[str] = []
    for start in range(0, len(texts), _TOGETHER):
        group = texts[start : start + _TOGETHER]
        joined = "\n".join(group)
        if plain and _is_plain(joined, len(group)):
            front = prefix.lower()
            cleaned += [front + text for text in joined.lower().split("\n")]
        else:
            cleaned += [clean(prefix + text) for text in group]
    return cleaned


def _is_plain(joined: str, count: int) -> bool:
    """Say whether lines need nothing but lower case: ASCII, single spaces inside, nothing to unescape or strip."""
    return (
        joined.isascii()
        and joined.count("\n") == count - 1
        and joined.replace("\n", " ").isprintable()
        and not any(odd in joined for odd in ("&", "<", "  ", "\n ", " \n", "\n\n"))
        and joined.strip() == joined != ""
    )


def specials(text: str) -> int:
    """Count the special strings that ``openai-bpe`` takes out of a caption."""
    if "<" not in text and "&" not in text and text.isascii():
        return 0
    return _strip(_basic(text))[1]


def _clean_openai(text: str) -> str:
    if not (text.isascii() and text.isprintable() and "&" not in text):
        text = _basic(text)
    if "<" in text:
        text, _ = _strip(text)
    return " ".join(text.split()).lower()


def _basic(text: str) -> str:
    """Mend the encoding and unescape HTML, as OpenAI's ``basic_clean``."""
    import ftfy  # a plain ASCII run never needs it

    return html.unescape(html.unescape(ftfy.fix_text(text))).strip()


def _strip(text: str) -> tuple[str, int]:
    """Take special strings out; return the text and how many there were.

    A space takes the place of each, so that the words on both sides stay two words, and
    no new special string can come together.
    """
    return _SPECIAL.subn(" ", text)


def _identity(text: str) -> str:
    return text


_CLEANERS: dict[str, Callable[[str], str]] = {OPENAI_BPE: _clean_openai, IDENTITY: _identity}
