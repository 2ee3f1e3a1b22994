"""The lease: where WAL does not work, one host writes at a time; tested with two simulated hosts."""

from __future__ import annotations

import os
import sqlite3
import time

import pytest

from clipstore.errors import Busy
from clipstore.storage import lease
from clipstore.storage.catalogue import Catalogue, journal, settings


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Return a function that opens the same store as a named host, on a file system without WAL."""
    monkeypatch.setattr(journal, "_probe", lambda _folder: False)
    opened = []

    def open_on(host):
        monkeypatch.setattr(lease, "host", lambda: host)
        opened.append(Catalogue.open(tmp_path / "store"))
        return opened[-1]

    yield open_on
    for one in opened:
        one.close()


def _write(catalogue, value, patience=0.0):
    with catalogue.write(patience) as tx:
        settings.set(tx, "value", value)


def _read(catalogue):
    with catalogue.read() as tx:
        return settings.get(tx, "value")


def test_one_host_writes_and_any_host_reads(shared, tmp_path):
    """While one host writes, another reads, and is told who writes and what to do."""
    one = shared("one")
    _write(one, "1")
    other = shared("other")
    assert _read(other) == "1"
    with pytest.raises(Busy, match=r"one \(process \d+\).*add --spool"):
        _write(other, "2")
    assert _read(other) == "1"
    assert lease.holder(tmp_path / "store") == lease.Holder("one", os.getpid())


def test_processes_of_one_host_share_its_lease(shared):
    """A second writer on the same host goes on at once."""
    one, again = shared("one"), shared("one")
    _write(one, "1")
    _write(again, "2")
    assert _read(one) == "2"


def test_a_long_transaction_keeps_its_lease(shared, monkeypatch):
    """The lease is renewed while its holder writes, however long: no other host comes in."""
    monkeypatch.setattr(lease, "STALE", 0.4)
    one, other = shared("one"), shared("other")
    monkeypatch.setattr(lease, "host", lambda: "one")
    with one.write() as tx:
        monkeypatch.setattr(lease, "host", lambda: "other")
        with pytest.raises(Busy, match="one host writes at a time"), lease.held(other.folder, 1.5):
            pass
        settings.set(tx, "value", "1")
    assert _read(other) == "1"


def test_a_silent_host_loses_its_lease(shared, tmp_path):
    """After the stated time without a write the other host takes over, and the first is then the one that waits."""
    one = shared("one")
    _write(one, "1")
    past = time.time() - lease.STALE - 1
    os.utime(tmp_path / "store" / lease.FILE, (past, past))
    other = shared("other")
    _write(other, "2")
    assert lease.holder(tmp_path / "store").host == "other"
    shared("one")
    with pytest.raises(Busy, match="other"):
        _write(one, "3")
    assert [path.name for path in (tmp_path / "store").glob(".writer*")] == []


def test_a_writer_waits_for_the_lease(shared, tmp_path, monkeypatch):
    """A writer with patience waits until the other host has fallen silent."""
    monkeypatch.setattr(lease, "STALE", 0.5)
    _write(shared("one"), "1")
    other = shared("other")
    start = time.monotonic()
    _write(other, "2", patience=10.0)
    assert 0.2 < time.monotonic() - start < 9
    assert _read(other) == "2"


def test_a_lease_renewed_in_the_last_moment_is_given_back(tmp_path, monkeypatch):
    """Who breaks a lease looks at what it took: one that changed hands meanwhile goes back."""
    monkeypatch.setattr(lease, "host", lambda: "third")
    path = tmp_path / lease.FILE
    lease._create(path)
    lease._break(path, lease.Holder("one", 1))
    assert lease.holder(tmp_path).host == "third"
    lease._break(path, lease.Holder("third", os.getpid()))
    assert lease.holder(tmp_path) is None


def test_half_a_lease_is_waited_out(tmp_path, monkeypatch):
    """A file that a crash left half written holds until it is stale."""
    path = tmp_path / lease.FILE
    path.write_text('{"host": "on', encoding="utf-8")
    with pytest.raises(Busy, match="unknown host"), lease.held(tmp_path, 0.0):
        pass
    past = time.time() - lease.STALE - 1
    os.utime(path, (past, past))
    with lease.held(tmp_path, 0.0):
        assert lease.holder(tmp_path).host == lease.host()


def test_with_wal_there_is_no_lease(tmp_path):
    """On a local disk, where SQLite's own locks work, no lease is taken."""
    catalogue = Catalogue.open(tmp_path / "store")
    _write(catalogue, "1")
    assert not (tmp_path / "store" / lease.FILE).exists()
    catalogue.close()


def test_without_wal_it_says_so(shared, caplog):
    """A store on a file system without WAL gets a rollback journal, and a warning that names the limit."""
    catalogue = shared("one")
    assert "only one host should write at a time" in caplog.text
    with sqlite3.connect(catalogue.folder / "catalogue.sqlite") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()
