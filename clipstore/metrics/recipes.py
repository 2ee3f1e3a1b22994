"""Recipes: how a number is made. One column of a table never mixes two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from clipstore.errors import InputError
from clipstore.metrics.clip_s import WEIGHT
from clipstore.metrics.ref_clip_s import ref_clip_s

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clipstore.arrays import Scores

# PAC-S(c, v) = w * max(cos(c, v), 0), w = 2: Sarto et al. 2023 (arXiv 2303.12112); pacscore's code.
PAC_WEIGHT: Final = 2.0
# 100 * max(cos, 0): torchmetrics.functional.multimodal.clip_score.
PERCENT: Final = 100.0


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
    shown
        What tables call the score, and the one with references.
    references
        ``harmonic``: the mean of image term and best reference; ``best``: the best reference's
        cosine alone; ``none``: no score with references.
    tokenised
        Whether texts are first cut into PTB tokens, lower-cased, without punctuation.
    """

    name: str
    prefix: str
    weight: float
    clamp: bool
    source: str
    shown: tuple[str, str] = ("CLIP-S", "RefCLIP-S")
    references: Literal["harmonic", "best", "none"] = "harmonic"
    tokenised: bool = False


HESSEL2021: Final = Recipe(
    name="hessel2021",
    prefix="A photo depicts ",
    weight=WEIGHT,
    clamp=True,
    source="Hessel et al. 2021, arXiv 2104.08718; jmhessel/clipscore",
)
COCO_PTB: Final = Recipe(
    name="coco-ptb",
    prefix="A photo depicts ",
    weight=WEIGHT,
    clamp=True,
    source="CLIPScore in the forks of pycocoevalcap, which see PTB tokens",
    tokenised=True,
)
TORCHMETRICS: Final = Recipe(
    name="torchmetrics",
    prefix="",
    weight=PERCENT,
    clamp=True,
    source="torchmetrics clip_score; clamped item by item, where it clamps the mean",
    references="none",
)
PAC_S: Final = Recipe(
    name="pac-s",
    prefix="A photo depicts ",
    weight=PAC_WEIGHT,
    clamp=True,
    source="Sarto et al. 2023, arXiv 2303.12112; aimagelab/pacscore",
    shown=("PAC-S", "RefPAC-S"),
)
RAW: Final = Recipe(
    name="raw",
    prefix="",
    weight=1.0,
    clamp=False,
    source="the cosine itself",
    shown=("cos", "max ref cos"),
    references="best",
)

RECIPES: Final = {recipe.name: recipe for recipe in (HESSEL2021, COCO_PTB, TORCHMETRICS, PAC_S, RAW)}


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


def spoken(made: Recipe, texts: Iterable[str]) -> dict[str, str]:
    """Return what a recipe encodes for each text, its prefix apart: the text itself, or its PTB tokens.

    One run of Java for all of them, where they are to be tokenised. A text of which no token
    is left stays as it is: an empty string would be another caption.

    Raises
    ------
    JavaFault
        When Java is missing or fails.
    InputError
        When pycocoevalcap is not installed.
    """
    distinct = list(dict.fromkeys(texts))
    if not made.tokenised or not distinct:
        return {text: text for text in distinct}
    from clipstore.metrics.text import tokenise  # pycocoevalcap: an extra

    return {text: tokens or text for text, tokens in tokenise(distinct).items()}


def reference_score(made: Recipe, image_term: Scores, best: Scores) -> Scores:
    """Return the score with references of each pair, as the recipe joins its two terms.

    Parameters
    ----------
    made
        The recipe; one without references has no such score.
    image_term
        Its weighted cosine with the image, float32, shape (rows,).
    best
        Largest cosine to a reference, float32, shape (rows,); NaN without references.
    """
    if made.references == "best":
        return best
    return ref_clip_s(image_term, best)
