from __future__ import annotations

import pytest

from clipstore.errors import InputError
from clipstore.metrics import recipes


def test_the_default_recipe_is_the_papers() -> None:
    """hessel2021: the prefix with its space, w = 2.5, clamped item by item."""
    made = recipes.recipe("hessel2021")
    assert made is recipes.HESSEL2021
    assert (made.prefix, made.weight, made.clamp) == ("A photo depicts ", 2.5, True)


def test_an_unknown_recipe_lists_those_there_are() -> None:
    """The message says which recipes exist."""
    with pytest.raises(InputError, match=r"'hessel'.*hessel2021"):
        recipes.recipe("hessel")
