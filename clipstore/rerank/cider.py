"""CIDEr of candidates on words of our own: no Java and no extra is needed to tune a weight or to judge a choice.

The arithmetic is :mod:`clipstore.metrics.text.cider`'s; only the tokens differ from those of published tables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from clipstore.metrics.text.cider import Frequencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.rerank.ragged import Numbers

# Words of the PTB tokenizer on plain captions, its punctuation left out as the official code does.
_WORD = re.compile(r"'(?:s|re|ve|ll|d|m)(?!\w)|n't(?!\w)|[^\W_]+(?:[-.,'][^\W_]+)*|[$%&@]")
_CLITIC = re.compile(r"(?<=\w)('s|'re|'ve|'ll|'d|'m|n't)(?!\w)")


def words(text: str) -> list[str]:
    """Return the words that n-grams are made of: lower case, clitics apart, punctuation left out."""
    return [part for word in _WORD.findall(_CLITIC.sub(r" \1", text.lower())) for part in word.split()]


def cider(candidates: Sequence[str], rows: Sequence[int], references: Sequence[Sequence[str]]) -> Numbers:
    """Return the CIDEr-D of each candidate against its image's references; NaN where it has none.

    Parameters
    ----------
    candidates
        Captions as they came.
    rows
        The image of each candidate, a place in ``references``.
    references
        Of every image of the set, as they came: document frequencies come from these.

    Returns
    -------
    Numbers
        float64, shape (len(candidates),), about 0 to 10.
    """
    said = [" ".join(words(text)) for text in candidates]
    held = [row for row, texts in enumerate(references) if texts]
    place = {row: number for number, row in enumerate(held)}
    frequencies = Frequencies([[" ".join(words(text)) for text in references[row]] for row in held])
    out = np.full(len(candidates), np.nan)
    scored = [number for number, row in enumerate(rows) if row in place]
    out[scored] = frequencies.of_rows([place[rows[number]] for number in scored], [said[number] for number in scored])
    return out
