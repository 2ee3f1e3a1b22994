"""What an ``ensure`` found and did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clipstore.arrays import Ids
    from clipstore.store.identify import Failure


@final
@dataclass(frozen=True, slots=True)
class Ensured:
    """What an ``ensure`` found and did.

    Parameters
    ----------
    asked
        Distinct items asked for.
    encoded
        Of these, how many this call encoded; the rest were cached or failed.
    seconds
        Wall time of the encoding, model loading included.
    failures
        Images that could not be read or encoded; copies of one image are named each.
    failed
        How many distinct items failed.
    keys
        Of texts: the vector key of each, in the order asked, repeats included; int64.
    ids
        Of images: the content id of each, in the order asked, None where it failed.
    flags
        What was done to images beyond the official preprocessing, such as ``scaled from 16 bit``, and to how many
        of them.
    """

    asked: int
    encoded: int
    seconds: float
    failures: tuple[Failure, ...] = ()
    failed: int = 0
    keys: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    ids: tuple[int | None, ...] = ()
    flags: Mapping[str, int] = field(default_factory=dict)

    @property
    def cached(self) -> int:
        """How many were in the store before."""
        return self.asked - self.encoded - self.failed
