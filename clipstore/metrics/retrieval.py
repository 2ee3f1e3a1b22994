"""Self-retrieval: whether a caption finds its own image among the images of the set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from clipstore.arrays import Ids

_BLOCK = 512


@final
@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """How each caption did against all images.

    Parameters
    ----------
    ranks
        Rank of its own image, 1 first; int64, shape (captions,).
    z
        How far its own image stands above the others: (own cosine - mean of the others) over
        their standard deviation; float64, shape (captions,); NaN below three images or without spread.
    """

    ranks: npt.NDArray[np.int64]
    z: npt.NDArray[np.float64]


def retrieve(captions: npt.NDArray[np.float32], images: npt.NDArray[np.float32], own: Ids) -> Found:
    """Rank every image for every caption.

    The null of ``z`` is the caption's own: its cosines to the other images of the set, so
    that it depends on no other system. It is no scale across models: each has its own spread.

    Parameters
    ----------
    captions, images
        Unit vectors, float32, shape (captions, dim) and (images, dim); images are distinct.
    own
        Row of each caption's image, int64, shape (captions,).

    Returns
    -------
    Found
        Ranks count images with a larger cosine, and equal ones of a lower row.
    """
    ranks = np.empty(len(captions), np.int64)
    z = np.full(len(captions), np.nan)
    rows, others = np.arange(len(images)), len(images) - 1
    for start in range(0, len(captions), _BLOCK):
        block = slice(start, start + _BLOCK)
        cosines = captions[block] @ images.T
        mine = own[block]
        at_own = cosines[np.arange(len(mine)), mine][:, None]
        ahead = (cosines > at_own) | ((cosines == at_own) & (rows < mine[:, None]))
        ranks[block] = 1 + np.count_nonzero(ahead, axis=1)
        if others > 1:
            z[block] = _z(cosines.astype(np.float64), at_own[:, 0].astype(np.float64), others)
    return Found(ranks, z)


def _z(cosines: npt.NDArray[np.float64], own: npt.NDArray[np.float64], others: int) -> npt.NDArray[np.float64]:
    mean = (cosines.sum(axis=1) - own) / others
    squares = ((cosines - mean[:, None]) ** 2).sum(axis=1) - (own - mean) ** 2
    spread = np.sqrt(np.maximum(squares, 0.0) / (others - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, (own - mean) / spread, np.nan)
