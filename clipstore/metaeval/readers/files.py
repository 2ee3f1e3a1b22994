"""The files of a benchmark: where they are, and what to say where they are not."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from clipstore.errors import BadFormat, InputError
from clipstore.formats import source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """A file as published.

    Parameters
    ----------
    name
        What it is called.
    origin
        Where it comes from, in words.
    count
        What it holds, such as ``5,822 lines``.
    md5
        Checksum of the published file, where one is known.
    """

    name: str
    origin: str
    count: str = ""
    md5: str = ""

    def find(self, folder: Path) -> Path:
        """Return the file: in the folder itself, or in one below it.

        Raises
        ------
        InputError
            When it is nowhere; the message says which file, from where, and what it should hold.
        """
        return find_all(folder, self)[0]

    @property
    def described(self) -> str:
        """What it is called, where it comes from, what it holds and its checksum."""
        checksum = f"md5:{self.md5}" if self.md5 else "no checksum of it is known"
        return f"{self.name}, from {self.origin} ({', '.join(part for part in (self.count, checksum) if part)})"

    def search(self, folder: Path) -> Path | None:
        """Return the file, None where it is nowhere."""
        if not folder.is_dir():
            msg = f"--data {folder}: no such folder"
            raise InputError(msg)
        direct = folder / self.name
        below = sorted(path for path in folder.glob(f"*/{self.name}") if path.is_file())
        return direct if direct.is_file() else next(iter(below), None)

    def differs(self, path: Path) -> str:
        """Return a note where a file is not the published one; empty where it is, or nothing is known of it."""
        if not self.md5:
            return ""
        own = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        return "" if own == self.md5 else f"{path.name} has md5:{own}, the published file md5:{self.md5}"


def find_all(folder: Path, *wanted: Wanted) -> list[Path]:
    """Return several files, each in the folder itself or in one below it.

    Raises
    ------
    InputError
        When some are nowhere; the message says of every one what it is, from where, what it holds and its checksum.
    """
    found = [one.search(folder) for one in wanted]
    missing = [one.described for one, path in zip(wanted, found, strict=True) if path is None]
    if missing:
        what = "a file is" if len(missing) == 1 else f"{len(missing)} files are"
        msg = f"{folder}: {what} not there or one folder below: {'; '.join(missing)}: put it into the folder of --data"
        raise InputError(msg if len(missing) == 1 else msg.replace(": put it into", ": put them into"))
    return [path for path in found if path is not None]


def either(folder: Path, *wanted: Wanted) -> Wanted:
    """Return the first of several files that is there, by its name; the first of all where none is."""
    return next((one for one in wanted if one.search(folder) is not None), wanted[0])


def joined(text: str) -> str:
    """Return a caption with its white space joined to single spaces."""
    return " ".join(text.split())


def lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the tab-separated cells of each line that is not empty."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            yield number, line.split("\t")


def read_text(path: Path) -> str:
    """Read a file as UTF-8; one that is not is read as Latin-1, as the oldest files are.

    Raises
    ------
    InputError
        When it can't be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        msg = f"can't read {path}: {error.strerror or error}"
        raise InputError(msg) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    BadFormat
        When it is no JSON.
    """
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        msg = f"{path.name}: broken JSON at line {error.lineno}: {error.msg}"
        raise BadFormat(msg) from error


def records(path: Path) -> list[dict[str, Any]]:
    """Read rows of a CSV, TSV, JSON, JSONL or Parquet file, plain or compressed.

    Raises
    ------
    InputError
        When it can't be read.
    BadFormat
        When it holds no rows.
    """
    content = source.open_path(path)
    if content.kind == "parquet":
        return _parquet(content.value, path.name)
    if content.kind in {"rows", "object"}:
        return [dict(row) for row in content.rows]
    if content.kind == "text":
        first = content.text.partition("\n")[0]
        delimiter = "\t" if "\t" in first else ","
        reader = csv.DictReader(io.StringIO(content.text, newline=""), delimiter=delimiter)
        try:
            rows = [dict(row) for row in reader]
        except csv.Error as error:
            msg = f"{path.name}: line {reader.line_num}: {error}"
            raise BadFormat(msg) from error
        long = next((at for at, row in enumerate(rows, 1) if None in row), None)
        if long is not None:
            msg = f"{path.name}: row {long} has more cells than the header: quote cells that hold {delimiter!r}"
            raise BadFormat(msg)
        return rows
    msg = f"{path.name}: holds {content.kind}; rows are needed: CSV with a header, JSONL or Parquet"
    raise BadFormat(msg)


def _parquet(value: Any, name: str) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[dict[str, Any]] = pq.read_table(value).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        msg = f"{name}: Parquet that can't be read: {str(error).partition(chr(10))[0]}"
        raise BadFormat(msg) from error
    return rows


def column(row: dict[str, Any], names: Sequence[str], path: Path, at: int) -> Any:
    """Return the first of some columns that a row has.

    Raises
    ------
    BadFormat
        When it has none.
    """
    for name in names:
        if row.get(name) is not None:
            return row[name]
    msg = f"{path.name}: row {at} has no {' or '.join(names)} (it has: {', '.join(map(str, row))})"
    raise BadFormat(msg)


def number(value: Any, path: Path, at: int) -> float:
    """Return a cell as a number.

    Raises
    ------
    BadFormat
        When it is none.
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.inf
    if math.isinf(found):
        msg = f"{path.name}: row {at}: {value!r} is no number"
        raise BadFormat(msg)
    return found


def load_mat(path: Path) -> dict[str, Any]:
    """Read a MATLAB file.

    Raises
    ------
    InputError
        When SciPy is not installed; the message names the extra.
    BadFormat
        When it is no MATLAB file, is cut off, or is one of version 7.3, which SciPy does not read.
    """
    try:
        from importlib import import_module

        read: Callable[[str], dict[str, Any]] = import_module("scipy.io").loadmat
    except ImportError as error:
        msg = f"{path.name} is a MATLAB file, which needs SciPy: install it with `pip install 'clipstore[metaeval]'`"
        raise InputError(msg) from error
    try:
        return read(str(path))
    except Exception as error:  # SciPy raises a dozen kinds on damaged bytes, zlib's and struct's among them
        msg = f"{path.name}: a MATLAB file that can't be read: {str(error) or type(error).__name__}"
        raise BadFormat(msg) from error
