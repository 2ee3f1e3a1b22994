"""Format 14: Parquet, one row a caption or one row an image; only the columns needed are read.

``image`` may be ``struct<bytes, path>``: its path is the id, or where that is null the content's.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clipstore import keys
from clipstore.errors import BadFormat, InputError
from clipstore.formats import columns, roles
from clipstore.formats.format import Format
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clipstore.formats.roles import Chosen
    from clipstore.formats.source import Content
    from clipstore.items import ItemKey

_BATCH = 256


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether this is Parquet; its schema is looked at when it is read."""
    return content.kind == "parquet"


def read(content: Content, hints: Hints) -> Table:
    """Read the columns that hold ids, captions and scores.

    Raises
    ------
    BadFormat
        When the file is damaged, or no column holds captions or ids.
    """
    file = _open(content)
    names = _names(file, content.name)
    chosen = roles.choose(names, hints, content.name)
    wanted = {chosen.caption, chosen.score, chosen.file, *roles.EXTRA}.intersection(names) - {chosen.image}
    found = {name: _column(file, name, content.name) for name in sorted(name for name in wanted if name)}
    found[chosen.image] = _ids(file, chosen, content.name)
    if len(set(map(len, found.values()))) > 1:
        msg = f"{content.name}: Parquet that can't be read: its columns differ in length"
        raise BadFormat(msg)
    return columns.build(found, chosen, hints, content.name, Where("row"))


def images(content: Content, hints: Hints) -> Iterator[tuple[ItemKey, bytes]]:
    """Yield (id, bytes of the image file) of each row that holds its image; ids as :func:`read` gives them."""
    file = _open(content)
    names = _names(file, content.name)
    ids = _ids(file, roles.choose(names, hints, content.name), content.name)
    leaf = next((leaf for name in names if (leaf := _bytes_leaf(file, name)) is not None), None)
    if leaf is not None:
        for key, data in zip(ids, _blobs(file, leaf, content.name), strict=False):
            if data is not None:
                yield key, data


def _open(content: Content) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        msg = f"{content.name}: is Parquet; install the package pyarrow to read it"
        raise InputError(msg) from error
    source = content.value if isinstance(content.value, Path) else io.BytesIO(content.value)
    with _translated(content.name):
        return pq.ParquetFile(source)


@contextmanager
def _translated(name: str) -> Iterator[None]:
    """Turn what pyarrow raises on damaged bytes into BadFormat; ArrowInvalid is a ValueError."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, LookupError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        msg = f"{name}: Parquet that can't be read: {lines[0]}"
        raise BadFormat(msg) from error


def _names(file: Any, source: str) -> list[str]:
    with _translated(source):
        return list(file.schema_arrow.names)


def _column(file: Any, name: str, source: str) -> list[Any]:
    with _translated(source):
        values: list[Any] = file.read(columns=[name]).column(name.partition(".")[0]).to_pylist()
        return values


def _ids(file: Any, chosen: Chosen, source: str) -> list[Any]:
    kind = file.schema_arrow.field(chosen.image).type
    leaf = _bytes_leaf(file, chosen.image)
    if leaf is None:
        return _column(file, chosen.image, source)
    if "path" in _fields(kind):
        cells = _column(file, f"{chosen.image}.path", source)
        paths = [None if cell is None else cell.get("path") for cell in cells]
        if None not in paths:
            return paths
    return [None if data is None else keys.to_hex(keys.image_id(data)) for data in _blobs(file, leaf, source)]


def _fields(kind: Any) -> list[str]:
    import pyarrow as pa

    return [kind.field(index).name for index in range(kind.num_fields)] if pa.types.is_struct(kind) else []


def _bytes_leaf(file: Any, name: str) -> str | None:
    """Return the column of image bytes inside column ``name``, if it has one."""
    import pyarrow as pa

    kind = file.schema_arrow.field(name).type
    if "bytes" in _fields(kind):
        return f"{name}.bytes"
    return name if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None


def _blobs(file: Any, leaf: str, source: str) -> Iterator[bytes | None]:
    top, _, inner = leaf.partition(".")
    with _translated(source):
        batches = file.iter_batches(batch_size=_BATCH, columns=[leaf])
    while True:
        with _translated(source):
            batch = next(batches, None)
            cells = [] if batch is None else batch.column(top).to_pylist()
        if batch is None:
            return
        for cell in cells:
            yield cell.get(inner) if inner and cell is not None else cell


FORMAT = Format("parquet", "Parquet rows", ("parquet",), recognise, read, columns=True)
