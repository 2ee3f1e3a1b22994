"""The verbs ``search`` and ``retrieve``: nearest captions and images out of a pool.

query -> vector -> nearest of each segment, joined -> hits
"""

from clipstore.search.pools import ImagePool as ImagePool
from clipstore.search.pools import TextPool as TextPool
from clipstore.search.retrieve import Match as Match
from clipstore.search.retrieve import Retrieved as Retrieved
from clipstore.search.retrieve import retrieve as retrieve
from clipstore.search.verb import Approximate as Approximate
from clipstore.search.verb import Found as Found
from clipstore.search.verb import Hit as Hit
from clipstore.search.verb import search as search
