"""A trained index for large pools: made by a FAISS factory string, kept beside its segments.

Its file's name holds a hash of the factory string and of the segments' names: when the
segments change, another name is looked for, none is there, and the index is made anew.
Hits are scored again from their vectors, so scores are exact and only the choice is approximate.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clipstore import keys
from clipstore.errors import CannotWrite, InputError
from clipstore.storage import segments
from clipstore.storage.lookup import Shelf
from clipstore.storage.search import NOTHING, Hits, faiss_module
from clipstore.storage.translate import writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from clipstore.arrays import Ids, Vectors
    from clipstore.storage.catalogue.segments import SegmentRow

SUFFIX = ".index"

_BLOCK = 1 << 16
_TRAINING = 1 << 16  # rows to train on, or _A_CENTRE for each centre where that is more
_A_CENTRE = 64
_OVERFETCH = 4  # hits of the index that are scored again, for each one asked for
_SEED = 12345
_HASH = 16


@final
@dataclass(frozen=True, eq=False, slots=True)
class Only:
    """A filter on an index, made once.

    Parameters
    ----------
    bits
        One bit a vector of the index, the low bit first.
    """

    bits: np.ndarray


@final
class Trained:
    """A trained index over all segments of one space and modality. Made by :func:`open_or_make`."""

    def __init__(self, index: Any, root: Path, rows: Sequence[SegmentRow], ids: Ids, *, made: bool) -> None:
        self._index = index
        self._shelf = Shelf(root, rows)
        self._ids = ids
        self.made = made

    @property
    def _lists(self) -> Any | None:
        """The inverted lists inside, None where it has none."""
        return faiss_module().try_extract_index_ivf(self._index)

    def only(self, allowed: Ids) -> Only:
        """Return a filter: only these ids.

        Raises
        ------
        InputError
            When the index has no inverted lists.
        """
        if self._lists is None:
            msg = "a filter needs an index with inverted lists (IVF...), or none: leave --index out"
            raise InputError(msg)
        return Only(np.packbits(np.isin(self._ids, allowed), bitorder="little"))

    def search(self, queries: Vectors, k: int, only: Only | None = None, nprobe: int | None = None) -> Hits:
        """Return about the ``k`` nearest vectors of each query, with exact scores.

        Parameters
        ----------
        queries
            Unit vectors, float32, shape (queries, dim).
        k
            How many.
        only
            What :meth:`only` gave; None: all.
        nprobe
            Inverted lists to look into; None: a 32nd of them, at least 8.
        """
        if not len(queries):
            return Hits.none(0, k)
        most = min(_OVERFETCH * k, len(self._ids))
        queries = np.ascontiguousarray(queries, np.float32)
        parameters, _kept_alive = self._parameters(only, nprobe)
        _, places = self._index.search(queries, most, params=parameters)
        ids = np.where(places < 0, NOTHING, self._ids[places])
        return self._rescored(queries, ids, k)

    def _parameters(self, only: Only | None, nprobe: int | None) -> tuple[Any, object]:
        faiss, lists = faiss_module(), self._lists
        if lists is None:
            return None, None
        chosen = min(nprobe or max(8, lists.nlist // 32), lists.nlist)
        if only is None:
            parameters, selector = faiss.SearchParametersIVF(nprobe=chosen), None
        else:
            selector = (faiss.IDSelectorBitmap(only.bits), only.bits)
            parameters = faiss.SearchParametersIVF(nprobe=chosen, sel=selector[0])
        if isinstance(self._index, faiss.IndexPreTransform):
            return faiss.SearchParametersPreTransform(index_params=parameters), (parameters, selector)
        return parameters, selector

    def _rescored(self, queries: Vectors, ids: np.ndarray, k: int) -> Hits:
        """Score hits by their own vectors and keep the best ``k``."""
        scores = np.full(ids.shape, -np.inf, np.float32)
        for start in range(0, len(ids), max(1, _BLOCK // max(1, ids.shape[1]))):
            rows = slice(start, start + max(1, _BLOCK // max(1, ids.shape[1])))
            real = ids[rows] != NOTHING
            vectors = self._shelf.gather(ids[rows][real])
            owners = np.nonzero(real)[0]
            scores[rows][real] = np.einsum("ij,ij->i", queries[rows][owners], vectors)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        found = Hits(np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1))
        short = k - found.ids.shape[1]
        rest = Hits.none(len(ids), short) if short > 0 else None
        if rest is None:
            return found
        return Hits(np.concatenate([found.ids, rest.ids], axis=1), np.concatenate([found.scores, rest.scores], axis=1))


def path_of(root: Path, rows: Sequence[SegmentRow], factory: str) -> Path:
    """Return where the index of these segments lies: beside them, named by what it is made of."""
    made_of = keys.digest_json({"segments": sorted(row.name for row in rows)})[:_HASH]
    family = keys.digest_json({"factory": factory})[:_HASH]
    return rows[0].path(root).parent / f"{family}-{made_of}{SUFFIX}"


def open_or_make(root: Path, rows: Sequence[SegmentRow], factory: str) -> Trained:
    """Return the trained index of these segments: that of :func:`known`, else a new one that is put there.

    Parameters
    ----------
    root
        The store's folder.
    rows
        The committed segments of one space and modality, at least one.
    factory
        A FAISS factory string, such as ``IVF4096,PQ64`` or ``HNSW32``.

    Raises
    ------
    InputError
        When FAISS knows no such index, or there are too few vectors to train it.
    Gone, Damaged
        As :func:`clipstore.storage.search.exact`.
    """
    found = known(root, rows, factory)
    if found is not None:
        return found
    ids = _distinct(root, rows)
    index = _made(root, rows, factory, len(ids))
    with contextlib.suppress(CannotWrite):  # a store that can't be written makes it again next time
        _put(index, path_of(root, rows, factory))
    return Trained(index, root, rows, ids, made=True)


def known(root: Path, rows: Sequence[SegmentRow], factory: str) -> Trained | None:
    """Return the trained index of these segments that is on disk, None where there is none or it is damaged.

    Parameters
    ----------
    root, rows, factory
        As of :func:`open_or_make`; nothing is written.

    Raises
    ------
    Gone, Damaged
        As :func:`clipstore.storage.search.exact`.
    """
    path = path_of(root, rows, factory)
    if not path.exists():
        return None
    try:
        index = faiss_module().read_index(str(path))
    except RuntimeError:
        return None
    ids = _distinct(root, rows)
    if index.ntotal != len(ids) or index.d != rows[0].dim:
        return None
    return Trained(index, root, rows, ids, made=False)


def _distinct(root: Path, rows: Sequence[SegmentRow]) -> Ids:
    """Return the ids of all segments in their order, those that an earlier segment has left out."""
    return np.concatenate([ids for ids, _ in _fresh(root, rows)])


def _fresh(root: Path, rows: Sequence[SegmentRow]) -> Iterator[tuple[Ids, Iterator[Vectors]]]:
    """Yield for each segment its ids that no earlier one has, and their vectors in blocks."""
    seen = np.empty(0, np.int64)
    for row in rows:
        segment = segments.open(row.path(root), row)
        fresh = np.flatnonzero(~np.isin(segment.ids, seen, assume_unique=True))
        ids = segment.ids[fresh]
        seen = np.union1d(seen, ids) if len(rows) > 1 else seen
        yield ids, _blocks(segment, fresh)


def _blocks(segment: segments.Segment, places: Ids) -> Iterator[Vectors]:
    view = segment.vectors()
    for start in range(0, len(places), _BLOCK):
        yield view[places[start : start + _BLOCK]].astype(np.float32)


def _made(root: Path, rows: Sequence[SegmentRow], factory: str, count: int) -> Any:
    faiss = faiss_module()
    try:
        index = faiss.index_factory(rows[0].dim, factory, faiss.METRIC_INNER_PRODUCT)
        lists = faiss.try_extract_index_ivf(index)
        wanted = min(count, max(_TRAINING, _A_CENTRE * (lists.nlist if lists is not None else 0)))
        index.train(_sample(root, rows, count, wanted))
        for _, blocks in _fresh(root, rows):
            for block in blocks:
                index.add(block)
    except RuntimeError as error:
        said = str(error).rsplit(": ", 1)[-1].strip()
        msg = (
            f"--index {factory!r} can't be made of {count:,} vectors of {rows[0].dim} numbers ({said}): choose another "
            "FAISS factory string, such as IVF256,Flat or HNSW32, or leave --index out for an exact search"
        )
        raise InputError(msg) from error
    return index


def _sample(root: Path, rows: Sequence[SegmentRow], count: int, wanted: int) -> Vectors:
    """Return some vectors to train on, drawn evenly over all."""
    chosen = np.sort(np.random.default_rng(_SEED).choice(count, wanted, replace=False))
    out, start = [], 0
    for ids, blocks in _fresh(root, rows):
        del ids
        for block in blocks:
            inside = chosen[(chosen >= start) & (chosen < start + len(block))] - start
            out.append(block[inside])
            start += len(block)
    return np.concatenate(out)


def _put(index: Any, path: Path) -> None:
    """Write an index whole or not at all, then take away those of segments that are no more, of whatever kind."""
    faiss = faiss_module()
    temporary = path.with_name(f"{uuid.uuid4().hex}{segments.UNFINISHED}")
    with writing(str(path.parent)):
        try:
            with temporary.open("xb") as file:
                faiss.write_index(index, faiss.PyCallbackIOWriter(file.write, 1 << 20))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        made_of = path.stem.rpartition("-")[2]
        for old in path.parent.glob(f"*{SUFFIX}"):
            if old.stem.rpartition("-")[2] != made_of:
                old.unlink(missing_ok=True)
