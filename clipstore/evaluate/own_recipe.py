"""The recipe of a model: a published scorer has its own, others are CLIP-S."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.encoders.profiles import PROFILES
from clipstore.metrics import recipes
from clipstore.store import Space

if TYPE_CHECKING:
    from clipstore.metrics.recipes import Recipe
    from clipstore.store import Store


def recipe_of(space: Space | Store, name: str | None = None) -> Recipe:
    """Return the recipe of this name; None: the model's own, the paper's where a store alone is given.

    Raises
    ------
    InputError
        When there is no such recipe.
    """
    profile = PROFILES.get(space.shown) if isinstance(space, Space) else None
    return recipes.recipe(name or (recipes.HESSEL2021.name if profile is None else profile.recipe))
