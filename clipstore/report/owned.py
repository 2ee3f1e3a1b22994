"""The files of a folder that a report wrote, known by name and content: of those alone the next report disposes."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, final

from clipstore.errors import CannotWrite, InputError
from clipstore.formats.writing import save

if TYPE_CHECKING:
    from pathlib import Path

MARK: Final = ".clipstore-report"
"""The file that lists them: SHA-256 and name, a line each."""

_FOLDERS: Final = ("image", "pair", "thumbs", "static")
_NAMES: Final = re.compile(
    r"(index|plots|suspects|about|images-[a-z]+-\d+|rerank-\d+|image/\d+|pair/\d+-\d+)\.html"
    r"|thumbs/[0-9a-f]{24}\.webp|static/style\.css|static/pages\.js|comparison\.json"
)
_SAYS: Final = "# Written by clipstore report: the next report into this folder takes the place of these files."


@final
class Owned:
    """A folder that is being written. A file is listed before it is written, and is written whole or not at all.

    Parameters
    ----------
    folder
        Made by the first file.

    Raises
    ------
    InputError
        When it holds something else under the name of a page; the message names it, and nothing is changed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, set[str]] = {}
        self._written: dict[str, tuple[str, int]] = {}
        for line in self._listed():
            digest, _, name = line.partition("  ")
            self._known.setdefault(name, set()).add(digest)
        foreign = next((name for name in self._held() if not self._mine(name)), None)
        if foreign is not None:
            msg = f"{folder / foreign}: is there, and no report wrote it so: give -o another folder, or move it away"
            raise InputError(msg)

    def _listed(self) -> list[str]:
        path = self._folder / MARK
        try:
            lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{path}: is no list that a report wrote: give -o another folder"
            raise InputError(msg) from error
        return [line for line in lines if _NAMES.fullmatch(line.partition("  ")[2])]

    def _held(self) -> list[str]:
        """Return what stands where pages go, sorted: files with such names, and folders that lead elsewhere."""
        found: list[str] = []
        for own in (self._folder, *(self._folder / name for name in _FOLDERS)):
            if own is not self._folder and (own.is_symlink() or (own.exists() and not own.is_dir())):
                found.append(own.name)
            elif own.is_dir():
                names = (path.relative_to(self._folder).as_posix() for path in own.iterdir())
                found += [name for name in names if _NAMES.fullmatch(name)]
        return sorted(found)

    def _mine(self, name: str) -> bool:
        path = self._folder / name
        if name not in self._known or path.is_symlink() or not path.is_file():
            return False
        return hashlib.sha256(path.read_bytes()).hexdigest() in self._known[name]

    def put(self, name: str, data: bytes) -> None:
        """Write a file of the folder.

        Raises
        ------
        CannotWrite
            When it can't be written.
        """
        path = self._folder / name
        digest = hashlib.sha256(data).hexdigest()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if digest not in self._known.get(name, ()):
                with (self._folder / MARK).open("a", encoding="utf-8") as mark:
                    mark.write(f"{digest}  {name}\n")
                self._known.setdefault(name, set()).add(digest)
            draft = path.with_name(f".{path.name}.tmp")
            draft.write_bytes(data)
            draft.replace(path)
        except OSError as error:
            msg = f"can't write {path}: {(error.strerror or str(error)).lower()}"
            raise CannotWrite(msg) from error
        self._written[name] = digest, len(data)

    def clear(self, below: str = "") -> None:
        """Take away what an earlier report left below a folder and this one did not write.

        Raises
        ------
        CannotWrite
            When it can't be taken away.
        """
        for name in self._held():
            if name.startswith(below) and name not in self._written:
                path = self._folder / name
                try:
                    path.unlink()
                except OSError as error:
                    msg = f"can't take away {path}, of an earlier report: {(error.strerror or str(error)).lower()}"
                    raise CannotWrite(msg) from error
                self._known.pop(name, None)

    def finish(self) -> tuple[int, int]:
        """Take away the rest of an earlier report, list what there is, and return bytes and files in all.

        Raises
        ------
        CannotWrite
            When something can't be written or taken away.
        """
        self.clear()
        lines = [f"{digest}  {name}\n" for name, (digest, _) in sorted(self._written.items())]
        mark = "".join([f"{_SAYS}\n", *lines]).encode()
        save(self._folder / MARK, mark)
        return sum(size for _, size in self._written.values()) + len(mark), len(self._written) + 1
