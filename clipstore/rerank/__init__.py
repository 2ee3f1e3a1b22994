"""The verb ``rerank``: one caption out of several for each image, and what choosing bought.

n-best -> candidates in flat columns -> a selector's score of each -> picks -> gain, guards
"""

from clipstore.rerank.cascade import Stage as Stage
from clipstore.rerank.gain import Gain as Gain
from clipstore.rerank.guards import Guards as Guards
from clipstore.rerank.reranker import Reranker as Reranker
from clipstore.rerank.results import Pick as Pick
from clipstore.rerank.results import Reranked as Reranked
from clipstore.rerank.reward import RewardScorer as RewardScorer
from clipstore.rerank.saving import FORMATS as FORMATS
from clipstore.rerank.saving import save_as as save_as
from clipstore.rerank.saving import write as write
from clipstore.rerank.selecting import METHODS as METHODS
from clipstore.rerank.selecting import Method as Method
from clipstore.rerank.stored import saved_nbest as saved_nbest
from clipstore.rerank.tuning import Tuned as Tuned
from clipstore.rerank.verb import rerank as rerank
