"""Where input comes from: a file, standard input, bytes or Python values -> Content.

Compression and encoding are undone here; JSON is parsed here; no format is decided here.
"""

from __future__ import annotations

import gzip
import lzma
import re
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast, final

from clipstore.errors import BadFormat, InputError
from clipstore.formats import jsontext
from clipstore.formats.images import is_image
from clipstore.formats.values import Where

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Kind = Literal["object", "rows", "strings", "text", "parquet", "tar"]
"""object: one JSON object; rows: a list of objects; strings: a list of texts; text: lines or CSV."""

STDIN = "standard input"
_GZIP, _ZSTD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
_TAR_MAGIC, _TAR_AT = b"ustar", 257
_HEAD = 512
_URL = re.compile(r"(https?|ftp|s3|gs|hdfs):/", re.IGNORECASE)
_KIND_WORDS = {
    bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object",
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Content:
    """One input, opened: its shown name, its kind, and its value.

    Parameters
    ----------
    name
        What messages call it.
    kind
        What ``value`` is.
    value
        The parsed JSON, the text, or for Parquet and tar the path or the bytes.
    where
        How to name a row.
    """

    name: str
    kind: Kind
    value: Any
    where: Where = field(default_factory=Where)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows; for a single object, that object as the only row."""
        if self.kind == "object":
            return [self.value]
        return cast("list[dict[str, Any]]", self.value) if self.kind == "rows" else []

    @property
    def object(self) -> Mapping[Any, Any]:
        """The JSON object, or an empty one."""
        return cast("Mapping[Any, Any]", self.value) if self.kind == "object" else {}

    @property
    def text(self) -> str:
        """The text, or an empty one."""
        return cast("str", self.value) if self.kind == "text" else ""

    def first_row(self) -> dict[str, Any]:
        """Return the first row, or an empty one."""
        rows = self.rows
        return rows[0] if rows else {}


def open_path(path: Path, *, as_text: bool = False) -> Content:
    """Open one file.

    Parameters
    ----------
    path
        A file, plain or compressed with gzip, zstd or xz.
    as_text
        Keep the text as it is, even where it looks like JSON.

    Raises
    ------
    InputError
        When it is missing or may not be read.
    BadFormat
        When it is empty, cut off, not UTF-8 or broken JSON.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            kind = _binary_kind(head)
            if kind is not None:
                return Content(path.name, kind, path)
            data = head + file.read()
    except FileNotFoundError as error:
        url = ": URLs are not fetched, download it first" if is_url(str(path)) else ""
        msg = f"no such file: {path}{url}"
        raise InputError(msg) from error
    except (OSError, ValueError) as error:
        msg = f"can't read {path}: {getattr(error, 'strerror', None) or error}"
        raise InputError(msg) from error
    return open_bytes(data, path.name, as_text=as_text)


def is_url(path: str) -> bool:
    """Return whether a path looks like a URL, whose second slash ``Path`` takes away."""
    return _URL.match(path) is not None


def open_stdin(*, as_text: bool = False) -> Content:
    """Read standard input to its end and open it.

    Raises
    ------
    BadFormat
        When nothing is left of it: it was given twice.
    """
    data = sys.stdin.buffer.read()
    if not data:
        msg = f"{STDIN}: is empty; it can be read once, for one system or for references"
        raise BadFormat(msg)
    return open_bytes(data, STDIN, as_text=as_text)


def open_bytes(data: bytes, name: str, *, as_text: bool = False) -> Content:
    """Open the bytes of a file; see :func:`open_path`."""
    data = _decompress(data, name)
    kind = _binary_kind(data[:_HEAD])
    if kind is not None:
        return Content(name, kind, data)
    text = decode(data, name)
    if not text.strip():
        msg = f"{name}: is empty"
        raise BadFormat(msg)
    if as_text or text.lstrip()[0] not in "{[":
        return Content(name, "text", text, Where("line"))
    return _open_json(text, name)


def open_value(value: object, name: str) -> Content:
    """Wrap Python values as Content: a mapping, rows, (id, caption) pairs or strings.

    Raises
    ------
    BadFormat
        When a list mixes kinds or holds none that is known.
    """
    if isinstance(value, dict):
        return Content(name, "object", value)
    rows = [dict(row) if isinstance(row, Mapping) else row for row in cast("Iterable[Any]", value)]
    return _wrap_list(rows, name, Where("row"))


def _open_json(text: str, name: str) -> Content:
    if text.lstrip().startswith("{") and jsontext.is_lines(text):
        values, numbers = jsontext.parse_lines(text, name)
        return _wrap_list(values, name, Where("line", numbers))
    value = jsontext.parse(text.strip("\ufeff"), name)
    if isinstance(value, dict):
        return Content(name, "object", value)
    return _wrap_list(value, name, Where("row"))


def _wrap_list(values: list[Any], name: str, where: Where) -> Content:
    kinds = set(map(type, values))
    if kinds <= {dict}:
        return Content(name, "rows", values, where)
    if kinds == {str}:
        return Content(name, "strings", values, where)
    if kinds <= {list, tuple} and all(len(value) == 2 for value in values):
        return Content(name, "rows", [{"image": key, "caption": text} for key, text in values], where)
    odd = next(row for row, value in enumerate(values) if type(value) is not type(values[0]) or len(kinds) == 1)
    msg = f"{name}: {where(odd)} is {kind_of(values[odd])}; a list of captions holds objects, one a caption"
    raise BadFormat(msg)


def kind_of(value: object) -> str:
    """Return a JSON value's kind in words, for messages."""
    return "null" if value is None else _KIND_WORDS.get(type(value), f"a {type(value).__name__}")


def decode(data: bytes, name: str) -> str:
    """Decode a text file: UTF-8, or UTF-16 where a byte order mark says so.

    Raises
    ------
    BadFormat
        With the offset of the first wrong byte.
    """
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if is_image(data[:_HEAD]):
            msg = f"{name}: is an image, not a file of captions"
            raise BadFormat(msg) from error
        msg = f"{name}: not {error.encoding.upper()} at byte {error.start}: save the file as UTF-8"
        raise BadFormat(msg) from error


def _binary_kind(head: bytes) -> Literal["parquet", "tar"] | None:
    if head[: len(_PARQUET)] == _PARQUET:
        return "parquet"
    return "tar" if head[_TAR_AT : _TAR_AT + len(_TAR_MAGIC)] == _TAR_MAGIC else None


def _decompress(data: bytes, name: str) -> bytes:
    try:
        if data[:2] == _GZIP:
            return gzip.decompress(data)
        if data[:4] == _ZSTD:
            return _unzstd(data, name)
        if data[:6] == b"\xfd7zXZ\x00":
            return lzma.decompress(data)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        msg = f"{name}: the compressed data is cut off or damaged: {error}"
        raise BadFormat(msg) from error
    return data


def _unzstd(data: bytes, name: str) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        msg = f"{name}: is compressed with zstd; install the package zstandard, or unpack it first"
        raise InputError(msg) from error
    try:
        parts = []
        while data:
            frame = zstandard.ZstdDecompressor().decompressobj()
            parts.append(frame.decompress(data))
            if not frame.eof:
                msg = "it ends inside a frame"
                raise EOFError(msg)
            data = frame.unused_data
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from error
    return b"".join(parts)
