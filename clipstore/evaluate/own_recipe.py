"""The recipe of a model: a published scorer has its own, others are CLIP-S."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.encoders.profiles import PROFILES
from clipstore.metrics import recipes

if TYPE_CHECKING:
    from clipstore.metrics.recipes import Recipe
    from clipstore.store import Space


def recipe_of(space: Space, name: str | None = None) -> Recipe:
    """Return the recipe of this name; None: the model's own.

    Raises
    ------
    InputError
        When there is no such recipe.
    """
    profile = PROFILES.get(space.shown)
    return recipes.recipe(name or (recipes.HESSEL2021.name if profile is None else profile.recipe))
