"""The traps of the storage design, one by one: each has a test that fails without its guard.

Those that stand elsewhere:

==========================================================  ==========================================================
trap                                                        test
==========================================================  ==========================================================
a disk that fills in the last bytes of a segment            test_segments: file_that_does_not_fit_by_its_last_bytes
the same, a disk error at any step                          test_segments: failed_write_raises_and_leaves_nothing
a reader's mapping of a file compacted and deleted          test_compact: a_mapped_segment_outlives_its_file
an open shelf whose files are deleted                       test_lookup: open_shelf_serves_on_after_its_files...
a view that outlives its index or segment                   test_segments: view_outlives_its_segment_and_its_file
a view that is written to                                   test_segments: rows_come_back_sorted_by_id_and_read_only
a forked child that looks up, or searches                   test_lookup: forked_child_looks_up;
                                                            test_search: a_forked_child_can_search
a filter over several segments                              test_search: a_filter_holds_in_every_segment
file systems where WAL does not work                        catalogue/test_catalogue: store_works_and_says_so_where...
WAL that fails only at a write                              catalogue/test_catalogue: store_moved_to_where_wal_fails...
six processes that open a fresh store at once               test_upgrade: six_processes_open_a_fresh_store_at_once
a file rewritten, equal in size, within a clock tick        store/test_images: an_edit_in_place_is_seen,
                                                            a_file_younger_than_the_clock_can_tell_is_read_again
bit flips, which FAISS accepts in silence                   test_check: flipped_bit_that_changes_no_norm...
trailing garbage, which FAISS accepts too                   test_segments: wrong_header_or_size_is_seen_at_open
a stored NaN row, which no search returns                   test_segments: bad_rows_are_refused_and_leave_no_file
files that are not ours in the store                        test_check: litter_is_a_note_not_damage
==========================================================  ==========================================================
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from small_stores import DIGEST, commit, in_children, random_ids, unit_vectors

from clipstore import Store, keys
from clipstore.errors import CannotWrite
from clipstore.storage import compact, search, segments, upgrade
from clipstore.storage.catalogue import Catalogue, contents
from clipstore.storage.catalogue import segments as segment_rows
from clipstore.storage.check import check
from clipstore.storage.lookup import Shelf

ROOT = Path(__file__).resolve().parents[2]


def _rows(catalogue: Catalogue):
    with catalogue.read() as tx:
        return segment_rows.all(tx, DIGEST, "text")


@pytest.mark.parametrize("short", [1, 8, 4095])
def test_a_merged_file_that_does_not_fit_by_its_last_bytes_is_an_error(catalogue, short):
    """A disk that fills within the last bytes of a compaction raises, and the old segments go on serving."""
    ids, vectors = random_ids(800), unit_vectors(800)
    commit(catalogue, ids[:400], vectors[:400])
    commit(catalogue, ids[400:], vectors[400:])
    before = sorted(catalogue.folder.rglob("*.faiss"))
    size = segments.layout.file_size(800, 16, "float32") - short

    def work(_):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with pytest.raises(CannotWrite):
            compact.compact(catalogue)

    assert in_children(1, work) == [0]
    assert sorted(catalogue.folder.rglob("*.*")) == sorted({*before, *catalogue.folder.glob("*.*")} | _locks(catalogue))
    assert np.array_equal(Shelf(catalogue.folder, _rows(catalogue)).gather(ids), vectors)


def _locks(catalogue: Catalogue) -> set[Path]:
    return set(catalogue.folder.rglob("*.lock"))


def test_a_gather_of_a_few_rows_copies_only_them(catalogue):
    """The payload is unaligned, so ``take`` or ``@`` would copy all 40 MB; ten rows cost well under one."""
    rows, dim = 20_000, 512
    vectors = np.zeros((rows, dim), np.float32)
    vectors[np.arange(rows), np.arange(rows) % dim] = 1
    row = commit(catalogue, np.arange(rows), vectors)
    shelf = Shelf(catalogue.folder, [row])
    asked = np.arange(0, rows, rows // 10)
    shelf.gather(asked[:1])  # ids are read now, once
    view = segments.open(row.path(catalogue.folder), row).vectors()
    assert _peak(lambda: view.take(asked, axis=0)) > 30e6  # so the probe can fail
    assert _peak(lambda: shelf.gather(asked)) < 1e6


def _peak(action) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_cold_search_does_not_ask_for_random_access(catalogue):
    """FAISS's own mapping advises random access, 20 times slower when cold; the search reads in order instead."""
    row = commit(catalogue, np.arange(400), unit_vectors(400))
    path = row.path(catalogue.folder)
    if not Path("/proc/self/smaps").exists():
        pytest.skip("this system does not tell how files are mapped")
    import faiss

    index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    assert "rr" in _advice(path)  # so the probe can fail
    del index
    parts = search._parts(segments.open(path, row), None)
    _, vectors = next(parts)
    assert vectors.shape == (400, 16)
    assert "rr" not in _advice(path)
    assert "rd" in _advice(path)


def _advice(path: Path) -> set[str]:
    """Return the kernel's flags of all mappings of a file: ``rr`` is advice of random access, ``rd`` readable."""
    flags: set[str] = set()
    mine = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            mine = line.endswith(str(path))
        elif mine and line.startswith("VmFlags:"):
            flags |= set(line.split()[1:])
    return flags


_AFTER = """
import sys
import torch
own = torch.get_num_threads()
import clipstore, faiss
assert torch.get_num_threads() == own
"""

