"""A system's captions, one for each image of the eval set, with what is missing counted."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Literal, final

from clipstore import formats
from clipstore.errors import InputError, Unpaired
from clipstore.evalset.evalset import MissingRule, listed
from clipstore.items import Candidate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from clipstore.evalset.evalset import EvalSet
    from clipstore.formats import Captions, Hints, MatchedKeys
    from clipstore.items import ItemKey

EmptyRule = Literal["error", "zero"]


@final
@dataclass(frozen=True, slots=True)
class System:
    """One captioner's captions, in the order of an eval set.

    Parameters
    ----------
    name
        What tables call it.
    texts
        One caption an item, as it came; None where the system has none.
    digest
        sha256, 64 hex digits, over (image id, caption) in the order of the ids.
    described
        The line that says what was recognised and how ids matched.
    warnings
        What a user should know about these captions.
    """

    name: str
    texts: tuple[str | None, ...]
    digest: str
    described: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many items have a caption."""
        return sum(text is not None for text in self.texts)


def captions_digest(rows: Iterable[tuple[ItemKey, Candidate]]) -> str:
    """Return the sha256 of a system's captions, 64 hex digits: equal for equal captions, whatever their order."""
    lines = sorted(
        json.dumps([str(key), one.rank, one.caption, *([] if one.score is None else [one.score, one.score_kind])])
        for key, one in rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def one_each(
    name: str, keys: Sequence[ItemKey], texts: Sequence[str | None], described: str = "", warnings: tuple[str, ...] = ()
) -> System:
    """Return a system that has at most one caption an item, its digest computed."""
    rows = ((key, Candidate(text)) for key, text in zip(keys, texts, strict=True) if text is not None)
    return System(name, tuple(texts), captions_digest(rows), described, warnings)


def systems_of(
    named: Mapping[str, Captions],
    evalset: EvalSet,
    *,
    missing: MissingRule = "error",
    empty: EmptyRule = "error",
    hints: Hints | None = None,
) -> list[System]:
    """Meet each system's captions with the items of a (closed) eval set.

    Raises
    ------
    Unpaired
        When captions and images do not cover each other and ``missing`` is ``error``; the
        message counts both sides and shows the first five ids of each.
    InputError
        When a system has several captions for an image, or empty ones and ``empty`` is ``error``.
    """
    return [_system(name, captions, evalset, missing, empty, hints) for name, captions in named.items()]


def _system(
    name: str, captions: Captions, evalset: EvalSet, missing: MissingRule, empty: EmptyRule, hints: Hints | None
) -> System:
    if captions.is_nbest:
        msg = (
            f"{captions.source}: {len(captions.ids):,} captions for {len(set(captions.ids)):,} images: an n-best file. "
            f"Score the first of each image (--take first), or choose with clipstore rerank {quote(captions.source)}"
        )
        raise InputError(msg)
    met = meet(captions, evalset, hints)
    texts: list[str | None] = [None] * len(evalset.items)
    for row, text in zip(met.rows, captions.texts, strict=True):
        if row >= 0:
            texts[row] = text
    left_out = check_missing(captions.source, met.strangers, set(met.rows), evalset, missing)
    check_empty(captions.source, texts, evalset, empty)
    described = describe(captions, met, evalset)
    return one_each(name, evalset.keys, texts, described, (*captions.notes, *met.matched.warnings, *left_out))


def describe(captions: Captions, met: Met, evalset: EvalSet) -> str:
    """Return the line that says what was recognised and how ids met images."""
    kind = evalset.how.get(captions.source, met.matched.kind)
    return formats.describe(captions, replace(met.matched, kind=kind))


@final
@dataclass(frozen=True, slots=True)
class Met:
    """How a file's captions meet an eval set.

    Parameters
    ----------
    rows
        The item of each caption, in file order; -1 where it has none.
    strangers
        Ids that are no image of the set, each once.
    matched
        How ids met.
    """

    rows: list[int]
    strangers: list[ItemKey]
    matched: MatchedKeys


def meet(captions: Captions, evalset: EvalSet, hints: Hints | None = None) -> Met:
    """Return the item of each caption.

    Raises
    ------
    InputError
        When no id at all is an image of the set.
    """
    distinct = captions.distinct_ids()
    matched = evalset.rows_of(distinct, captions.source, hints, missing="skip")
    number = {key: row for row, key in enumerate(evalset.keys)}
    place = {id_: None if key is None else number[key] for id_, key in zip(distinct, matched.keys, strict=True)}
    strangers = matched.unmatched
    rows = [-1 if (row := place[key]) is None else row for key in captions.ids]
    return Met(rows, strangers, matched)


def check_missing(
    source: str, strangers: Sequence[ItemKey], covered: Collection[int], evalset: EvalSet, missing: MissingRule
) -> tuple[str, ...]:
    """Refuse captions and images that do not cover each other, unless ``missing`` is ``skip``.

    Parameters
    ----------
    source
        What messages call the captions.
    strangers
        Ids of captions that are no image of the set.
    covered
        Rows of the items that have a caption.
    evalset, missing
        The set, and the rule.

    Returns
    -------
    tuple
        What is left out, a line each.

    Raises
    ------
    Unpaired
        With both counts and the first five ids of each.
    """
    without = [key for row, key in enumerate(evalset.keys) if row not in covered]
    parts = []
    if strangers:
        have = "captions have" if len(strangers) > 1 else "caption has"
        parts.append(f"{len(strangers):,} {have} no image in the eval set (first: {listed(strangers)})")
    if without:
        have = "have" if len(without) > 1 else "has"
        parts.append(f"{len(without):,} of {len(evalset.items):,} images {have} no caption (first: {listed(without)})")
    if parts and missing != "skip":
        msg = f"{source}: {'; '.join(parts)}. Complete it, or score what both have with --missing skip"
        raise Unpaired(msg)
    return tuple(f"left out: {part}" for part in parts)


def check_empty(source: str, texts: Sequence[str | None], evalset: EvalSet, empty: EmptyRule) -> None:
    """Refuse captions of nothing but white space, unless ``empty`` is ``zero``.

    Raises
    ------
    InputError
        With their count and first ids.
    """
    blank = [key for key, text in zip(evalset.keys, texts, strict=True) if text is not None and not text.strip()]
    if blank and empty == "error":
        are = "captions are" if len(blank) > 1 else "caption is"
        msg = (
            f"{source}: {len(blank):,} {are} empty (ids: {listed(blank)}). "
            "Fill them, or let each score 0 with --empty zero"
        )
        raise InputError(msg)
