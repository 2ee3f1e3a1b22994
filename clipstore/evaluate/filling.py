"""Encoding what an eval set and some captions need and the store lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.evaluate.results import Work
from clipstore.metrics.recipes import spoken
from clipstore.store.identify import Identified, identify
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.evalset import EvalSet
    from clipstore.metrics.recipes import Recipe
    from clipstore.store import Ensured, Progress, Space


@final
@dataclass(frozen=True, slots=True)
class Filled:
    """What stands in the store after :func:`fill`.

    Parameters
    ----------
    image_ids
        Of each item of the set; None where there is no image, or it can't be read.
    ready
        The same, but None also where the image was not wanted or could not be encoded.
    captions, references
        The distinct texts, in the order of ``work.captions.keys`` and ``work.references.keys``.
    work
        What was cached and what was encoded.
    """

    image_ids: list[int | None]
    ready: list[int | None]
    captions: list[str]
    references: list[str]
    work: Work


def fill(
    space: Space,
    evalset: EvalSet,
    captions: Iterable[str],
    recipe: Recipe,
    wanted: Sequence[bool] | None = None,
    *,
    encode: bool = True,
    progress: Progress = silent,
) -> Filled:
    """Encode the images, references and captions that the store lacks.

    Parameters
    ----------
    space
        The vectors of one encoder.
    evalset
        A closed eval set.
    captions
        Texts of systems; repeats are encoded once.
    recipe
        Gives the prefix.
    wanted
        Which images are needed; None: all.
    encode
        False refuses to encode.
    progress
        Told about the stages.

    Raises
    ------
    NotStored
        When something is missing and ``encode`` is False.
    """
    image_ids, ready, images = _images(space, evalset, wanted, encode=encode, progress=progress)
    references = list(dict.fromkeys(text for item in evalset.items for text in item.references))
    written = list(captions)
    distinct = list(dict.fromkeys(written))
    said = spoken(recipe, [*references, *distinct])

    def done(texts: list[str]) -> Ensured:
        return space.ensure_texts([said[text] for text in texts], recipe.prefix, encode=encode, progress=progress)

    done_references, done_captions = done(references), done(distinct)
    return Filled(image_ids, ready, distinct, references, Work(images, done_references, done_captions, len(written)))


def _images(
    space: Space, evalset: EvalSet, wanted: Sequence[bool] | None, *, encode: bool, progress: Progress
) -> tuple[list[int | None], list[int | None], Ensured]:
    """Identify every image, encode those wanted; return the ids, and the ids that have a vector."""
    rows = [row for row in range(len(evalset.items)) if wanted is None or wanted[row]]
    pictures = [item.image for item in evalset.items]
    if any(picture is not None for picture in pictures):
        present = [(row, picture) for row, picture in enumerate(pictures) if picture is not None]
        found = identify(space.catalogue, [picture for _, picture in present], progress)
        ids = dict(zip([row for row, _ in present], found.ids, strict=True))
        chosen = [row for row in rows if row in ids]
        images = [picture for row in chosen if (picture := pictures[row]) is not None]
        names = {image.name for image in images}
        failures = tuple(failure for failure in found.failures if failure.name in names)
        identified = Identified(tuple(ids[row] for row in chosen), failures)
        ensured = space.ensure_images(images, encode=encode, progress=progress, identified=identified)
    else:
        ids = {row: item.image_id for row, item in enumerate(evalset.items)}
        chosen = [row for row in rows if ids[row] is not None]
        known = [id_ for row in chosen if (id_ := ids[row]) is not None]
        ensured = space.ensure_known_images(known, encode=encode, progress=progress)
    ready = dict(zip(chosen, ensured.ids, strict=True))
    count = range(len(evalset.items))
    return [ids.get(row) for row in count], [ready.get(row) for row in count], ensured
