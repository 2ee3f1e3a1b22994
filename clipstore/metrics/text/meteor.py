"""METEOR 1.5: alignments by Java, once a caption; scores of an image and of a corpus from its statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clipstore.metrics.text import java

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.metrics.text.bleu import Values

STATISTICS = 23
"""What Meteor prints for a segment: lengths and function words of both sides, four counts for each of the four
matchers (exact, stem, synonym, paraphrase: content and function words of both sides), chunks, matched words."""

# Meteor 1.5's defaults for English, "rank" task: Denkowski and Lavie 2014, table 3.
_ALPHA, _BETA, _GAMMA, _DELTA = 0.85, 0.2, 0.6, 0.75
_MATCHERS = np.array([1.0, 0.6, 0.8, 0.6])
_BAR = "|||"


def statistics(segments: Sequence[tuple[str, Sequence[str]]]) -> Values:
    """Return the statistics of each caption against its references; one run of Java for all of them.

    Parameters
    ----------
    segments
        Tokens of a caption, and of each of its references (one or more).

    Returns
    -------
    Values
        float64, shape (segments, 23).

    Raises
    ------
    InputError
        When pycocoevalcap is not installed.
    JavaFault
        When Java is missing, fails, or gives back another number of lines.
    """
    folder = java.package() / "meteor"
    from pycocoevalcap.meteor.meteor import METEOR_JAR

    if not segments:
        return np.empty((0, STATISTICS))
    lines = [
        f" {_BAR} ".join(["SCORE", *(_safe(reference) for reference in references), _safe(caption)])
        for caption, references in segments
    ]
    command = ["-Xmx2G", "-jar", METEOR_JAR, "-", "-", "-stdio", "-l", "en", "-norm"]
    made = [line.split() for line in java.run(command, folder, lines)]
    if len(made) != len(segments) or any(len(row) != STATISTICS for row in made):
        msg = f"METEOR's Java gave {len(made):,} lines for {len(segments):,} captions; nothing is scored by it"
        raise java.JavaFault(msg)
    return _unscattered(np.array(made, np.float64))


def _unscattered(rows: Values) -> Values:
    """Count no chunk where a caption matches its reference whole: Meteor neither penalises it nor sums its chunk."""
    whole = (rows[:, 21] == rows[:, 0]) & (rows[:, 22] == rows[:, 1]) & (rows[:, 20] == 1)
    rows[whole, 20] = 0
    return rows


def _safe(tokens: str) -> str:
    """Leave out the mark between fields, as pycocoevalcap does."""
    return tokens.replace(_BAR, "").replace("  ", " ")


def meteor_value(sums: Values) -> Values:
    """Return METEOR of summed statistics: Denkowski and Lavie 2014, section 2, as Meteor 1.5 computes it.

    Weighted harmonic mean of precision and recall, less a penalty for scattered chunks.

    Parameters
    ----------
    sums
        float64, shape (..., 23): statistics of one image, or their sums over images.

    Returns
    -------
    Values
        float64, shape (...).
    """
    length, target, length_function, target_function = (sums[..., i] for i in range(4))
    counts = sums[..., 4:20].reshape(*sums.shape[:-1], 4, 4)
    chunks, matched, matched_target = (sums[..., i] for i in range(20, 23))
    content, function = _MATCHERS * _DELTA, _MATCHERS * (1 - _DELTA)
    hits = counts[..., 0] @ content + counts[..., 2] @ function
    hits_target = counts[..., 1] @ content + counts[..., 3] @ function
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = hits / (_DELTA * (length - length_function) + (1 - _DELTA) * length_function)
        recall = hits_target / (_DELTA * (target - target_function) + (1 - _DELTA) * target_function)
        mean = 1 / ((1 - _ALPHA) / precision + _ALPHA / recall)
        scattered = chunks / ((matched + matched_target) / 2)
        score = mean * (1 - _GAMMA * scattered**_BETA)
    return np.asarray(np.where((hits == 0) | (hits_target == 0), 0.0, score))
