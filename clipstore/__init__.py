"""clipstore: CLIPScore from a store.

image, caption -> id -> encoder -> segment (vectors) + catalogue (rows) -> gather ->
score | rerank | compare -> table, report

Encode each image and each caption once; from then on scoring is a cached look-up.
This module is the one door: what is not named here is private.
"""

from clipstore import errors as errors
from clipstore.compare import Comparison as Comparison
from clipstore.compare import compare as compare
from clipstore.compat import CLIPScore as CLIPScore
from clipstore.evalset import EvalSet as EvalSet
from clipstore.evaluate import Scores as Scores
from clipstore.evaluate import SystemScore as SystemScore
from clipstore.evaluate import score as score
from clipstore.evaluate.measuring import measure as measure
from clipstore.formats import Hints as Hints
from clipstore.metrics.score import Score as Score
from clipstore.metrics.score import Signature as Signature
from clipstore.rerank import Reranked as Reranked
from clipstore.rerank import Reranker as Reranker
from clipstore.rerank import RewardScorer as RewardScorer
from clipstore.rerank import rerank as rerank
from clipstore.search import search as search
from clipstore.store import Space as Space
from clipstore.store import Store as Store

__all__ = [
    "CLIPScore",
    "Comparison",
    "EvalSet",
    "Hints",
    "Reranked",
    "Reranker",
    "RewardScorer",
    "Score",
    "Scores",
    "Signature",
    "Space",
    "Store",
    "SystemScore",
    "compare",
    "errors",
    "measure",
    "rerank",
    "score",
    "search",
]
