from __future__ import annotations

import numpy as np
import pytest

from clipstore.errors import InputError
from clipstore.metrics import clip_s, recipes


def test_the_default_recipe_is_the_papers() -> None:
    """hessel2021: the prefix with its space, w = 2.5, clamped item by item."""
    made = recipes.recipe("hessel2021")
    assert made is recipes.HESSEL2021
    assert (made.prefix, made.weight, made.clamp) == ("A photo depicts ", 2.5, True)


def test_an_unknown_recipe_lists_those_there_are() -> None:
    """The message says which recipes exist."""
    with pytest.raises(InputError, match=r"'hessel'.*hessel2021, coco-ptb, torchmetrics, pac-s, raw"):
        recipes.recipe("hessel")


@pytest.mark.parametrize(
    ("name", "prefix", "weight", "clamp", "references"),
    [
        ("hessel2021", "A photo depicts ", 2.5, True, "harmonic"),
        ("coco-ptb", "A photo depicts ", 2.5, True, "harmonic"),
        ("torchmetrics", "", 100, True, "none"),
        ("pac-s", "A photo depicts ", 2.0, True, "harmonic"),
        ("raw", "", 1, False, "best"),
    ],
)
def test_each_recipe_is_its_row_of_the_table(
    name: str, prefix: str, weight: float, clamp: bool, references: str
) -> None:
    """Prefix, scale, clamp and reference term of every recipe, and a source."""
    made = recipes.recipe(name)
    assert (made.prefix, made.weight, made.clamp, made.references) == (prefix, weight, clamp, references)
    assert made.tokenised is (name == "coco-ptb")
    assert made.source


def test_scores_with_references() -> None:
    """PAC-S: the harmonic mean with w = 2 inside; raw: the best reference's cosine; NaN where there is none."""
    cosines = np.array([0.3, -0.2, 0.4], np.float32)
    best = np.array([0.9, 0.5, np.nan], np.float32)
    pac = clip_s.clip_s(cosines, recipes.PAC_S.weight, clamp=recipes.PAC_S.clamp)
    np.testing.assert_allclose(pac, [0.6, 0, 0.8], rtol=1e-6)
    np.testing.assert_allclose(
        recipes.reference_score(recipes.PAC_S, pac, best), [2 * 0.6 * 0.9 / 1.5, 0, np.nan], rtol=1e-6
    )
    raw = clip_s.clip_s(cosines, recipes.RAW.weight, clamp=recipes.RAW.clamp)
    np.testing.assert_array_equal(raw, cosines)
    np.testing.assert_array_equal(recipes.reference_score(recipes.RAW, raw, best), best)


def test_only_coco_ptb_changes_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others encode what was written; coco-ptb its tokens, and the text itself where none are left."""
    assert recipes.spoken(recipes.HESSEL2021, ["A dog.", "A dog."]) == {"A dog.": "A dog."}
    monkeypatch.setattr(
        "clipstore.metrics.text.tokenise", lambda texts: {text: text.strip(".").lower() for text in texts}
    )
    assert recipes.spoken(recipes.COCO_PTB, ["A dog.", "..."]) == {"A dog.": "a dog", "...": "..."}
    assert recipes.spoken(recipes.COCO_PTB, []) == {}
