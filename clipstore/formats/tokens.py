"""Format 16: Flickr token files, ``13869_9e8.jpg#0<TAB>a boy runs``; the number counts captions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clipstore.errors import BadFormat
from clipstore.formats.format import Format
from clipstore.formats.values import Hints, Table, Where

if TYPE_CHECKING:
    from clipstore.formats.source import Content

_LINE = re.compile(r"(.+)#([0-9]+)\t(.*)")


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether the first line that is not empty is a token line."""
    return _LINE.fullmatch(content.text.lstrip("\n").partition("\n")[0].rstrip("\r")) is not None


def read(content: Content, hints: Hints) -> Table:  # noqa: ARG001
    """Read the lines, in order; ids are file names.

    Raises
    ------
    BadFormat
        Naming the first line of another shape.
    """
    ids, texts, numbers = [], [], []
    for number, line in enumerate(content.text.split("\n"), start=1):
        if line.strip():
            found = _LINE.fullmatch(line.rstrip("\r"))
            if found is None:
                msg = f"{content.name}: line {number} is not NAME#NUMBER<TAB>CAPTION: {line[:60]!r}"
                raise BadFormat(msg)
            ids.append(found[1])
            texts.append(found[3])
            numbers.append(number)
    return Table(list(ids), texts, where=Where("line", numbers), nested=True, id_kind="name")


FORMAT = Format("flickr-tokens", "Flickr token file", ("text",), recognise, read)
