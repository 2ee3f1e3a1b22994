"""Turns on jaxtyping and beartype for modules of the library, before they are imported.

Our modules import the names of their annotations under ``if TYPE_CHECKING``, where a checker
that works at run time can't see them. The finder here wraps jaxtyping's and lets those imports
happen, in the checked modules only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType

from jaxtyping import install_import_hook

CHECKED = (
    "clipstore.metrics",
    "clipstore.store.writing",
    "clipstore.encoders.pipeline",
    "clipstore.encoders.fake",
)
"""Modules whose calls are checked against the shapes and types of ``clipstore.arrays``."""

LEFT_OUT: dict[str, str] = {}
"""Modules below them that are not, with the reason."""

GUARD = b"\nif TYPE_CHECKING:\n"
OPEN = b"\nif True:\n"


class Checked(MetaPathFinder):
    """Finds what jaxtyping's hook would, with the guarded imports made.

    Parameters
    ----------
    inner
        The finder that jaxtyping installed.
    left_out
        Modules that are not checked, each with the reason.
    """

    def __init__(self, inner: MetaPathFinder, left_out: Sequence[str]) -> None:
        self._inner = inner
        self._left_out = left_out

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return the module's spec with a loader that instruments it, or None."""
        spec = None if name in self._left_out else self._inner.find_spec(name, path, target)
        if spec is None:
            return None
        loader = spec.loader
        instrument = loader.source_to_code

        def get_code(_name: str) -> CodeType:
            source = loader.get_data(loader.path).replace(GUARD, OPEN)
            return instrument(source, loader.path)

        loader.get_code = get_code
        return spec


def install() -> None:
    """Check every call in these modules, and those below them, against the shapes and types that it names."""
    hook = install_import_hook(list(CHECKED), "beartype.beartype").hook
    sys.meta_path[sys.meta_path.index(hook)] = Checked(hook, tuple(LEFT_OUT))
