"""The store: encode what is missing, keep it, and gather vectors by id.

A :class:`Store` is a folder. A :class:`Space` is the part of it that holds one encoder's
vectors; the encoder itself is loaded only when something is missing.
"""

from clipstore.store.ensured import Ensured as Ensured
from clipstore.store.holdings import Counts as Counts
from clipstore.store.identify import Failure as Failure
from clipstore.store.identify import Identified as Identified
from clipstore.store.progress import Progress as Progress
from clipstore.store.space import Space as Space
from clipstore.store.store import DEFAULT_MODEL as DEFAULT_MODEL
from clipstore.store.store import Store as Store
