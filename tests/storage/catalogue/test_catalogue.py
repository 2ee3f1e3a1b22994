"""An open catalogue: transactions that commit or vanish, threads, forks, processes, read-only folders, bad files."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_stores import in_children

from clipstore.errors import Busy, CannotWrite, ClipstoreError, Damaged, StoreError
from clipstore.storage import faults
from clipstore.storage.catalogue import Catalogue, engine, journal, settings
from clipstore.storage.translate import database_error


def test_write_commits_and_others_see_it(catalogue, reopen):
    """What a write transaction did is there for another connection when it has ended, not before."""
    other = reopen()
    with catalogue.write() as tx:
        settings.set(tx, "a", "1")
        with other.read() as reading:
            assert settings.get(reading, "a") is None
    with other.read() as reading:
        assert settings.get(reading, "a") == "1"


def test_error_in_a_write_rolls_it_back(catalogue):
    """An exception inside a write transaction takes back all of it and passes through unchanged."""
    with pytest.raises(ZeroDivisionError), catalogue.write() as tx:  # noqa: PT012
        settings.set(tx, "a", "1")
        raise ZeroDivisionError
    with catalogue.read() as tx:
        assert settings.all(tx) == {}


def test_read_sees_one_snapshot(catalogue, reopen):
    """A read transaction does not see what another commits while it lasts."""
    other = reopen()
    with catalogue.read() as tx:
        assert settings.get(tx, "a") is None
        with other.write() as writing:
            settings.set(writing, "a", "1")
        assert settings.get(tx, "a") is None


def test_version_changes_with_each_commit_of_anyone(catalogue, reopen):
    """The version moves when this or another connection commits, and not when one rolls back or reads."""
    other = reopen()
    first = catalogue.version()
    with other.write():
        pass
    second = catalogue.version()
    with pytest.raises(KeyError), other.write():
        raise KeyError
    assert second != first
    assert catalogue.version() == other.version() == second


def test_write_gives_up_when_told_to_and_waits_otherwise(catalogue, reopen):
    """A writer without patience gets Busy at once; a patient one gets its turn when the other ends."""
    other = reopen()
    order = []

    def patient():
        with other.write(patience=30):
            order.append("second")

    with catalogue.write():
        started = time.monotonic()
        with pytest.raises(Busy, match="another process"), other.write(patience=0):
            pass
        assert time.monotonic() - started < 1
        with pytest.raises(Busy), other.write(patience=0.2):
            pass
        thread = threading.Thread(target=patient)
        thread.start()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_reading_waits_for_no_writer(catalogue, reopen):
    """A store is opened and read at once while another process writes."""
    with catalogue.write() as tx:
        settings.set(tx, "a", "1")
        started = time.monotonic()
        other = reopen()
        with other.read() as reading:
            assert settings.get(reading, "a") is None
        assert time.monotonic() - started < 1


def test_threads_use_one_catalogue(catalogue):
    """Eight threads that read and write through one catalogue lose nothing."""

    def work(number):
        with catalogue.write() as tx:
            settings.set(tx, str(number), "x")
        with catalogue.read() as tx:
            return settings.get(tx, str(number))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(40))) == ["x"] * 40
    with catalogue.read() as tx:
        assert len(settings.all(tx)) == 40


def test_forked_child_opens_its_own_connection(catalogue):
    """A child reads and writes through the catalogue of its parent, which works on afterwards."""
    with catalogue.write() as tx:
        settings.set(tx, "parent", "1")

    def work(_):
        with catalogue.write() as tx:
            settings.set(tx, "child", str(settings.get(tx, "parent")))

    assert in_children(2, work) == [0, 0]
    with catalogue.write() as tx:
        assert settings.all(tx) == {"parent": "1", "child": "1"}


def test_child_forked_inside_a_transaction_does_not_end_it(catalogue):
    """A child forked while its parent writes neither commits nor breaks what the parent has open."""

    def work(_):
        with catalogue.read() as reading:
            assert settings.get(reading, "a") is None
        catalogue.close()

    with catalogue.write() as tx:
        settings.set(tx, "a", "1")
        assert in_children(1, work) == [0]
        settings.set(tx, "b", "2")
    with catalogue.read() as tx:
        assert settings.all(tx) == {"a": "1", "b": "2"}


def test_processes_that_write_at_once_lose_nothing(folder):
    """Six processes that each count up 25 times reach 150: nobody sees "locked", no turn is lost."""
    Catalogue.open(folder).close()

    def count(_):
        catalogue = Catalogue.open(folder)
        for _step in range(25):
            with catalogue.write() as tx:
                settings.set(tx, "count", str(int(settings.get(tx, "count") or 0) + 1))
        catalogue.close()

    assert in_children(6, count) == [0] * 6
    catalogue = Catalogue.open(folder)
    with catalogue.read() as tx:
        assert settings.get(tx, "count") == "150"
    catalogue.close()


def test_error_at_the_commit_rolls_back(catalogue):
    """An error raised just before the commit leaves the catalogue as it was, and usable."""

    def fail(step):
        if step == "committing":
            raise OSError

    faults.install(fail)
    try:
        with pytest.raises(OSError), catalogue.write() as tx:
            settings.set(tx, "a", "1")
    finally:
        faults.install(None)
    with catalogue.write() as tx:
        assert settings.get(tx, "a") is None


def _sqlite_store(tmp_path, **values):
    catalogue = Catalogue.open(tmp_path / "s")
    with catalogue.write() as tx:
        for name, value in values.items():
            settings.set(tx, name, value)
    catalogue.close()
    return tmp_path / "s"


def _journal(folder):
    with contextlib.closing(sqlite3.connect(folder / "catalogue.sqlite")) as connection:
        return connection.execute("PRAGMA journal_mode").fetchone()[0]


def test_new_store_uses_wal_and_full_sync(tmp_path):
    """On a local disk the catalogue uses WAL, syncs each commit and checks foreign keys."""
    catalogue = Catalogue.open(_sqlite_store(tmp_path))
    with catalogue.read() as tx:
        pragmas = {name: tx.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "foreign_keys")}
    catalogue.close()
    assert _journal(tmp_path / "s") == "wal"
    assert pragmas == {"synchronous": 2, "foreign_keys": 1}
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == ["catalogue.sqlite", "store.lock"]


_ADD = """
import sys
from pathlib import Path
from clipstore.storage.catalogue import Catalogue, settings
catalogue = Catalogue.open(Path(sys.argv[1]))
with catalogue.write() as tx:
    settings.set(tx, sys.argv[2], "short")
