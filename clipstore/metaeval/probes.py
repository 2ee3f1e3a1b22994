"""Probes on your own references: one noun, colour, count or relation is swapped, and a metric should see it.

Like FOIL, with a word list in place of COCO's categories. A is a reference as written, B the
same with one wrong word; the image's other references are what metrics compare with.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Final

import numpy as np

from clipstore.errors import InputError
from clipstore.formats import read_references
from clipstore.metaeval.protocols import Pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.formats import Source
    from clipstore.items import ItemKey

WORDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "noun": (
        ("man", "woman", "boy", "girl"),
        ("men", "women", "boys", "girls"),
        ("dog", "cat", "horse", "cow", "sheep", "bird", "bear"),
        ("dogs", "cats", "horses", "cows", "birds", "bears"),
        ("car", "bus", "truck", "train", "boat", "bicycle", "motorcycle"),
        ("cars", "buses", "trucks", "trains", "boats", "bicycles", "motorcycles"),
        ("pizza", "sandwich", "cake", "banana", "donut", "salad"),
        ("beach", "street", "field", "forest", "kitchen", "bathroom", "mountain"),
        ("table", "chair", "bench", "couch", "bed"),
        ("surfboard", "skateboard", "snowboard", "frisbee", "kite"),
        ("circle", "square", "triangle", "star", "cross", "ring"),
        ("circles", "squares", "triangles", "stars", "crosses", "rings"),
    ),
    "colour": (("red", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey", "cyan"),),
    "count": (("two", "three", "four", "five", "six"),),
    "relation": (
        ("left", "right"),
        ("above", "below"),
        ("under", "over"),
        ("behind", "before"),
        ("inside", "outside"),
        ("with", "without"),
    ),
}
"""Kind -> families of words that replace one another. Words of a family take the same article."""

SEED: Final = 0
_WORD: Final = re.compile(r"[A-Za-z]+")


def pairs_of(references: Source, words: Mapping[str, Sequence[Sequence[str]]] = WORDS, seed: int = SEED) -> Pairs:
    """Make probes of references: at most one pair an image and kind.

    Parameters
    ----------
    references
        A file, or id -> references.
    words
        Kind -> families of words; your own list replaces ours.
    seed
        Chooses the reference, the word and what replaces it.

    Raises
    ------
    InputError
        When no reference holds a word of the list.
    """
    read = read_references(references)
    return probe(dict(zip(read.ids, read.texts, strict=True)), words, seed)


def probe(
    references: Mapping[ItemKey, Sequence[str]], words: Mapping[str, Sequence[Sequence[str]]] = WORDS, seed: int = SEED
) -> Pairs:
    """Return the same of references already read."""
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    rows: list[tuple[str, str, str, tuple[str, ...], str]] = []
    without = dict.fromkeys(words, 0)
    for key, own in references.items():
        known = {word.lower() for text in own for word in _WORD.findall(text)}
        for kind, families in words.items():
            made = _swapped(own, families, known, rng)
            if made is None:
                without[kind] += 1
                continue
            at, wrong = made
            rows.append((str(key), own[at], wrong, tuple(text for text in own if text != own[at]), kind))
    if not rows:
        msg = f"no reference holds a word that could be swapped ({', '.join(words)}); give words of your own"
        raise InputError(msg)
    return Pairs(
        "probe",
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        tuple(row[2] for row in rows),
        (tuple(row[3] for row in rows),),
        np.zeros(len(rows), np.int64),
        tuple(row[4] for row in rows),
        {f"image without a {kind} to swap": count for kind, count in without.items()},
        (f"one word of a reference swapped, seed {seed}; the other references stay",),
    )


def _swapped(
    texts: Sequence[str], families: Sequence[Sequence[str]], known: set[str], rng: random.Random
) -> tuple[int, str] | None:
    """Return which text was taken and the same with one word replaced by one that no reference of the image has."""
    options = [
        (at, found.start(), found.end(), other)
        for at, text in enumerate(texts)
        for found in _WORD.finditer(text)
        for family in families
        if found.group().lower() in family
        for other in family
        if other not in known
    ]
    if not options:
        return None
    at, start, stop, other = rng.choice(options)
    word = texts[at][start:stop]
    shown = other.capitalize() if word[0].isupper() else other
    return at, texts[at][:start] + shown + texts[at][stop:]
