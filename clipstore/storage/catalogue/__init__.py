"""The catalogue: every row that the store keeps, and all of its SQL.

:class:`Catalogue` opens it and hands out transactions; one module a noun reads and writes.
"""

from clipstore.storage.catalogue.catalogue import Catalogue as Catalogue
from clipstore.storage.catalogue.statements import Tx as Tx

__all__ = ["Catalogue", "Tx"]
