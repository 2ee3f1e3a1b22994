"""Format 15: WebDataset and img2dataset tars; a key is a member's path up to its first dot.

A failed download has metadata and no image: it is left out and counted.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clipstore.errors import BadFormat
from clipstore.formats import jsontext, source
from clipstore.formats.format import Format
from clipstore.formats.images import has_image_extension
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clipstore.formats.source import Content

_LARGEST = 1 << 24
_TEXTS = frozenset({"txt", "json", "caption", "text"})
_NOTE = "images in these shards may have been resized or encoded anew, so scores can differ from the originals'"


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether this is a tar archive."""
    return content.kind == "tar"


def read(content: Content, hints: Hints) -> Table:  # noqa: ARG001
    """Read the captions; ids are keys.

    Raises
    ------
    BadFormat
        When the archive is cut off or damaged, or a member can't be read as text.
    """
    texts: dict[str, Any] = {}
    files: dict[str, str] = {}
    failed: set[str] = set()
    for key, extension, member, archive in _members(content):
        if has_image_extension(member.name):
            files[key] = member.name
        elif extension == "json":
            entry = jsontext.parse(_text(archive, member, content), f"{content.name}/{member.name}")
            if isinstance(entry, dict):
                failed |= {key} if entry.get("status", "success") != "success" else set()
                texts.setdefault(key, entry["caption"]) if entry.get("caption") is not None else None
        elif extension in _TEXTS:
            texts[key] = _text(archive, member, content).removesuffix("\n")
    ids = [key for key in texts if key not in failed]
    count = len(failed)
    notes = (f"{count:,} failed download{'s' if count > 1 else ''} left out",) if count else ()
    return Table(
        list(ids),
        [texts[key] for key in ids],
        where=Where("sample"),
        notes=(*notes, _NOTE),
        file_names={key: name for key, name in files.items() if key in texts} or None,
        id_kind="key up to the first dot",
    )


def images(content: Content, hints: Hints) -> Iterator[tuple[str, bytes]]:  # noqa: ARG001
    """Yield (key, bytes of the image file) of each image in the archive."""
    for key, _, member, archive in _members(content):
        if has_image_extension(member.name):
            yield key, _bytes(archive, member, content.name)


def _members(content: Content) -> Iterator[tuple[str, str, tarfile.TarInfo, tarfile.TarFile]]:
    try:
        with _open(content) as archive:
            for member in archive:
                folder, slash, name = member.name.rpartition("/")
                key, _, extension = name.partition(".")
                if member.isfile() and key:
                    yield folder + slash + key, extension.lower(), member, archive
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        msg = f"{content.name}: the tar archive is cut off or damaged: {error}"
        raise BadFormat(msg) from error


def _open(content: Content) -> tarfile.TarFile:
    if isinstance(content.value, Path):
        return tarfile.open(content.value, "r:")
    return tarfile.open(fileobj=io.BytesIO(content.value), mode="r:")


def _bytes(archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> bytes:
    try:
        file = archive.extractfile(member)
        return b"" if file is None else file.read()
    except (tarfile.TarError, OSError, KeyError) as error:
        msg = f"{name}: can't read {member.name}: {error}: is the archive still being written?"
        raise BadFormat(msg) from error


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo, content: Content) -> str:
    if member.size > _LARGEST:
        msg = f"{content.name}: {member.name} is too large to be a caption ({member.size:,} bytes)"
        raise BadFormat(msg)
    return source.decode(_bytes(archive, member, content.name), f"{content.name}/{member.name}")


FORMAT = Format("webdataset", "WebDataset tar", ("tar",), recognise, read)
