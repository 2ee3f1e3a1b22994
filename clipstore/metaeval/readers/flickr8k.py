"""Flickr8k: expert ratings (three judges, 1 to 4) and CrowdFlower votes (share of yes).

Hodosh, Young and Hockenmaier 2013, "Framing image description as a ranking task", JAIR 47.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from clipstore.errors import BadFormat
from clipstore.metaeval.protocols import Ratings
from clipstore.metaeval.published import BLEU_4_CF
from clipstore.metaeval.readers.files import Wanted, find_all, joined, lines, number, read_text

if TYPE_CHECKING:
    from pathlib import Path

Own = Literal["drop", "remove", "remove-row", "keep"]
"""A candidate found among its image's references: drop the row, remove the reference for all rows of the
image or for its own row alone, or keep both."""

_ORIGIN = "the text archive of Flickr8k, Flickr8k_text.zip (Hodosh et al. 2013)"
EXPERT: Final = Wanted("ExpertAnnotations.txt", _ORIGIN, "5,822 lines", "bc1d95194465b7f5210d41f511fec4d6")
CROWD: Final = Wanted("CrowdFlowerAnnotations.txt", _ORIGIN, "47,830 lines", "225f7217b50d1504bf448f91dd2e1a21")
TOKENS: Final = Wanted("Flickr8k.token.txt", _ORIGIN, "40,460 lines", "bb65d4d46ba6cb856d8f17da6d9d7e5d")


def image_key(name: str) -> str:
    """Return the name before the first dot: ``2258277193_586949ec62.jpg.1`` is an image of the corpus too."""
    return name.rpartition("/")[2].partition(".")[0]


def captions_of(path: Path) -> dict[str, dict[str, str]]:
    """Return image -> number of the caption -> caption, from ``Flickr8k.token.txt``.

    Raises
    ------
    BadFormat
        Naming the first line that does not fit.
    """
    out: dict[str, dict[str, str]] = {}
    for at, line in enumerate(read_text(path).splitlines(), 1):
        name, tab, text = line.partition("\t")
        if line.strip() and (not tab or "#" not in name):
            msg = f"{path.name}: line {at} is not 'image#number<tab>caption'"
            raise BadFormat(msg)
        if line.strip():
            image, _, place = name.partition("#")
            out.setdefault(image_key(image), {})[place] = joined(text)
    return out


class _Judgements:
    """The lines of a file of judgements, with captions looked up."""

    def __init__(self, folder: Path, wanted: Wanted) -> None:
        self.path, tokens = find_all(folder, wanted, TOKENS)
        differ = (wanted.differs(self.path), TOKENS.differs(tokens))
        self.notes = tuple(note for note in differ if note)
        self.captions = captions_of(tokens)
        self.images: list[str] = []
        self.texts: list[str] = []
        self.cells: list[list[float]] = []
        for at, (image, caption, *rest) in lines(self.path):
            source, _, place = caption.partition("#")
            text = self.captions.get(image_key(source), {}).get(place)
            if text is None or image_key(image) not in self.captions:
                msg = f"{self.path.name}: line {at}: {caption} or {image} is not in {TOKENS.name}"
                raise BadFormat(msg)
            self.images.append(image)
            self.texts.append(text)
            self.cells.append([number(cell, self.path, at) for cell in rest])

    def references(self, own: Own) -> tuple[list[tuple[str, ...]], list[bool]]:
        """Return the references of each row, and whether its caption is one of its image's."""
        every = {image: list(some.values()) for image, some in self.captions.items()}
        keys = [image_key(image) for image in self.images]
        among = [text in every[key] for key, text in zip(keys, self.texts, strict=True)]
        if own == "remove":
            for key, text, held in zip(keys, self.texts, among, strict=True):
                if held and text in every[key]:
                    every[key].remove(text)
        if own == "remove-row":
            both = zip(keys, self.texts, strict=True)
            return [tuple(one for one in every[key] if one != text) for key, text in both], among
        return [tuple(every[key]) for key in keys], among


def expert(folder: Path, own: Own = "drop") -> Ratings:
    """Read Flickr8k-Expert: 5,664 captions of 1,000 images, each rated by three judges.

    As the CLIPScore paper does (its section 4.2 and appendix A): captions that are among
    their image's references are dropped (158), all five references are kept, and every
    single rating counts, not the mean of the judges.

    Parameters
    ----------
    folder
        Holds ``ExpertAnnotations.txt`` and ``Flickr8k.token.txt``.
    own
        What happens to a candidate that is among its references; published tables drop it.
    """
    read = _Judgements(folder, EXPERT)
    references, among = read.references(own)
    kept = [row for row, held in enumerate(among) if own != "drop" or not held]
    excluded = {"caption among its image's references": len(among) - len(kept)} if own == "drop" else {}
    return Ratings(
        "flickr8k-expert",
        tuple(read.images[row] for row in kept),
        tuple(read.texts[row] for row in kept),
        tuple(references[row] for row in kept),
        np.array([read.cells[row] for row in kept], np.float64),
        "tau_c",
        excluded,
        notes=read.notes,
    )


def crowd(folder: Path, own: Own = "remove") -> Ratings:
    """Read Flickr8k-CF: 47,830 captions of 1,000 images, each with its share of yes.

    No row is dropped; a caption found among its image's references is removed from them for
    every row of that image. The published tables print tau_b.

    Parameters
    ----------
    folder
        Holds ``CrowdFlowerAnnotations.txt`` and ``Flickr8k.token.txt``.
    own
        What happens to a candidate that is among its references; published tables remove it there.
    """
    read = _Judgements(folder, CROWD)
    references, among = read.references(own)
    kept = [row for row, held in enumerate(among) if own != "drop" or not held]
    left = Counter(len(some) for some in {read.images[row]: references[row] for row in kept}.values())
    excluded = {"reference that is also a caption of its image (removed, its rows stay)": sum(among)}
    votes = [(yes, no) for _, yes, no in read.cells]
    if own != "remove":
        excluded = {"caption among its image's references": len(among) - len(kept)} if own == "drop" else {}
    shares = [votes[row][0] / sum(votes[row]) if sum(votes[row]) else np.nan for row in kept]
    said = ", ".join(f"{count:,} images with {size} references" for size, count in sorted(left.items()))
    return Ratings(
        "flickr8k-cf",
        tuple(read.images[row] for row in kept),
        tuple(read.texts[row] for row in kept),
        tuple(references[row] for row in kept),
        np.array(shares, np.float64)[:, None],
        "tau_b",
        excluded,
        notes=(*read.notes, said, f"{sum(map(sum, votes)):,.0f} single votes", BLEU_4_CF),
    )