_BEFORE = """
import sys
import clipstore, faiss
import torch
"""

_SEARCH = """
from pathlib import Path
import numpy as np
from clipstore.storage import search
from clipstore.storage.catalogue import Catalogue, segments
torch.set_num_threads(3)
catalogue = Catalogue.open(Path(sys.argv[1]))
with catalogue.read() as tx:
    rows = segments.all(tx)
catalogue.close()
search.exact(catalogue.folder, rows, np.eye(1, 16, dtype=np.float32), 3)
print(torch.get_num_threads())
"""


@pytest.mark.parametrize("imports", [_AFTER, _BEFORE], ids=["torch first", "torch last"])
def test_torch_keeps_its_threads(tmp_path, imports):
    """Whichever is imported first, clipstore, its search and faiss leave torch with the threads that it had."""
    catalogue = Catalogue.open(tmp_path / "store")
    commit(catalogue, np.arange(40), unit_vectors(40))
    catalogue.close()
    ran = _python(imports + _SEARCH, str(tmp_path / "store"))
    assert ran.stdout == "3\n", ran.stderr


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )


_LOADER = """
import sys
import numpy as np, torch, faiss
from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
store = Store.open(sys.argv[1])
space = store.custom_space(FakeEncoder(16), "fake")
texts = [f"text {number}" for number in range(64)]
keys = space.ensure_texts(texts).keys
vectors = space.gather_texts(keys)
index = faiss.IndexFlatIP(16)
index.add(vectors)
index.search(np.repeat(vectors, 40, axis=0), 3)  # starts faiss's threads in the parent
torch.ones(400, 400) @ torch.ones(400, 400)  # and torch's

class Looked(torch.utils.data.Dataset):
    def __len__(self):
        return len(texts)
    def __getitem__(self, row):
        if row == 0:
            assert space.ensure_texts(["a text from a worker"]).encoded == 1
        return torch.from_numpy(space.gather_texts(keys[row : row + 1])[0])

loader = torch.utils.data.DataLoader(Looked(), batch_size=8, num_workers=2, multiprocessing_context="fork", timeout=60)
found = torch.cat(list(loader)).numpy()
assert np.array_equal(found, vectors)
assert space.shelf("text").rows == 65
print("well")
"""


def test_workers_of_a_data_loader_look_up(tmp_path):
    """Forked workers gather, and even encode, from their parent's store after it used faiss and torch; nobody hangs."""
    ran = _python(_LOADER, str(tmp_path / "store"))
    assert ran.stdout == "well\n", ran.stderr


_SECOND = """
revision = "0002"
down_revision = "0001"
branch_labels = depends_on = None

def upgrade():
    import time
    from alembic import op
    op.execute("CREATE TABLE upgraded (process INTEGER NOT NULL)")
    time.sleep(0.2)
    op.execute("INSERT INTO upgraded (process) VALUES (1)")
"""


def test_six_processes_open_an_old_store_at_once(folder, tmp_path, monkeypatch):
    """Processes that race for a store of an older schema all succeed; the upgrade runs once, under a lock."""
    catalogue = Catalogue.open(folder)
    commit(catalogue, np.arange(8), unit_vectors(8))
    catalogue.close()
    scripts = tmp_path / "migrations"
    shutil.copytree(ROOT / "migrations", scripts)
    second = f"{int(upgrade.HEAD) + 1:04d}"
    script = _SECOND.replace("0002", second).replace("0001", upgrade.HEAD)
    (scripts / "versions" / f"{second}_second.py").write_text(script)
    monkeypatch.setattr(upgrade, "scripts", lambda: scripts)
    monkeypatch.setattr(upgrade, "REVISIONS", (*upgrade.REVISIONS, second))
    monkeypatch.setattr(upgrade, "HEAD", second)

    def work(_):
        opened = Catalogue.open(folder)
        assert np.array_equal(Shelf(folder, _rows(opened)).gather(np.arange(8)), unit_vectors(8))
        opened.close()

    assert in_children(6, work) == [0] * 6
    catalogue = Catalogue.open(folder)
    with catalogue.read() as tx:
        assert tx.exec_driver_sql("SELECT version_num FROM alembic_version").fetchall() == [(second,)]
        assert tx.exec_driver_sql("SELECT process FROM upgraded").fetchall() == [(1,)]
    catalogue.close()


def test_two_writers_of_one_caption_leave_one(folder):
    """Two processes add one new caption at the same time, thirty times: one text, one vector, one row after compaction."""
    Store.open(folder).close()
    captions = [f"caption {number}" for number in range(30)]

    def work(_):
        from clipstore.encoders.fake import FakeEncoder

        with Store.open(folder) as store:
            space = store.custom_space(FakeEncoder(16), "fake")
            for caption in captions:
                key = space.ensure_texts([caption]).keys
                assert np.array_equal(space.gather_texts(key), FakeEncoder(16).encode_texts([caption]))

    assert in_children(2, work) == [0, 0]
    with Store.open(folder) as store:
        compact.compact(store.catalogue)
        with store.catalogue.read() as tx:
            (row,) = segment_rows.all(tx)
            assert contents.texts(tx, keys.text_ids(captions)) == dict(
                zip(keys.text_ids(captions), captions, strict=True)
            )
        assert row.rows == len(captions)
        assert [finding for finding in check(folder, store.catalogue) if finding.severity == "damage"] == []
