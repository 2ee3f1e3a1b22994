"""Rewards in a training loop: image vectors from the store, captions by memory, store or encoder.

Nothing here asks the catalogue after construction: look-ups go to the segments that were
committed then, and to a memory of captions seen since; only where one of those was compacted
away is the catalogue read again. Several ranks may read one store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from clipstore import keys as content_keys
from clipstore.encoders import canonical
from clipstore.errors import FingerprintMismatch, InputError
from clipstore.evaluate import fill
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.metrics import clip_s
from clipstore.rerank.memory import Memory
from clipstore.rerank.tensors import as_tensor
from clipstore.storage.segments import Gone
from clipstore.store.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clipstore.arrays import Ids, Scores, Vectors
    from clipstore.evalset import EvalSet
    from clipstore.items import ItemKey
    from clipstore.storage.lookup import Shelf
    from clipstore.storage.overlay import Stack
    from clipstore.store import Progress, Space

    Tower = Callable[[Sequence[str]], Any]

REMEMBERED = 1 << 16
"""Captions whose vectors stay in memory."""

_ATTEMPTS = 5
_CHECKED = 8  # stored texts on which a trainer's own tower is checked
_SAME = 1 - 1e-3  # cosine that counts as the same model


@final
class RewardScorer:
    """CLIP-S of (image, caption) pairs, for rewards.

    Parameters
    ----------
    space
        The vectors of one encoder.
    evalset
        The training images; of a folder alone all. Their ids are what calls name, a number as int or str.
        Images without a vector are encoded now; from then on they come from memory.
    recipe
        How a cosine becomes a score; None: the model's own.
    keep
        Put new captions into the store; otherwise they stay in memory and are forgotten.
    tower
        The trainer's own text tower: texts as the encoder gets them -> vectors (an array or a tensor,
        any norm, one row a text). Checked against stored vectors. None: the space's encoder.
    remember
        How many captions stay in memory.
    progress
        Told about the encoding of images.

    Raises
    ------
    InputError
        When an image can't be read, or the recipe cuts captions into PTB tokens.
    FingerprintMismatch
        When the tower gives other vectors than the store holds.
    """

    def __init__(
        self,
        space: Space,
        evalset: EvalSet,
        *,
        recipe: str | None = None,
        keep: bool = False,
        tower: Tower | None = None,
        remember: int = REMEMBERED,
        progress: Progress = silent,
    ) -> None:
        self._space, self._recipe, self._keep, self._tower = space, recipe_of(space, recipe), keep, tower
        if self._recipe.tokenised:
            msg = f"recipe {self._recipe.name} runs Java for new captions: a reward takes another, such as hessel2021"
            raise InputError(msg)
        evalset = evalset.of_all_images()
        if evalset.is_open:
            msg = "nothing says which images the rewards are for: give the set images, or references that name them"
            raise InputError(msg)
        self._clean = canonical.cleaner(space.fingerprint.cleaning)
        filled = fill(space, evalset.without_references(), (), self._recipe, progress=progress)
        failures = filled.work.images.failures
        if failures or any(id_ is None for id_ in filled.ready):
            first = f" (first: {failures[0].name}: {failures[0].reason})" if failures else ""
            msg = f"a reward needs every image, and some can't be read{first}: leave them out of the set"
            raise InputError(msg)
        distinct, rows = np.unique(np.array(filled.ready, np.int64), return_inverse=True)
        self._images = space.gather_images(distinct)
        self._count = len(evalset.keys)
        self._row: dict[ItemKey, int] = dict(zip(evalset.keys, rows.tolist(), strict=True))
        self._row = {**{_twin(key): row for key, row in self._row.items()}, **self._row}
        self._shelf = space.shelf("text")
        self._memory = Memory(space.dim, remember)
        if tower is not None:
            self._check(tower, evalset)

    @property
    def encoded(self) -> int:
        """How many captions had to be encoded so far."""
        return self._memory.encoded

    def refresh(self) -> None:
        """See what other processes have committed since."""
        self._shelf = self._space.shelf("text")

    def __call__(
        self,
        image_ids: Sequence[ItemKey],
        captions: Sequence[str],
        *,
        greedy: Sequence[str] | None = None,
        group: bool = False,
        device: object | None = None,
    ) -> Any:
        """Return the reward of each pair.

        Parameters
        ----------
        image_ids, captions
            Pair by pair; ids as the eval set has them. An empty caption gets 0.
        greedy
            The greedy caption of each pair's image: its reward is taken off (self-critical training,
            Rennie et al. 2017).
        group
            Take off the mean reward of the other captions of the same image in this call (leave one
            out, Kool et al. 2019); a caption alone keeps its reward.
        device
            A torch device: the answer is a float32 tensor there. None: a NumPy array.

        Returns
        -------
        Scores
            float32, shape (len(captions),), or a tensor of it.

        Raises
        ------
        InputError
            When an id is not of the set, counts differ, or both baselines are asked for.
        """
        if len(image_ids) != len(captions) or (greedy is not None and len(greedy) != len(captions)):
            sizes = f"{len(image_ids):,} ids, {len(captions):,} captions"
            msg = f"rewards go pair by pair: {sizes}{'' if greedy is None else f', {len(greedy):,} greedy ones'}"
            raise InputError(msg)
        if greedy is not None and group:
            msg = "a reward has one baseline: greedy captions or the group, not both"
            raise InputError(msg)
        rows = self._rows_of(image_ids)
        rewards = self._rewards(rows, captions)
        if greedy is not None:
            rewards -= self._rewards(rows, greedy)
        if group:
            rewards -= _others(rows, rewards)
        return rewards if device is None else as_tensor(rewards, device)

    def _rows_of(self, image_ids: Sequence[ItemKey]) -> Ids:
        try:
            return np.fromiter(map(self._row.__getitem__, image_ids), np.int64, len(image_ids))
        except KeyError as error:
            msg = f"image {error.args[0]!r} is not in the set that the rewards were made for ({self._count:,} images)"
            raise InputError(msg) from None

    def _rewards(self, rows: Ids, captions: Sequence[str]) -> Scores:
        """Return CLIP-S of rows of the image matrix and captions, 0 for an empty caption."""
        places, known = self._memory.places(captions)
        if not known.all():
            missing = self._missing(captions)
            if missing and self._memory.make_room(len(missing)):
                missing = self._missing(captions)
            if missing:
                self._memory.add(missing, self._vectors(missing))
            places, known = self._memory.places(captions)
        if known.all():
            return self._scores(rows, places)
        out = np.zeros(len(captions), np.float32)  # what is still unknown is empty
        out[known] = self._scores(rows[known], places[known])
        return out

    def _missing(self, captions: Sequence[str]) -> list[str]:
        """Return each caption that memory lacks, once; empty ones are never looked up."""
        memory = self._memory
        return [caption for caption in dict.fromkeys(captions) if caption not in memory and not blank(caption)]

    def _scores(self, rows: Ids, places: Ids) -> Scores:
        cosines = clip_s.similarities(self._images, rows, self._memory.vectors, places)
        return clip_s.clip_s(cosines, self._recipe.weight, clamp=self._recipe.clamp)

    def _vectors(self, captions: list[str]) -> Vectors:
        """Return the vectors of captions that memory lacks: from the store's files, else encoded."""
        if self._keep:
            done = self._space.ensure_texts(captions, self._recipe.prefix)
            self._memory.encoded += done.encoded
            self.refresh()
            return self._space.gather_texts(done.keys)
        strings = [self._clean(self._recipe.prefix + caption) for caption in captions]
        vector_keys = np.array(content_keys.text_ids(strings), np.int64)
        stored = self._look(lambda shelf: shelf.contains(vector_keys))
        out = np.empty((len(captions), self._space.dim), np.float32)
        if stored.any():
            out[stored] = self._look(lambda shelf: shelf.gather(vector_keys[stored]))
        rest = np.flatnonzero(~stored)
        if len(rest):
            out[rest] = self._encoded([strings[row] for row in rest.tolist()], [captions[row] for row in rest.tolist()])
        return out

    def _look(self, look: Callable[[Shelf | Stack], np.ndarray]) -> np.ndarray:
        """Look into the segments; read the catalogue again where one was compacted away meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return look(self._shelf)
            except Gone:
                self.refresh()
        return look(self._shelf)

    def _encoded(self, strings: list[str], captions: list[str]) -> Vectors:
        self._memory.encoded += len(strings)
        if self._tower is None:
            return self._space.encoder().encode_texts([self._recipe.prefix + caption for caption in captions])
        return _unit(self._tower(strings), len(strings), self._space.dim)

    def _check(self, tower: Tower, evalset: EvalSet) -> None:
        """Compare the trainer's tower with stored vectors of references, as far as there are any."""
        texts = list(dict.fromkeys(text for item in evalset.items for text in item.references if not blank(text)))
        strings = [self._clean(self._recipe.prefix + text) for text in texts]
        vector_keys = np.array(content_keys.text_ids(strings), np.int64)
        stored = np.flatnonzero(self._look(lambda shelf: shelf.contains(vector_keys)))[:_CHECKED]
        if not len(stored):
            return
        mine = _unit(tower([strings[row] for row in stored.tolist()]), len(stored), self._space.dim)
        cosines = np.einsum("ij,ij->i", mine, self._look(lambda shelf: shelf.gather(vector_keys[stored])))
        if cosines.min() < _SAME:
            msg = (
                f"the text tower given is not {self._space.shown}: on {len(stored)} stored captions its vectors have "
                f"cosines down to {cosines.min():.4f} with the store's. Give the same weights and prompt, or no tower"
            )
            raise FingerprintMismatch(msg)


def _twin(key: ItemKey) -> ItemKey:
    """Return the same number as the other type: a JSON object has ``"391895"`` where a trainer has ``391895``."""
    if isinstance(key, int):
        return str(key)
    return int(key) if key.isdecimal() and str(int(key)) == key else key


def blank(caption: str) -> bool:
    """Say whether a caption holds nothing but white space."""
    return not caption or caption.isspace()


def _unit(given: Any, rows: int, dim: int) -> Vectors:
    """Return what a tower gave as unit vectors in float32."""
    array = given.detach().float().cpu().numpy() if hasattr(given, "detach") else np.asarray(given, np.float32)
    if array.shape != (rows, dim):
        msg = f"the text tower gave shape {array.shape} for {rows} texts, not ({rows}, {dim})"
        raise InputError(msg)
    return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


def _others(rows: Ids, rewards: Scores) -> Scores:
    """Return, for each caption, the mean reward of the other captions of its image; 0 where it is alone."""
    _, which, counts = np.unique(rows, return_inverse=True, return_counts=True)
    sums = np.bincount(which, weights=rewards)
    others = (sums[which] - rewards) / np.maximum(counts[which] - 1, 1)
    return np.where(counts[which] > 1, others, 0).astype(np.float32)
