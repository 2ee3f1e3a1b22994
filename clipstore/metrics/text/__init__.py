"""Text metrics: BLEU, METEOR, ROUGE-L, CIDEr and SPICE through pycocoevalcap, keyed by image everywhere.

references, captions -> PTB tokens (one run of Java) -> statistics and numbers of each image -> value

Needs the extra ``clipstore[text]`` and Java; both are looked for when a metric is asked for.
"""

from clipstore.metrics.text.bleu import bleu_value as bleu_value
from clipstore.metrics.text.java import JavaFault as JavaFault
from clipstore.metrics.text.meteor import meteor_value as meteor_value
from clipstore.metrics.text.ptb import tokenise as tokenise
from clipstore.metrics.text.results import CORPUS as CORPUS
from clipstore.metrics.text.results import TextScore as TextScore
from clipstore.metrics.text.results import TextScores as TextScores
from clipstore.metrics.text.scoring import USUAL as USUAL
from clipstore.metrics.text.scoring import score_texts as score_texts
