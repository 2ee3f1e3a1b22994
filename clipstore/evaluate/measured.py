"""What a comparison starts from: every system on one eval set, with its items and every column asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np

from clipstore.evaluate.measures import Measure
from clipstore.metrics.recipes import HESSEL2021
from clipstore.significance import EPSILON_FP16, EPSILON_FP32

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clipstore.evaluate.measures import Rows
    from clipstore.evaluate.results import Scores, Work
    from clipstore.items import ItemKey
    from clipstore.metrics.score import Signature
    from clipstore.store import Failure


@final
@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """What a comparison says of one system beside its metrics.

    Parameters
    ----------
    name
        What tables call it.
    captions
        Hash of its captions, 64 hex digits.
    n
        Items with a caption that could be scored.
    texts
        One caption an item, None where there is none; empty where they are not at hand.
    cut
        Captions that did not fit the model's context; None where no model read them.
    words
        Mean number of words of a caption.
    warnings
        What a user should know.
    runs
        The captions' hash of each run, where there are several.
    members
        Each run by itself, where there are several; in the order of ``runs``.
    cut_items
        The items of the captions that were cut, by place; None where only their number is known, or not even that.
    """

    name: str
    captions: str
    n: int
    texts: tuple[str | None, ...] = ()
    cut: int | None = None
    words: float | None = None
    warnings: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    members: tuple[MeasuredSystem, ...] = ()
    cut_items: tuple[int, ...] | None = None

    @property
    def duplicates(self) -> int | None:
        """How many captions repeat one that another image has; None where the captions are not at hand."""
        if not self.texts:
            return None
        written = [text for text in self.texts if text is not None]
        return len(written) - len(set(written))


@final
@dataclass(frozen=True, eq=False)
class Items:
    """What is known of the items of a set, for slices and exports; each tuple has one entry an item.

    Parameters
    ----------
    keys
        The user's own ids.
    references
        Their references; empty where they are not at hand.
    tags
        Named facts.
    sources
        Each image's file, relative to its folder, empty where it is none.
    image_ids
        Content ids, None where there is no image; empty where they are not at hand.
    """

    keys: tuple[ItemKey, ...]
    references: tuple[tuple[str, ...], ...] = ()
    tags: tuple[Mapping[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    image_ids: tuple[int | None, ...] = ()

    def picked(self, rows: Rows) -> Items:
        """Return some of the items."""
        wanted = rows.tolist()
        return Items(
            tuple(self.keys[row] for row in wanted),
            tuple(self.references[row] for row in wanted) if self.references else (),
            tuple(self.tags[row] for row in wanted) if self.tags else (),
            tuple(self.sources[row] for row in wanted) if self.sources else (),
            tuple(self.image_ids[row] for row in wanted) if self.image_ids else (),
        )


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """Systems on one eval set, with every column that was asked for.

    Parameters
    ----------
    set_name, set_digest
        The eval set.
    items
        Its items.
    of
        How many items the set has, those without image included.
    missing
        Ids of the set that some system lacks or that have no image.
    systems
        In the order given.
    measures
        By metric name, in the order asked.
    encoder
        ``model`` and ``fingerprint`` of the encoder, where one was used.
    recipe
        Name of the recipe behind metrics of images.
    failures, work
        As in :class:`clipstore.evaluate.Scores`.
    described, warnings, notes
        Lines for the user; notes belong under the table.
    """

    set_name: str | None
    set_digest: str
    items: Items
    of: int
    missing: tuple[ItemKey, ...]
    systems: tuple[MeasuredSystem, ...]
    measures: Mapping[str, Measure]
    encoder: Mapping[str, str] = field(default_factory=dict)
    recipe: str = HESSEL2021.name
    failures: tuple[Failure, ...] = ()
    work: Work | None = None
    described: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The systems' names, in order."""
        return tuple(system.name for system in self.systems)

    def picked(self, rows: Rows) -> Measured:
        """Return the same on some items only; mean words and counts follow, hashes stay."""
        systems = tuple(_picked_system(system, rows) for system in self.systems)
        measures = {name: measure.picked(rows, systems) for name, measure in self.measures.items()}
        return replace(self, items=self.items.picked(rows), systems=systems, measures=measures)

    @classmethod
    def of_scores(cls, scores: Scores) -> Measured:
        """Return what ``score`` gave, as measures."""
        systems = tuple(
            MeasuredSystem(one.name, one.captions, one.n, (), one.cut, one.words, one.warnings)
            for one in scores.systems
        )
        measures = {
            metric: Measure(
                metric,
                signature,
                np.stack([one.metrics[metric].per_item for one in scores.systems]),
                epsilon=EPSILON_FP32 if dict(signature.fields).get("dtype", "fp32") == "fp32" else EPSILON_FP16,
            )
            for metric, signature in scores.signatures.items()
            if scores.systems
        }
        keys = scores.systems[0].clip_s.keys if scores.systems else ()
        return cls(
            scores.set_name,
            scores.set_digest,
            Items(keys),
            scores.of,
            scores.missing,
            systems,
            measures,
            recipe=recipe_of(scores.signatures),
            failures=scores.failures,
            work=scores.work,
            described=scores.described,
            warnings=scores.warnings,
        )


def joined(name: str, runs: Sequence[MeasuredSystem]) -> MeasuredSystem:
    """Return several runs as one system: the least n, the mean of words, all captions that were cut."""
    if len(runs) == 1:
        return replace(runs[0], name=name)
    words = [run.words for run in runs if run.words is not None]
    cuts = [run.cut for run in runs if run.cut is not None]
    digests = tuple(run.captions for run in runs)
    return MeasuredSystem(
        name,
        hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest(),
        min(run.n for run in runs),
        cut=sum(cuts) if cuts else None,
        words=sum(words) / len(words) if words else None,
        warnings=tuple(line for run in runs for line in run.warnings),
        runs=digests,
        members=tuple(runs),
    )


def recipe_of(signatures: Mapping[str, Signature]) -> str:
    """Return the recipe that signatures name; the usual one where none does."""
    named = (dict(one.fields).get("recipe") for one in signatures.values())
    return next((name for name in named if name is not None), HESSEL2021.name)


def _picked_system(system: MeasuredSystem, rows: Rows) -> MeasuredSystem:
    if system.members:
        return joined(system.name, [_picked_system(run, rows) for run in system.members])
    if not system.texts:
        return system
    texts = tuple(system.texts[row] for row in rows.tolist())
    counts = [len(text.split()) for text in texts if text is not None]
    words = sum(counts) / len(counts) if counts else None
    place = {row: at for at, row in enumerate(rows.tolist())}
    items = None if system.cut_items is None else tuple(place[row] for row in system.cut_items if row in place)
    cut = None if items is None else len(items)
    return replace(system, texts=texts, n=len(counts), words=words, cut=cut, cut_items=items)
