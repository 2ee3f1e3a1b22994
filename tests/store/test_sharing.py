"""Several processes encode the same items, and each is encoded about once."""

from __future__ import annotations

import multiprocessing
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import drawn
import numpy as np
import pytest

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import Prepared, Tokens
from clipstore.items import Image
from clipstore.storage import compact
from clipstore.store import Space, sharing
from clipstore.store.claims import BUCKETS, Claims

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["clipstore.store", "clipstore.encoders.fake", "clipstore.storage.compact"])

WRITERS = 8
TEXTS = 3000
SECONDS = 0.003
TWICE = 0.10


class Slow(FakeEncoder):
    """The fake encoder as slow as a model on a processor, counting what it embeds."""

    def __init__(self) -> None:
        super().__init__(16)
        self.embedded = self.pictures = self.most = self._inside = 0

    def embed_texts(self, texts: Sequence[Tokens]) -> np.ndarray:
        """Count, wait, embed."""
        self.embedded += len(texts)
        self._inside += 1
        self.most = max(self.most, self._inside)
        time.sleep(len(texts) * SECONDS)
        self._inside -= 1
        return super().embed_texts(texts)

    def embed_images(self, images: Sequence[Prepared]) -> np.ndarray:
        """Count, embed."""
        self.pictures += len(images)
        return super().embed_images(images)


def texts() -> list[str]:
    """Return the texts that all of them are to encode."""
    return [f"text number {number}" for number in range(TEXTS)]


def write(folder: Path, line: Connection) -> None:
    """Open a store, wait for the word, encode all the texts, and say how many were encoded here."""
    with Store.open(folder) as store:
        encoder = Slow()
        space = store.custom_space(encoder, "slow")
        line.send("ready")
        line.recv()
        space.ensure_texts(texts())
        line.send(encoder.embedded)


def hold(path: Path, line: Connection) -> None:
    """Claim everything, say so, and do nothing with it."""
    with Claims(path) as claims:
        line.send(all(claims.take(bucket) for bucket in range(BUCKETS)))
        line.recv()


class Process:
    """Another process, and the line to it."""

    def __init__(self, work: Callable[[Path, Connection], None], path: Path) -> None:
        self.line, other = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=work, args=(path, other), daemon=True)
        self.process.start()

    def wait(self) -> object:
        """Return what it says next."""
        assert self.line.poll(60), "the process says nothing"
        return self.line.recv()

    def end(self) -> None:
        """Let it end."""
        self.process.join(30)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.line.close()


@pytest.fixture
def new_store(empty_store: Path, tmp_path: Path) -> Iterator[Store]:
    """A store on SQLite: claims have nothing to do with the catalogue."""
    shutil.copytree(empty_store, tmp_path / "store")
    with Store.open(tmp_path / "store") as store:
        yield store
        assert not drawn.damage(store)


@pytest.mark.stress  # eight processes on a busy machine may be starved past the bound of a wait
def test_eight_processes_encode_the_same_texts_about_once(new_store: Store) -> None:
    """Eight writers of the same 3,000 texts encode fewer than a tenth of them twice, in a few segments."""
    new_store.custom_space(FakeEncoder(16), "slow")
    writers = [Process(write, new_store.folder) for _ in range(WRITERS)]
    for one in writers:
        assert one.wait() == "ready"
    for one in writers:
        one.line.send("go")
    encoded = [int(str(one.wait())) for one in writers]
    for one in writers:
        one.end()
    assert TEXTS <= sum(encoded) <= TEXTS * (1 + TWICE), encoded
    space = new_store.custom_space(FakeEncoder(16), "slow")
    assert space.ensure_texts(texts()).encoded == 0
    assert len(space.shelf("text").names) <= compact.MOST + 1  # README: at most 16


def test_one_process_alone_commits_no_more_often(new_store: Store) -> None:
    """Without others there is one commit of what fits into a chunk, however many blocks it takes."""
    space = new_store.custom_space(FakeEncoder(16), "fake")
    space.ensure_texts(texts())
    assert [row.rows for row in space.shelf("text")._rows] == [TEXTS]


def test_what_another_process_claims_and_never_commits_is_encoded_all_the_same(
    new_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are waited for with a bound: a process that is stopped holds nobody up for ever."""
    monkeypatch.setattr(sharing, "_AT_MOST", 0.3)
    space = new_store.custom_space(FakeEncoder(16), "fake")
    place = new_store.folder / "vectors" / space.fingerprint.digest / "text.claims"
    holder = Process(hold, place)
    assert holder.wait() is True
    start = time.monotonic()
    assert space.ensure_texts(texts()[:200]).encoded == 200
    assert 0.3 <= time.monotonic() - start < 10
    holder.line.send("enough")
    holder.end()


def test_claims_end_with_the_process_that_holds_them(new_store: Store, tmp_path: Path) -> None:
    """After a kill nothing is claimed and one is alone; before it one is not."""
    place = tmp_path / "store" / "vectors" / "text.claims"
    holder = Process(hold, place)
    assert holder.wait() is True
    with Claims(place) as claims:
        assert not claims.is_alone()
        assert not claims.take(7)
        holder.process.kill()
        holder.process.join()
        assert claims.is_alone()
        assert claims.take(7)


def test_a_place_that_can_not_be_locked_grants_every_claim(tmp_path: Path) -> None:
    """Where the file can't be made work may be done twice; it is done."""
    (tmp_path / "file").write_text("no folder")
    with Claims(tmp_path / "file" / "text.claims") as claims:
        assert claims.is_alone()
        assert claims.take(0)
        claims.release()


def test_threads_of_one_space_load_once_and_encode_once(new_store: Store) -> None:
    """Eight threads on one space with the same texts and images: one load, each item encoded once, all get all."""
    loads: list[int] = []
    encoder = Slow()

    def load() -> Slow:
        loads.append(1)
        time.sleep(0.05)
        return encoder

    row = new_store.custom_space(encoder, "slow")._row
    space = Space(new_store.catalogue, row, "slow", encoder.fingerprint, load)
    wanted = texts()[:100]
    pictures = [Image(drawn.picture(number), str(number)) for number in range(10)]
    gathered: list[np.ndarray] = []

    def work() -> None:
        space.ensure_images(pictures)
        gathered.append(space.gather_texts(space.ensure_texts(wanted).keys))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(loads) == 1
    assert (encoder.embedded, encoder.most, encoder.pictures) == (100, 1, 10)
    assert len(gathered) == 8
    for one in gathered:
        np.testing.assert_array_equal(one, gathered[0])


def test_gathering_does_not_wait_for_who_encodes(new_store: Store) -> None:
    """While one thread encodes, another gathers what is there, and a cached call comes back."""
    space = new_store.custom_space(FakeEncoder(16), "slow")
    there = space.ensure_texts(["a cat"]).keys
    done: list[int] = []

    def work() -> None:
        space.gather_texts(there)
        done.append(space.ensure_texts(["a cat"]).encoded)

    with space._turns.taken():
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(20)
    assert done == [0]
