"""Text keys: the ids of many texts at once, as an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clipstore import keys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clipstore.arrays import Ids


def text_keys(strings: Iterable[str]) -> Ids:
    """Return :func:`clipstore.keys.text_id` of each string: int64 of shape (strings,)."""
    digests = np.frombuffer(keys.text_digests(strings), ">u8")  # four words each, of which the first counts
    ids: Ids = (digests[::4] >> keys.SHIFT).astype(np.int64)
    return ids
