"""Which column is what: the user's word, else names that captioning people use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, final

from clipstore.errors import BadFormat, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clipstore.formats.values import Hints
    from clipstore.items import ScoreKind

IMAGES = (
    "image_id", "cocoid", "img_id", "image", "file_name", "filename", "image_name", "image_path", "img_path",
    "image_file", "image_file_name", "img_name", "img", "imgid", "file_path", "filepath", "path", "key",
    "__key__", "id", "url",
)  # fmt: skip
"""Names of columns that hold image ids, the surest first."""
CAPTIONS = (
    "caption", "captions", "prediction", "predictions", "pred", "generated_caption", "generated_text",
    "annotations_captions", "sentences", "sentence", "references", "refs", "raw", "text", "texts", "comment",
    "description", "output", "answer", "candidates", "beams", "hypotheses", "sequences", "prompt",
)  # fmt: skip
"""Names of columns that hold captions, the surest first."""
FILES = ("file_name", "filename", "image_file_name", "image_path", "file_path", "img_path")
SCORES: dict[str, ScoreKind] = {
    "logprob": "unknown", "logprobs": "unknown", "log_prob": "unknown", "logp": "unknown", "score": "unknown",
    "scores": "unknown", "sequences_scores": "unknown", "sequence_score": "unknown", "cumulative_logprob": "sum",
    "sum_logprob": "sum", "mean_logprob": "mean", "avg_logprob": "mean",
}  # fmt: skip
"""Score columns and what the number is; ``sequences_scores`` depends on version and length penalty: unknown."""
EXTRA = ("rank", "score_kind", "cocoid", "imgid", "split", "domain", "system")
"""Other columns that are read where they are there."""


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """Which column is what; None: there is none."""

    image: str
    caption: str
    score: str | None = None
    file: str | None = None


def choose(names: Sequence[str], hints: Hints, source: str) -> Chosen:
    """Choose the columns among ``names``, the user's word first.

    Raises
    ------
    InputError
        When a column that the user named is not there.
    BadFormat
        When no column looks like image ids, or none like captions.
    """
    image = _named(names, hints.image_col, "--image-col", source) or guess(names, IMAGES)
    caption = _named(names, hints.caption_col, "--caption-col", source) or guess(names, CAPTIONS)
    score = _named(names, hints.score_col, "--score-col", source) or guess(names, tuple(SCORES))
    for found, what, flag in ((image, "image ids", "--image-col"), (caption, "captions", "--caption-col")):
        if found is None:
            msg = f"{source}: no column holds {what} (columns: {', '.join(map(str, names))}); name it with {flag}"
            raise BadFormat(msg)
    file = guess([name for name in names if name != image], FILES)
    return Chosen(cast("str", image), cast("str", caption), score, file)


def has_columns(names: Iterable[str], hints: Hints) -> bool:
    """Return whether ``names`` hold an image column and a caption column, by the user's word or by name."""
    names = list(names)
    image = hints.image_col in names if hints.image_col else guess(names, IMAGES) is not None
    caption = hints.caption_col in names if hints.caption_col else guess(names, CAPTIONS) is not None
    return image and caption


def _named(names: Sequence[str], wanted: str | None, flag: str, source: str) -> str | None:
    if wanted is None or wanted in names:
        return wanted
    msg = f"{source}: {flag} {wanted}: no such column (columns: {', '.join(map(str, names))})"
    raise InputError(msg)


def guess(names: Iterable[str], known: Sequence[str]) -> str | None:
    """Return the first of the known names that is there, whatever its case."""
    lowered = {str(name).strip().casefold(): name for name in names}
    return next((lowered[name] for name in known if name in lowered), None)
