"""Captions -> warnings: what looks wrong before anything is scored.

Nothing here refuses; the caller may (``--strict``). Every warning counts and shows examples.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.formats.keytable import base_name, stem, tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clipstore.formats.values import Captions
    from clipstore.items import ItemKey

PLACEHOLDER_SHARE = 0.01
"""Captions that equal their id or a file name: over this share warns (bert_score issue 121)."""
SAME_SHARE = 0.20
"""One caption on more than this share of the images warns."""
COPIED_SHARE = 0.05
"""Captions equal to a reference of their image: over this share warns."""
FOREIGN_SHARE = 0.5
"""Mostly non-English: more than this share of the captions holds mostly non-ASCII letters or no common English word."""

_EXAMPLES = 3
_FEW = 3
_SHOWN = 60
_FILE = re.compile(r"\S+\.(jpe?g|png|gif|webp|bmp|tiff?|avif|txt)", re.IGNORECASE)
_SPECIAL = re.compile(
    r"<\|[\w ]{1,30}\|>|</?s>|<(pad|unk|eos|bos|sos|end|start|mask|image|im_start|im_end)>|\[(PAD|UNK|SEP|CLS|MASK)\]"
    r"|\bASSISTANT:|\[/?INST\]|##\w",
    re.IGNORECASE,
)
_MOJIBAKE = re.compile("\ufffd|Ã[\u0080-¿ŒœŠšŸŽžƒˆ˜–—‘’‚“”„†‡•…‰‹›€™]|â€|Â[\u00a0-¿]|ðŸ")  # noqa: RUF001  the damage itself
_MARKS = re.compile(r"[<\[#]|ASSISTANT", re.IGNORECASE)  # at least one of these is in every special token
_BREAKS = re.compile(r"[\n\r\t]")
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset({
    "a", "an", "the", "is", "are", "of", "in", "on", "at", "with", "and", "to", "for", "by", "from", "near",
    "it", "its", "there", "this", "that", "while", "two", "three", "man", "woman", "people", "group", "person",
    "standing", "sitting",
})  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class LintWarning:
    """One kind of trouble in one system's captions.

    Parameters
    ----------
    code
        A stable word for it: ``placeholder``, ``repeated``, ``copied``, ``special-tokens``,
        ``empty``, ``encoding``, ``not-english`` or ``line-breaks``.
    count
        How many captions it concerns.
    total
        How many captions there are.
    message
        One sentence with the count.
    examples
        A few ids with their captions, as they came.
    """

    code: str
    count: int
    total: int
    message: str
    examples: tuple[tuple[ItemKey, str], ...]

    def __str__(self) -> str:
        """Return the sentence with its first example."""
        if not self.examples:
            return self.message
        key, text = self.examples[0]
        return f"{self.message} (first: {key!r}: {text[:_SHOWN]!r})"


def lint(
    captions: Captions, references: Mapping[ItemKey, Sequence[str]] | None = None, *, english_only: bool = False
) -> list[LintWarning]:
    """Look for signs that captions are not what they should be.

    Parameters
    ----------
    captions
        One system's captions.
    references
        References of each caption id, where there are some.
    english_only
        The model knows English only.
    """
    found = [
        _placeholders(captions),
        _repeated(captions),
        _copied(captions, references or {}),
        _where(captions, "special-tokens", "hold leftovers of special tokens", _is_special),
        _all_empty(captions),
        _where(captions, "encoding", "look damaged by a wrong encoding", _is_damaged),
        _foreign(captions) if english_only else None,
        _where(captions, "line-breaks", "hold a newline or a tab", lambda text: bool(_BREAKS.search(text.strip()))),
    ]
    return [warning for warning in found if warning is not None]


def _warning(captions: Captions, code: str, words: str, rows: list[int]) -> LintWarning:
    total = len(captions.texts)
    examples = tuple((captions.ids[row], captions.texts[row]) for row in rows[:_EXAMPLES])
    message = f"{captions.source}: {len(rows):,} of {total:,} captions {words}"
    return LintWarning(code, len(rows), total, message, examples)


def _where(captions: Captions, code: str, words: str, test: Callable[[str], bool]) -> LintWarning | None:
    rows = [row for row, text in enumerate(captions.texts) if test(text)]
    return _warning(captions, code, words, rows) if rows else None


def _is_special(text: str) -> bool:
    return _MARKS.search(text) is not None and _SPECIAL.search(text) is not None


def _is_damaged(text: str) -> bool:
    return not text.isascii() and _MOJIBAKE.search(text) is not None


def _placeholders(captions: Captions) -> LintWarning | None:
    rows = [row for row, text in enumerate(captions.texts) if _is_name(text.strip(), captions.ids[row])]
    if len(rows) <= PLACEHOLDER_SHARE * len(captions.texts):
        return None
    return _warning(captions, "placeholder", "are file names or ids, not captions", rows)


def _is_name(text: str, key: ItemKey) -> bool:
    name = str(key)
    if not text or (text not in name and "." not in text):
        return False
    name = tidy(name)
    return text in {name, base_name(name), stem(name)} or _FILE.fullmatch(text) is not None


def _repeated(captions: Captions) -> LintWarning | None:
    """Count images, not rows: an n-best list may repeat itself. One or two images prove nothing."""
    total = len(set(captions.ids))
    pairs = {(key, text.strip()) for key, text in zip(captions.ids, captions.texts, strict=True)}
    (text, images), *_ = Counter(text for _, text in pairs).most_common(1) or [("", 0)]
    if not text or images < _FEW or images <= SAME_SHARE * total:
        return None
    rows = [row for row, other in enumerate(captions.texts) if other.strip() == text]
    return _warning(captions, "repeated", "are one and the same caption", rows)


def _copied(captions: Captions, references: Mapping[ItemKey, Sequence[str]]) -> LintWarning | None:
    known = {key: {_plain(text) for text in texts} for key, texts in references.items()}
    nothing: set[str] = set()
    pairs = enumerate(zip(captions.ids, captions.texts, strict=True))
    rows = [row for row, (key, text) in pairs if text.strip() and _plain(text) in known.get(key, nothing)]
    if len(rows) <= COPIED_SHARE * len(captions.texts):
        return None
    return _warning(captions, "copied", "equal a reference of their own image", rows)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .")


def _all_empty(captions: Captions) -> LintWarning | None:
    rows = [row for row, text in enumerate(captions.texts) if not text.strip()]
    return _warning(captions, "empty", "are empty: all of them", rows) if len(rows) == len(captions.texts) else None


def _foreign(captions: Captions) -> LintWarning | None:
    rows = [row for row, text in enumerate(captions.texts) if _is_foreign(text)]
    if len(rows) <= FOREIGN_SHARE * len(captions.texts):
        return None
    return _warning(captions, "not-english", "do not look English, which is all this model knows", rows)


def _is_foreign(text: str) -> bool:
    text = text.casefold()
    if not _ENGLISH.isdisjoint(text.split()):
        return False
    words = _WORD.findall(text)
    if not words:
        return False
    letters = "".join(words)
    if sum(not letter.isascii() for letter in letters) * 2 > len(letters):
        return True
    return len(words) > 4 and _ENGLISH.isdisjoint(words)
