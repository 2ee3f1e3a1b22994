"""Intervals and paired tests on per-item numbers; NumPy only. It knows no metric and no store.

scores of every system -> one set of resamples and signs -> estimates, pair tests -> one correction

The unit is the item (the image). The tests cover the sampling of images, not of
training seeds.
"""

from clipstore.significance.analysis import against as against
from clipstore.significance.analysis import all_pairs as all_pairs
from clipstore.significance.analysis import analyse as analyse
from clipstore.significance.corpus import Value as Value
from clipstore.significance.corpus import analyse_corpus as analyse_corpus
from clipstore.significance.correction import adjust as adjust
from clipstore.significance.correction import corrected as corrected
from clipstore.significance.groups import best as best
from clipstore.significance.groups import groups as groups
from clipstore.significance.groups import ranking as ranking
from clipstore.significance.median import median_interval as median_interval
from clipstore.significance.results import Estimate as Estimate
from clipstore.significance.results import Interval as Interval
from clipstore.significance.results import PairTest as PairTest
from clipstore.significance.results import Statistics as Statistics
from clipstore.significance.settings import EPSILON_FP16 as EPSILON_FP16
from clipstore.significance.settings import EPSILON_FP32 as EPSILON_FP32
from clipstore.significance.settings import Settings as Settings
