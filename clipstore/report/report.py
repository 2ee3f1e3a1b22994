"""A report: a comparison with all that its pages need beside the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import numpy.typing as npt

from clipstore.metrics import recipes

if TYPE_CHECKING:
    from clipstore.compare import Comparison
    from clipstore.compare.board import Board
    from clipstore.compare.parts import Part
    from clipstore.evaluate.measured import Measured
    from clipstore.evaluate.measures import Measure
    from clipstore.metrics.recipes import Recipe
    from clipstore.report.thumbs import Pictures

Numbers = npt.NDArray[np.float64]
RANKED: Final = 2000
"""Images up to which every caption asks for its own image."""
Closest = Callable[[int], Mapping[str, tuple[int, float]]]
"""Row of an image -> system -> number of its closest reference (1 first), and the cosine to it."""


@final
@dataclass(frozen=True, eq=False)
class Rerank:
    """A saved system that reranking made: where it comes from, and what it gained where the store knows."""

    system: str
    origin: Mapping[str, Any]
    gain: Mapping[str, Any] | None
    signature: str


@final
@dataclass(frozen=True, eq=False)
class Report:
    """What pages are made from.

    Parameters
    ----------
    comparison
        The systems on one eval set.
    pictures
        The images, by content id.
    cuts
        Tokens of each caption that did not fit the model's context; int64, shape (systems, items).
    own_ranks
        Rank of the own image when a caption asks for its image, 1 first; shape (systems, items), None unless known.
    closest
        The closest reference of each caption of an image.
    reranks
        Systems that reranking made.
    facts
        What stands on the page about: name and value.
    context
        Tokens that the model reads; None where it is not known.
    seed
        Of the random images that a report shows.
    length
        How many tokens a word is to the model; None where that is not known.
    said
        Caption -> what the recipe encoded for it, where that is another text.
    """

    comparison: Comparison
    pictures: Pictures
    cuts: npt.NDArray[np.int64]
    own_ranks: Numbers | None
    closest: Closest
    reranks: tuple[Rerank, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    context: int | None = None
    seed: int = 12345
    length: Callable[[str], int] | None = None
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def part(self) -> Part:
        """The eval set with its systems; slices stand in tables only."""
        return self.comparison.parts[0]

    @property
    def board(self) -> Board:
        """The systems in the order of the leaderboard."""
        return self.comparison.boards[0]

    @property
    def measured(self) -> Measured:
        """Systems, captions, items."""
        return self.part.measured

    @property
    def names(self) -> tuple[str, ...]:
        """The systems' names."""
        return self.measured.names

    @property
    def title(self) -> str:
        """What the eval set is called."""
        return self.measured.set_name or f"set {self.measured.set_digest[:8]}"

    def __len__(self) -> int:
        return len(self.measured.items.keys)

    @cached_property
    def measure(self) -> Measure:
        """The metric that images are sorted by: the leading one that has a number an image."""
        measures = self.measured.measures
        for name in (self.board.lead, *measures):
            if measures[name].aggregate != "value" and measures[name].per_item.shape[1] == len(self):
                return measures[name]
        return measures[self.board.lead]

    @property
    def shown(self) -> str:
        """What that metric is called."""
        return self.measure.shown

    @cached_property
    def scores(self) -> Numbers:
        """That metric of every caption: float64, shape (systems, items), NaN where there is none."""
        return self.measure.per_item.astype(np.float64)

    @cached_property
    def better(self) -> Numbers:
        """The same, signed so that larger is better."""
        return self.scores if self.measure.higher_is_better else -self.scores

    @cached_property
    def image_similarity(self) -> Numbers | None:
        """Cosine of image and caption behind CLIP-S, 0 for a negative one if the recipe clamps; None without CLIP-S."""
        measure = self.measured.measures.get("clip-s")
        return None if measure is None else measure.per_item.astype(np.float64) / self._recipe.weight

    @property
    def _recipe(self) -> Recipe:
        return recipes.recipe(self.measured.recipe)

    @cached_property
    def reference_similarity(self) -> Numbers | None:
        """Cosine of caption and closest reference behind RefCLIP-S; NaN where it can't be told, None without it."""
        measures = self.measured.measures
        if "ref-clip-s" not in measures or "clip-s" not in measures:
            return None
        clip = measures["clip-s"].per_item.astype(np.float64)
        both = measures["ref-clip-s"].per_item.astype(np.float64)
        if self._recipe.references == "best":
            return both
        with np.errstate(divide="ignore", invalid="ignore"):
            found = both * clip / (2 * clip - both)
        found[clip <= 0] = np.nan
        return found

    @cached_property
    def slugs(self) -> tuple[str, ...]:
        """What an address calls each image: the user's id, with a number where two are spelled alike."""
        seen: dict[str, int] = {}
        out = []
        for key in map(str, self.measured.items.keys):
            seen[key] = seen.get(key, 0) + 1
            out.append(key if seen[key] == 1 else f"{key}~{seen[key]}")
        return tuple(out)

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Slug -> row."""
        return {slug: row for row, slug in enumerate(self.slugs)}

    @cached_property
    def lengths(self) -> Numbers:
        """Words of each caption: float64, shape (systems, items), NaN where there is none."""
        out = np.full(self.scores.shape, np.nan)
        for row, system in enumerate(self.measured.systems):
            for item, text in enumerate(system.texts):
                if text is not None:
                    out[row, item] = len(text.split())
        return out

    @cached_property
    def tokens(self) -> Numbers | None:
        """Tokens of each caption, prompt and both ends included, as :attr:`lengths`; None for an unknown tokenizer."""
        if self.length is None:
            return None
        around = sum(map(self.length, self._recipe.prefix.split())) + 2
        out = np.full(self.scores.shape, np.nan)
        for row, system in enumerate(self.measured.systems):
            for item, text in enumerate(system.texts):
                if text is not None:
                    out[row, item] = around + sum(map(self.length, self.said.get(text, text).split()))
        return out

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What a filter looks through, an image each: id, references, captions, in one case."""
        texts = [one.texts for one in self.measured.systems if one.texts]
        return tuple(
            "\n".join([slug, *self.references(row), *(own[row] or "" for own in texts)]).casefold()
            for row, slug in enumerate(self.slugs)
        )

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Every tag of the images, as ``name=value``, in order."""
        held = self.measured.items.tags
        return tuple(sorted({f"{name}={value}" for own in held for name, value in own.items()}))

    @cached_property
    def first_row(self) -> dict[int, int]:
        """Content id -> the first row that shows this image."""
        pairs = enumerate(self.measured.items.image_ids)
        return {id_: row for row, id_ in reversed(list(pairs)) if id_ is not None}

    def image_id(self, row: int) -> int | None:
        """Return the content id of an image; None where it has none."""
        ids = self.measured.items.image_ids
        return ids[row] if ids else None

    def references(self, row: int) -> tuple[str, ...]:
        """Return the references of an image."""
        held = self.measured.items.references
        return held[row] if held else ()

    def caption(self, system: int, row: int) -> str | None:
        """Return a system's caption of an image; None where it is not at hand."""
        texts = self.measured.systems[system].texts
        return texts[row] if texts else None

    def alt(self, row: int) -> str:
        """Return what an image is in words: its first reference, else its file or id."""
        held = self.references(row)
        if held and held[0].strip():
            return held[0].strip()
        sources = self.measured.items.sources
        return (sources[row] if sources else "") or self.slugs[row]

    def value(self, number: float) -> str:
        """Write a number of the metric as the tables do."""
        return self.comparison.style.value(None if np.isnan(number) else float(number), self.measure)

    def difference(self, number: float) -> str:
        """Write a difference of the metric with its sign."""
        return self.comparison.style.difference(None if np.isnan(number) else float(number), self.measure)
