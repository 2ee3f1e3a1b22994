"""A full disk and a folder that can't be written: a clear error, and the store is as it was."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import worker
from drawn import segment_bytes
from processes import HERE, ROOT
from sqlalchemy import exc

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.errors import CannotWrite
from clipstore.storage import faults
from clipstore.storage.check import check

FILE_STEPS = ("file opened", "file written", "file synced", "file renamed", "folder synced")
ROW_STEPS = ("row inserting", "row inserted", "committing")


def _full_disk(step: str) -> Exception:
    """Return what a full disk raises at a step: the system's error for a file, SQLite's for a row."""
    if step in FILE_STEPS:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return exc.OperationalError("INSERT", (), error)


@pytest.mark.parametrize("step", [*FILE_STEPS, *ROW_STEPS])
def test_a_disk_that_fills_at_any_step_is_told_and_changes_nothing(store: Store, step: str) -> None:
    """ENOSPC at each step of a commit: CannotWrite with the remedy, what stood stands, and a rerun finishes the work."""
    space = store.custom_space(FakeEncoder(worker.DIM), "fake")
    space.ensure_texts(["stored before"])
    before = segment_bytes(store.folder)

    def fail(reached: str) -> None:
        if reached == step:
            raise _full_disk(step)

    faults.install(fail)
    try:
        with pytest.raises(CannotWrite, match=r"disk is full.*free some space and rerun"):
            space.ensure_texts(["new"])
    finally:
        faults.install(None)
    kept = segment_bytes(store.folder)
    assert {name: kept[name] for name in before} == before
    assert (len(kept) > len(before)) == (step in ROW_STEPS)  # a whole file that no row names is litter, not harm
    assert list(store.folder.rglob("*.tmp")) == []
    assert {finding.severity for finding in check(store.folder, store.catalogue)} <= {"note"}
    assert not space.shelf("text").contains(space.text_keys(["new"])).any()
    assert space.ensure_texts(["stored before", "new"]).encoded == 1
    expected = FakeEncoder(worker.DIM).encode_texts(["stored before", "new"])
    assert np.array_equal(space.gather_texts(space.text_keys(["stored before", "new"])), expected)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}


def _in_a_mount(mount: str, *arguments: str) -> None:
    """Run ``hard_times.py`` where only it sees a mount; skip where this system lets nobody mount."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare program, so no mount of our own")
    command = [unshare, "--map-root-user", "--mount", "sh", "-c"]
    probe = subprocess.run([*command, mount], capture_output=True, text=True, check=False, timeout=60)
    if probe.returncode:
        pytest.skip(f"this system lets us mount nothing: {probe.stderr.strip()}")
    run = f'{mount} && exec "{sys.executable}" -W error "{HERE / "hard_times.py"}" {" ".join(arguments)}'
    done = subprocess.run([*command, run], capture_output=True, text=True, check=False, timeout=120, env=_environment())
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def test_a_small_disk_fills_and_the_store_stands(tmp_path: Path) -> None:
    """A real disk of four megabytes fills: a clear error, all that was committed is there, and with space work goes on."""
    folder = tmp_path / "disk"
    folder.mkdir()
    _in_a_mount(f'mount -t tmpfs -o size=4m tmpfs "{folder}"', "full", f'"{folder}"')


def test_a_read_only_file_system_serves_and_refuses(tmp_path: Path) -> None:
    """A store on a file system mounted read-only is read; adding to it says why it can't be; not a byte changes."""
    shown, folder = tmp_path / "shown", tmp_path / "store"
    shown.mkdir()
    with Store.open(folder) as store:
        store.custom_space(FakeEncoder(512), "fake").ensure_texts([worker.text(number) for number in range(100)])
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    mount = f'mount --bind "{folder}" "{shown}" && mount -o remount,bind,ro "{shown}"'
    _in_a_mount(mount, "read-only", f'"{shown}"')
    assert {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()} == before


def test_a_folder_without_write_permission_serves_and_refuses(new_store: Callable[[str], Path]) -> None:
    """A store whose folders and files nobody may write is read by an ordinary user, and refuses anything new."""
    folder = new_store("sqlite")
    with Store.open(folder) as store:
        store.custom_space(FakeEncoder(512), "fake").ensure_texts([worker.text(number) for number in range(100)])
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in [*folder.parents][:-2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    before = {path: path.read_bytes() for path in paths if path.is_file()}
    command = [sys.executable, "-W", "error", str(HERE / "hard_times.py"), "as-nobody", str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=_environment(), cwd="/"
    )
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    assert {path: path.read_bytes() for path in paths if path.is_file()} == before
