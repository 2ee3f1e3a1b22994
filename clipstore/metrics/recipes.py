"""Recipes: how a number is made. One column of a table never mixes two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from clipstore.errors import InputError
from clipstore.metrics.clip_s import WEIGHT


@final
@dataclass(frozen=True, slots=True)
class Recipe:
    """The choices that turn a cosine into a score.

    Parameters
    ----------
    name
        What the signature calls it.
    prefix
        What stands before every candidate and reference when it is encoded.
    weight
        The factor w on the image term.
    clamp
        Whether negative cosines count as 0, item by item.
    source
        The paper or code that defines it.
    """

    name: str
    prefix: str
    weight: float
    clamp: bool
    source: str


HESSEL2021: Final = Recipe(
    name="hessel2021",
    prefix="A photo depicts ",
    weight=WEIGHT,
    clamp=True,
    source="Hessel et al. 2021, arXiv 2104.08718; jmhessel/clipscore",
)

RECIPES: Final = {recipe.name: recipe for recipe in (HESSEL2021,)}


def recipe(name: str) -> Recipe:
    """Return the recipe of this name.

    Raises
    ------
    InputError
        When there is none; the message lists those that exist.
    """
    if name not in RECIPES:
        msg = f"no recipe is called {name!r}; there is: {', '.join(RECIPES)}"
        raise InputError(msg)
    return RECIPES[name]
