"""CLIPScore with the shape of coco-caption's scorers: ``compute_score(gts, res)`` and ``method()``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from clipstore.errors import InputError
from clipstore.evalset.systems import one_each
from clipstore.evaluate.verb import score_systems
from clipstore.formats import Captions
from clipstore.metrics import recipes
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from clipstore.evalset import EvalSet
    from clipstore.items import ItemKey
    from clipstore.metrics.score import Signature
    from clipstore.store import Progress, Space

_METHODS = {"clip-s": "CLIPScore", "ref-clip-s": "RefCLIPScore"}


@final
class CLIPScore:
    """A scorer to put beside ``Bleu`` and ``Cider`` in coco-caption's list.

    coco-caption hands over PTB-tokenised text; then the numbers are those of such text
    (what pycocoevalcap's fork scores), not of the raw captions.

    Parameters
    ----------
    space
        The vectors of one encoder.
    evalset
        Where the images are; it may hold more than ``gts`` names.
    metric
        ``clip-s``, or ``ref-clip-s`` with the references of ``gts``.
    progress
        Told about the stages.
    """

    def __init__(
        self,
        space: Space,
        evalset: EvalSet,
        *,
        metric: Literal["clip-s", "ref-clip-s"] = "clip-s",
        progress: Progress = silent,
    ) -> None:
        self._space, self._evalset, self._metric, self._progress = space, evalset, metric, progress
        self.signature: Signature | None = None

    def method(self) -> str:
        """Return the name that coco-caption prints."""
        return _METHODS[self._metric]

    def compute_score(
        self, gts: Mapping[ItemKey, Sequence[str]], res: Mapping[ItemKey, Sequence[str]]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the mean and each image's score, in the order of ``gts``.

        Parameters
        ----------
        gts
            Image id -> references; also says which images count, and their order.
        res
            Image id -> a list of one caption.

        Returns
        -------
        tuple
            The mean over images that have a number, and float64 of shape (len(gts),), NaN
            where an image has none. :attr:`signature` then says how they were made.

        Raises
        ------
        InputError
            When ids differ, or an image has no caption or several.
        Unpaired
            When an id has no image.
        """
        captions = _captions(gts, res)
        evalset = self._covering(gts, captions)
        system = one_each("res", evalset.keys, list(captions.values()))
        scores = score_systems(self._space, [system], evalset, recipes.HESSEL2021, progress=self._progress)
        if self._metric not in scores.signatures:
            msg = "RefCLIPScore needs references, and gts has none"
            raise InputError(msg)
        found = scores["res"].metrics[self._metric]
        self.signature = found.signature
        values = found.per_item.astype(np.float64)
        held = values[~np.isnan(values)]
        return (float(held.mean()) if len(held) else float("nan")), values

    def _covering(self, gts: Mapping[ItemKey, Sequence[str]], captions: Mapping[ItemKey, str]) -> EvalSet:
        """Return the eval set of the ids of ``gts``, in their order, with its references."""
        ids = list(gts)
        whole = self._evalset.covering([Captions("res", "coco-caption", ids, list(captions.values()))])
        rows = {key: row for row, key in enumerate(whole.keys)}
        met = whole.rows_of(ids, "gts")
        kept = [rows[key] for key in met.keys if key is not None]
        items = tuple(replace(whole.items[row], references=tuple(gts[id_])) for row, id_ in zip(kept, ids, strict=True))
        paths = tuple(whole.paths[row] for row in kept) if whole.paths else ()
        return replace(whole, items=items, paths=paths, alternates={}, unpaired=())


def _captions(gts: Mapping[ItemKey, Sequence[str]], res: Mapping[ItemKey, Sequence[str]]) -> dict[ItemKey, str]:
    """Return the one caption of each id, in the order of ``gts``."""
    if gts.keys() != res.keys():
        odd = sorted(map(str, gts.keys() ^ res.keys()))
        msg = f"gts and res name different images: {len(odd):,} ids are in one only (first: {', '.join(odd[:5])})"
        raise InputError(msg)
    wrong = [key for key in gts if isinstance(res[key], str) or len(res[key]) != 1]
    if wrong:
        msg = f"res[{wrong[0]!r}] must be a list of one caption, as coco-caption has it"
        raise InputError(msg)
    return {key: res[key][0] for key in gts}
