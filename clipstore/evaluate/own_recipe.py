"""The recipe of a model: a published scorer has its own, SigLIP is a cosine, others are CLIP-S."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.encoders.profiles import PROFILES, SIGLIP
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
    return recipes.recipe(name or own_name(space.shown if isinstance(space, Space) else ""))


def own_name(shown: str) -> str:
    """Return the name of the recipe by which a model of this name is scored unless asked otherwise."""
    if shown in PROFILES:
        return PROFILES[shown].recipe
    return recipes.RAW.name if SIGLIP in shown else recipes.HESSEL2021.name
