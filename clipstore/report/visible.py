"""Text as a page can show it: a control character becomes a sign of its own, what is no letter the replacement sign."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_PICTURES: Final = 0x2400
"""Where Unicode's pictures of the 32 control characters begin: the picture of 0 is a small NUL."""

_DELETE: Final = 0x7F


def visible(text: str) -> str:
    """Return a text that HTML and XML can hold, in which every control character but tab and line end is seen.

    Parameters
    ----------
    text
        As it came; JSON and CSV hold it so.
    """
    return _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < ord(" "):
        return chr(_PICTURES + code)
    if code == _DELETE:
        return "\N{SYMBOL FOR DELETE}"
    return f"\\x{code:02x}" if code < 0xA0 else "\N{REPLACEMENT CHARACTER}"
