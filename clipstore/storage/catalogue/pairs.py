"""Pair scores: numbers of scorers that look at a context and a text together, and so have no vector."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clipstore.storage.catalogue.statements import BATCH, Tx, batches, first, next_id, rows, run, run_many

if TYPE_CHECKING:
    from clipstore.arrays import Ids, Scores

_ADD = (
    "INSERT INTO pair_scores (scorer_id, context_id, text_id, score) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (scorer_id, context_id, text_id) DO NOTHING"
)


def get(tx: Tx, scorer: str, contexts: Ids, texts: Ids) -> Scores:
    """Return the stored score of each pair, NaN where there is none.

    Parameters
    ----------
    tx
        A transaction.
    scorer
        Fingerprint of the scorer.
    contexts, texts
        Ids, int64 of shape (rows,) each; pair by pair, repeats allowed.

    Returns
    -------
    Scores
        float32 of shape (rows,).
    """
    number = first(tx, "SELECT id FROM scorers WHERE fingerprint = ?", scorer)
    if number is None:
        return np.full(len(contexts), np.nan, dtype=np.float32)
    pairs = list(zip(contexts.tolist(), texts.tolist(), strict=True))
    found: dict[tuple[int, int], float] = {}
    for batch in batches(dict.fromkeys(pairs), BATCH // 2):
        marks = ",".join(["(?,?)"] * len(batch))
        query = (
            "SELECT context_id, text_id, score FROM pair_scores "  # noqa: S608
            f"WHERE scorer_id = ? AND (context_id, text_id) IN (VALUES {marks})"
        )
        values = [value for pair in batch for value in pair]
        found.update({(context, text): score for context, text, score in rows(tx, query, number[0], *values)})
    return np.array([found.get(pair, np.nan) for pair in pairs], dtype=np.float32)


def add(tx: Tx, scorer: str, contexts: Ids, texts: Ids, scores: Scores) -> None:
    """Store the score of each pair; those that are there stay, and a NaN is not stored."""
    number = first(tx, "SELECT id FROM scorers WHERE fingerprint = ?", scorer)
    key = next_id(tx, "scorers") if number is None else number[0]
    if number is None:
        run(tx, "INSERT INTO scorers (id, fingerprint) VALUES (?, ?)", key, scorer)
    triples = zip(contexts.tolist(), texts.tolist(), scores.tolist(), strict=True)
    run_many(tx, _ADD, sorted((key, context, text, score) for context, text, score in triples if not math.isnan(score)))
