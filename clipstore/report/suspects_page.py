"""Captions that somebody should look at, with the reason; suspects only: CLIP-S is weak on details."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.report.report import RANKED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clipstore.report.report import Report

LISTED: Final = 100
"""How many of a reason are listed; their number is said."""

_OTHERS: Final = 3  # other systems on an image that a z needs
_Z: Final = -2.0
_SMALLEST_SPREAD: Final = 0.02  # of the other systems' scores: less is no yardstick
_OWN: Final = 10  # the own image is expected among so many
_HIGH, _LOW = 0.9, 0.1
_SHARED: Final = 3  # images with one caption

Found = tuple[float, int, int, str]
"""(order, system, image, what was found)."""


@lru_cache(maxsize=2)
def view(report: Report) -> dict[str, Any]:
    """Return the values of the page: each reason with its captions, the clearest first, or why nobody looked."""
    reasons = [
        ("low", "Far below the other systems on the same image (z of -2 or less)", _far_below(report)),
        ("own", f"The caption does not find its own image among the first {_OWN} of the set", _lost(report)),
        ("reference", "Close to the image, far from every reference", _against_references(report)),
        ("shared", f"The same caption on {_SHARED} images or more", _shared(report)),
        ("repeated", "Words repeat", _repeated(report)),
    ]
    missing = _missing(report)
    shown = []
    for name, title, found in reasons:
        held = sorted(found) if name not in missing else []
        count = len(held) if name not in missing else None
        rows = [_row(report, one) for one in held[:LISTED]]
        shown.append({"name": name, "title": title, "count": count, "missing": missing.get(name, ""), "rows": rows})
    return {"reasons": shown, "listed": LISTED, "metric": report.shown}


def _missing(report: Report) -> dict[str, str]:
    """Return reason -> why nobody looked for it here."""
    out = {}
    if len(report.names) <= _OTHERS:
        out["low"] = f"it takes {_OTHERS + 1} systems"
    if len(report) <= _OWN:
        out["own"] = f"the set has no more than {_OWN} images"
    elif report.own_ranks is None:
        large = f"done for sets of {RANKED:,} images at most; compare -m median-rank does it for larger ones"
        out["own"] = "it takes CLIP-S" if report.image_similarity is None else large
        if report.image_similarity is not None and len(report) <= RANKED:
            out["own"] = "some captions or their vectors are not at hand"
    if report.image_similarity is None or report.reference_similarity is None:
        out["reference"] = "it takes CLIP-S and RefCLIP-S"
    if not any(one.texts for one in report.measured.systems):
        out["shared"] = out["repeated"] = "captions are not at hand"
    return out


def _row(report: Report, one: Found) -> dict[str, Any]:
    _, system, row, reason = one
    return {
        "row": row,
        "slug": report.slugs[row],
        "system": report.names[system],
        "caption": report.caption(system, row) or "",
        "score": report.value(report.scores[system, row]),
        "reason": reason,
    }


def _far_below(report: Report) -> Iterator[Found]:
    """Yield captions whose score lies two deviations below that of the other systems on the image."""
    values = report.better
    for system in range(len(values)):
        others = np.delete(values, system, axis=0)
        usable = (~np.isnan(others)).sum(axis=0) >= _OTHERS
        usable &= ~np.isnan(values[system])
        columns = np.flatnonzero(usable)
        mean, spread = np.nanmean(others[:, columns], axis=0), np.nanstd(others[:, columns], axis=0, ddof=1)
        z = (values[system, columns] - mean) / np.maximum(spread, _SMALLEST_SPREAD)
        for place in np.flatnonzero(z <= _Z).tolist():
            yield float(z[place]), system, int(columns[place]), f"z = {z[place]:.1f}"


def _lost(report: Report) -> Iterator[Found]:
    ranks = report.own_ranks
    if ranks is None or len(report) <= _OWN:
        return
    for system, row in np.argwhere(np.nan_to_num(ranks, nan=0.0) > _OWN).tolist():
        rank = int(ranks[system, row])
        yield -float(rank), system, row, f"its own image is number {rank:,} of {len(report):,}"


def _against_references(report: Report) -> Iterator[Found]:
    image, references = report.image_similarity, report.reference_similarity
    if image is None or references is None:
        return
    for system in range(len(image)):
        held = ~np.isnan(image[system]) & ~np.isnan(references[system])
        if held.sum() < 20:
            continue
        high, low = np.quantile(image[system][held], _HIGH), np.quantile(references[system][held], _LOW)
        for row in np.flatnonzero(held & (image[system] >= high) & (references[system] <= low)).tolist():
            near, far = image[system, row], references[system, row]
            yield float(far - near), system, row, f"cosine to the image {near:.3f}, to the closest reference {far:.3f}"


def _shared(report: Report) -> Iterator[Found]:
    for system, one in enumerate(report.measured.systems):
        counts = Counter(text for text in one.texts if text is not None)
        seen = set[str]()
        for row, text in enumerate(one.texts):
            if text is not None and counts[text] >= _SHARED and text not in seen:
                seen.add(text)
                yield -float(counts[text]), system, row, f"on {counts[text]:,} images"


def _repeated(report: Report) -> Iterator[Found]:
    for system, one in enumerate(report.measured.systems):
        for row, text in enumerate(one.texts):
            if text is not None and (found := repeats(text)):
                yield -float(found[1]), system, row, f"{found[0]!r} {found[1]} times"


def repeats(text: str) -> tuple[str, int] | None:
    """Return words that a caption repeats: one word three times in a row, or three words twice; None if none."""
    words = text.casefold().split()
    best: tuple[str, int] | None = None
    for size, least in ((3, 2), (2, 3)):
        counts = Counter(" ".join(words[at : at + size]) for at in range(len(words) - size + 1))
        for phrase, count in counts.items():
            if count >= least and (best is None or count > best[1]):
                best = (phrase, count)
    for at in range(len(words) - 2):
        if words[at] == words[at + 1] == words[at + 2] and best is None:
            best = (words[at], 3)
    return best
