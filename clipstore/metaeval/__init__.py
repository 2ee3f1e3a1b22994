"""The verb ``metaeval``: whether a metric agrees with people.

files of a benchmark -> reader -> ratings | pairs -> scores of every metric -> agreement -> table, JSON

Everything rests on two protocols: *ratings* (image, caption, references, a number by each judge)
and *pairs* (image, two captions, references, which one people chose).
"""

from clipstore.metaeval.protocols import Pairs as Pairs
from clipstore.metaeval.protocols import Ratings as Ratings
from clipstore.metaeval.readers import BENCHMARKS as BENCHMARKS
from clipstore.metaeval.results import MetaEvaluation as MetaEvaluation
from clipstore.metaeval.tau import kendall as kendall
from clipstore.metaeval.verb import metaeval as metaeval
