"""The eval set and its systems: which images count, and which caption each system gives them."""

from clipstore.evalset.evalset import EvalSet as EvalSet
from clipstore.evalset.evalset import MissingRule as MissingRule
from clipstore.evalset.reading import leaving_out as leaving_out
from clipstore.evalset.saved import Saved as Saved
from clipstore.evalset.saved import candidates_of as candidates_of
from clipstore.evalset.saved import ids_of as ids_of
from clipstore.evalset.saved import load_systems as load_systems
from clipstore.evalset.saved import save as save
from clipstore.evalset.saved import saved_names as saved_names
from clipstore.evalset.saved import systems_in as systems_in
from clipstore.evalset.systems import EmptyRule as EmptyRule
from clipstore.evalset.systems import System as System
from clipstore.evalset.systems import describe as describe
from clipstore.evalset.systems import meet as meet
from clipstore.evalset.systems import systems_of as systems_of
