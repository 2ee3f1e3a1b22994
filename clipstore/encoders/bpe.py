"""How many tokens a word is in OpenAI's byte pair encoding, without torch: from the merges that open_clip ships.

Pages of a report that is made from cached vectors mark where a caption was cut; that must load no model.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from functools import cache, lru_cache
from importlib import util
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PIECES: Final = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[^\W\d_]+|\d|(?:[^\s\w]|_)+", re.IGNORECASE)
_FILE: Final = "bpe_simple_vocab_16e6.txt.gz"
_MERGES: Final = 49152 - 256 - 2
"""Of the file's lines, after the first: the vocabulary less its bytes and its two ends."""

_REMEMBERED: Final = 100_000


def merged(parts: list[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """Merge neighbours, the pair of the lowest rank first wherever it stands, until no pair has a rank."""
    unranked = len(ranks)
    while len(parts) > 1:
        found = [ranks.get(pair, unranked) for pair in pairwise(parts)]
        lowest = min(found)
        if lowest == unranked:
            break
        joined, at = list[str](), 0
        while at < len(parts):
            step = 2 if at < len(found) and found[at] == lowest else 1
            joined.append("".join(parts[at : at + step]))
            at += step
        parts = joined
    return parts


@lru_cache(_REMEMBERED)
def length(word: str) -> int:
    """Return how many tokens a word is; where the merges are not to be had, how many pieces at least."""
    plain = unicodedata.normalize("NFC", word).lower()
    apart = (f" {letter} " if unicodedata.category(letter).startswith("N") else letter for letter in plain)
    pieces = _PIECES.findall("".join(apart))  # each numeral is a piece, as in OpenAI's pattern
    ranks = _ranks()
    if not ranks:
        return max(1, len(pieces))
    letters = _letters()
    count = 0
    for piece in pieces:
        written = [letters[byte] for byte in piece.encode("utf-8", "replace")]
        count += len(merged([*written[:-1], written[-1] + "</w>"], ranks))
    return count


@cache
def _ranks() -> Mapping[tuple[str, str], int]:
    """Return the rank of each pair; none where open_clip's file is not there. Finding a package does not import it."""
    found = util.find_spec("open_clip")
    places = list(found.submodule_search_locations or ()) if found is not None else []
    path = next((own for place in places if (own := Path(place) / _FILE).is_file()), None)
    if path is None:
        return {}
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")[1 : _MERGES + 1]
    return {(left, right): rank for rank, (left, right) in enumerate(line.split() for line in lines)}


@cache
def _letters() -> tuple[str, ...]:
    """Return the letter that stands for each byte: itself where it can be seen, else one beyond the bytes."""
    seen = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    hidden = {byte: 256 + place for place, byte in enumerate(byte for byte in range(256) if byte not in seen)}
    return tuple(chr(hidden.get(byte, byte)) for byte in range(256))
