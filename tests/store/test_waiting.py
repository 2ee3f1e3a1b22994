"""What is optional waits for no lock: a cached score comes at once while another process writes."""

from __future__ import annotations

import time
from pathlib import Path

import drawn
import pytest

import clipstore as cs
from clipstore import EvalSet, Store
from clipstore.compare.runs import keep
from clipstore.items import Image
from clipstore.significance import Settings
from clipstore.storage.catalogue import files, runs, statements
from clipstore.store import identify


def test_a_cached_score_waits_for_no_writer(store: Store, tmp_path: Path) -> None:
    """With the write lock held, files to remember, a failure to note and a run to keep, the score comes at once."""
    folder = drawn.draw(tmp_path / "images", 4)
    evalset = EvalSet.read(images=folder, refs=drawn.references(4))
    space = store.space("fake")
    cs.score(space, {"a": drawn.captions(4), "b": drawn.captions(4, "other words of")}, evalset)
    moved = folder.rename(tmp_path / "moved")  # known images at places that are not
    (moved / "bad.png").write_bytes(b"no image")
    evalset = EvalSet.read(images=moved, refs=drawn.references(4) | {"bad": ["a reference"]})
    captions = drawn.captions(4) | {"bad": "a caption of picture 1"}
    space.ensure_texts(["A photo depicts a reference"])
    space.ensure_texts(["a reference", *captions.values()], "A photo depicts ")
    with Store.open(store.folder) as other, other.catalogue.write():
        start = time.monotonic()
        scores = cs.score(space, {"a": captions}, evalset)
        assert time.monotonic() - start < 5
    assert scores["a"].n == 4
    assert [Path(one.name).name for one in scores.failures] == ["bad.png"]
    assert store.failures() == []
    with store.catalogue.read() as tx:
        assert len(runs.all(tx)) == 1
    cs.score(space, {"a": captions}, evalset)
    with store.catalogue.read() as tx:
        assert len(runs.all(tx)) == 2
        assert files.known(tx, [str(moved / "bad.png")])
    assert len(store.failures()) == 1


def _age(store: Store, days: float) -> float:
    """Set the time of every run back; return it."""
    at = time.time() - days * 86400
    with store.catalogue.write() as tx:
        statements.run(tx, "UPDATE runs SET run_at = ?", at)
    return at


def _times(store: Store) -> set[float]:
    with store.catalogue.read() as tx:
        return {run.at for run in runs.all(tx)}


@pytest.mark.parametrize("verb", ["score", "compare", "rerank"])
def test_a_run_that_is_asked_again_is_of_today(store: Store, tmp_path: Path, verb: str) -> None:
    """What is used is not forgotten for its age: a day later its time is set, not within the day, never by waiting."""
    evalset = EvalSet.read(images=drawn.draw(tmp_path / "images", 4), refs=drawn.references(4))
    space = store.space("fake")
    systems = {"a": drawn.captions(4), "b": drawn.captions(4, "other words of")}
    nbest = [{"image_id": drawn.name(i), "captions": [f"one of {i}", f"two of {i}"]} for i in range(4)]

    def ask() -> None:
        if verb == "score":
            cs.score(space, systems, evalset)
        elif verb == "compare":
            measured = cs.measure(space, systems, evalset)
            keep(store.catalogue, [measured], cs.compare(measured, settings=Settings(resamples=50)))
        else:
            cs.rerank(space, nbest, evalset)

    ask()
    before = _age(store, 0.5)
    ask()
    assert _times(store) == {before}, "nothing is written within a day"
    before = _age(store, 2)
    with Store.open(store.folder) as other, other.catalogue.write():
        start = time.monotonic()
        ask()
        assert time.monotonic() - start < 5
    assert _times(store) == {before}
    ask()
    assert min(_times(store)) > time.time() - 600


def test_files_that_could_not_be_remembered_are_with_the_next_ones(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk of files that meets a busy store is kept with the chunk after it, not hashed again next time."""
    monkeypatch.setattr(identify, "_CHUNK", 2)
    drawn.draw(tmp_path / "images", 4)
    images = [Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())]
    with Store.open(store.folder) as other:
        busy = other.catalogue.write()
        busy.__enter__()

        def free(_stage: str, done: int, _total: int) -> None:
            if done == 2:
                busy.__exit__(None, None, None)

        store.identify(images, free)
    with store.catalogue.read() as tx:
        assert len(files.known(tx, [str(image.source) for image in images])) == 4
