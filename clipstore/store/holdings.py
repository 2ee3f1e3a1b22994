"""What a store holds, in numbers: in all, and of each model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """How much a store holds."""

    images: int
    texts: int
    sets: int
    spaces: int


@final
@dataclass(frozen=True, slots=True)
class Model:
    """A model name that a store knows: its weights file, precision, fingerprint, and how many vectors there are."""

    model: str
    weights: str
    precision: str
    digest: str
    dim: int
    images: int
    texts: int
