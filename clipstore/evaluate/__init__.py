"""The verb ``score``: systems on an eval set, encoded where something is missing, then read from the store."""

from clipstore.evaluate.filling import Filled as Filled
from clipstore.evaluate.filling import fill as fill
from clipstore.evaluate.rankings import Rankings as Rankings
from clipstore.evaluate.results import Scores as Scores
from clipstore.evaluate.results import SystemScore as SystemScore
from clipstore.evaluate.results import Work as Work
from clipstore.evaluate.verb import score as score
from clipstore.evaluate.verb import score_systems as score_systems