catalogue.close()
"""


def test_a_long_writer_keeps_what_it_commits_between_short_ones(tmp_path):
    """Processes come and go beside one that stays: none of them takes the journal away under it."""
    folder = _sqlite_store(tmp_path)
    long = Catalogue.open(folder)
    for turn in range(3):
        for part in range(2):
            with long.write() as tx:
                settings.set(tx, f"long {turn} {part}", "long")
        subprocess.run([sys.executable, "-c", _ADD, str(folder), f"short {turn}"], check=True)
    with long.write() as tx:
        settings.set(tx, "last", "long")
    with Catalogue.open(folder).read() as tx:
        seen = settings.all(tx)
    long.close()
    catalogue = Catalogue.open(folder)
    with catalogue.read() as tx:
        assert settings.all(tx) == seen
    catalogue.close()
    wanted = {f"long {turn} {part}" for turn in range(3) for part in range(2)} | {f"short {turn}" for turn in range(3)}
    assert set(seen) == wanted | {"last"}


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not list its locks")
@pytest.mark.parametrize("wal", [True, False])
def test_a_write_leaves_sqlite_its_locks(tmp_path, monkeypatch, wal):
    """What SQLite has locked stays locked while a transaction of this process begins, in vain or not."""
    monkeypatch.setattr(journal, "_probe", lambda _: wal)
    catalogue = Catalogue.open(tmp_path / "s")

    def locks():
        mine = {path.stat().st_ino for path in (tmp_path / "s").glob("catalogue.sqlite*")}
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        return [one for one in lines if str(os.getpid()) in one and int(one[-3].rpartition(":")[2]) in mine]

    with catalogue.write() as tx:
        settings.set(tx, "a", "1")
        before = len(locks())
        with pytest.raises(Busy), catalogue.write(patience=0.0):
            pass
        assert len(locks()) >= before > 0
    with catalogue.write() as tx:
        settings.set(tx, "a", "2")
    if wal:
        assert locks()
    catalogue.close()


def test_store_works_and_says_so_where_wal_does_not(tmp_path, monkeypatch, caplog):
    """Where the probe of WAL fails, the store is made with a rollback journal and one warning."""

    def refuse(path):
        raise sqlite3.OperationalError

    monkeypatch.setattr(journal, "_shared_write", refuse)
    with caplog.at_level(logging.WARNING, "clipstore.storage"):
        folder = _sqlite_store(tmp_path, a="1")
    assert [record.name for record in caplog.records] == ["clipstore.storage"]
    assert "WAL does not work" in caplog.text
    assert _journal(folder) == "delete"
    one, two = Catalogue.open(folder), Catalogue.open(folder)
    with one.read() as tx:
        assert settings.get(tx, "a") == "1"
    with one.write() as tx:
        settings.set(tx, "b", "2")
    with two.read() as tx:
        assert settings.get(tx, "b") == "2"
    one.close()
    two.close()


def test_writer_without_wal_waits_for_readers(tmp_path, monkeypatch):
    """With a rollback journal a commit waits for a reader to end, then goes through."""
    monkeypatch.setattr(journal, "_probe", lambda _: False)
    catalogue = Catalogue.open(tmp_path / "s")

    def read():
        with catalogue.read() as tx:
            settings.all(tx)
            reading.set()
            time.sleep(0.5)

    reading = threading.Event()
    thread = threading.Thread(target=read)
    thread.start()
    reading.wait()
    with catalogue.write() as tx:
        settings.set(tx, "a", "1")
    thread.join()
    with catalogue.read() as tx:
        assert settings.get(tx, "a") == "1"
    catalogue.close()


def test_store_moved_to_where_wal_fails_leaves_it(tmp_path, monkeypatch, caplog):
    """A write that fails for want of shared memory turns WAL off, says so, and goes through."""
    catalogue = Catalogue.open(_sqlite_store(tmp_path, a="1"))
    real, failures = engine.begin_write, []

    def begin(connection, patience):
        if not failures:
            failures.append(1)
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMMAP
            raise error
        real(connection, patience)

    monkeypatch.setattr(engine, "begin_write", begin)
    with catalogue.write() as tx:
        settings.set(tx, "b", "2")
    assert _journal(tmp_path / "s") == "delete"
    assert "rollback journal" in caplog.text
    with catalogue.read() as tx:
        assert settings.all(tx) == {"a": "1", "b": "2"}
    catalogue.close()


_READ = """
import os, sys
from pathlib import Path
from clipstore.errors import CannotWrite
from clipstore.storage.catalogue import Catalogue, settings
from clipstore.storage.catalogue.engine import sqlite_engine
sqlite_engine(Path("unused"))  # loads what is loaded late, while it may be read
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
catalogue = Catalogue.open(Path(sys.argv[1]))
assert catalogue.readonly
with catalogue.read() as tx:
    assert settings.get(tx, "a") == sys.argv[2]
