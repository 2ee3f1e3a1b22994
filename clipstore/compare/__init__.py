"""The verb ``compare``: many systems side by side, with intervals, paired tests and one correction.

measured systems -> parts (sets, slices) -> statistics -> leaderboard, grid, groups of columns -> text, JSON, files
"""

from clipstore.compare.results import Comparison as Comparison
from clipstore.compare.style import Style as Style
from clipstore.compare.verb import compare as compare