print("ready", flush=True)
if sys.argv[3:]:
    sys.stdin.readline()
    with catalogue.read() as tx:
        assert settings.get(tx, "a") == sys.argv[3]
catalogue.version()
try:
    with catalogue.write():
        pass
except CannotWrite as error:
    assert "read-only" in str(error)
    sys.exit(7)
"""


@pytest.fixture
def locked(tmp_path):
    """Return a store with one setting whose folder nobody may write."""
    folder = _sqlite_store(tmp_path, a="1")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in [folder, *folder.parents][1:-2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    yield folder
    folder.chmod(0o755)


def _reader(folder, *expected) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _READ, str(folder), *expected]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_read_only_folder_is_read_and_not_written(locked):
    """A store that may only be read opens, reads, refuses to write with a reason, and stays as it is."""
    before = (locked / "catalogue.sqlite").read_bytes()
    reader = _reader(locked, "1")
    _, errors = reader.communicate(timeout=60)
    assert reader.returncode == 7, errors
    assert (locked / "catalogue.sqlite").read_bytes() == before
    assert sorted(path.name for path in locked.iterdir()) == ["catalogue.sqlite", "store.lock"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may write to a folder that a reader may not")
def test_read_only_reader_sees_what_a_writer_commits(locked):
    """A reader that may not write sees the commits of one that may, also those still in its journal."""
    reader = _reader(locked, "1", "2")
    assert reader.stdout.readline() == "ready\n", reader.communicate()
    catalogue = Catalogue.open(locked)
    with catalogue.write() as tx:
        settings.set(tx, "a", "2")
    assert (locked / "catalogue.sqlite-wal").stat().st_size
    _, errors = reader.communicate("go\n", timeout=60)
    catalogue.close()
    assert reader.returncode == 7, errors


@pytest.mark.parametrize(
    "content", [b"not a database at all, and long enough to be one" * 99, b"SQLite format 3\0" * 300]
)
def test_damaged_catalogue_is_told_with_its_remedy(tmp_path, content):
    """A catalogue that is no database raises Damaged with the command that mends it, and is not touched."""
    folder = _sqlite_store(tmp_path)
    (folder / "catalogue.sqlite").write_bytes(content)
    with pytest.raises(Damaged, match="verify --repair") as caught:
        Catalogue.open(folder)
    assert caught.value.__cause__ is not None
    assert (folder / "catalogue.sqlite").read_bytes() == content


def test_overwritten_page_is_damage_not_a_crash(tmp_path):
    """Rows in a page that was overwritten raise Damaged when they are read."""
    folder = _sqlite_store(tmp_path, **{f"name{number}": "x" * 500 for number in range(200)})
    path = folder / "catalogue.sqlite"
    content = bytearray(path.read_bytes())
    content[-60 * 4096 :] = os.urandom(60 * 4096)
    path.write_bytes(content)
    with pytest.raises(Damaged):  # noqa: PT012
        catalogue = Catalogue.open(folder)
        with catalogue.read() as tx:
            settings.all(tx)
            tx.exec_driver_sql("SELECT * FROM settings ORDER BY value").fetchall()


def _sqlite_fault(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, Busy),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Busy),
        (sqlite3.SQLITE_LOCKED, Busy),
        (sqlite3.SQLITE_FULL, CannotWrite),
        (sqlite3.SQLITE_READONLY, CannotWrite),
        (sqlite3.SQLITE_CANTOPEN, CannotWrite),
        (sqlite3.SQLITE_IOERR_FSYNC, CannotWrite),
        (sqlite3.SQLITE_IOERR_WRITE, CannotWrite),
        (sqlite3.SQLITE_IOERR_READ, Damaged),
        (sqlite3.SQLITE_CORRUPT, Damaged),
        (sqlite3.SQLITE_NOTADB, Damaged),
        (sqlite3.SQLITE_ERROR, StoreError),
    ],
)
def test_each_kind_of_database_error_has_its_own_meaning(code, kind):
    """SQLite's codes become the errors of the tree, each naming where, none leaking a foreign class."""
    error = database_error(_sqlite_fault(code), "here")
    assert type(error) is kind
    assert str(error).startswith("here: ")
    assert ": " in str(error)[6:]


def test_full_disk_during_a_commit_is_told_and_rolled_back(tmp_path):
    """A catalogue that may not grow raises CannotWrite about a full disk, and keeps what it had."""
    catalogue = Catalogue.open(_sqlite_store(tmp_path, a="1"))
    with pytest.raises(CannotWrite, match="disk is full"), catalogue.write() as tx:  # noqa: PT012
        pages = tx.exec_driver_sql("PRAGMA page_count").scalar()
        tx.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        settings.set(tx, "b", "x" * 1_000_000)
    with catalogue.read() as tx:
        assert settings.all(tx) == {"a": "1"}
    catalogue.close()


def test_broken_statement_is_still_our_error(catalogue):
    """Even an error of our own SQL reaches nobody as a foreign exception."""
    with pytest.raises(ClipstoreError), catalogue.read() as tx:
        tx.exec_driver_sql("SELECT nothing FROM nowhere")
