"""A comparison as one zip file, for the supplement of a paper: captions, references, numbers, signatures."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from clipstore.compare.exports import per_item
from clipstore.errors import CannotWrite, InputError

if TYPE_CHECKING:
    from clipstore.compare.parts import Part
    from clipstore.compare.results import Comparison

_README = """A comparison of image captioning systems, written by clipstore.

report.json      every number, interval and test; `clipstore replay report.json` computes it again
table.txt        the table as text, with the notes and signatures
signatures.txt   how each column was made and tested
SET/captions/    the captions of each system, and of each of its runs, {"image id": "caption"}
SET/references.json   {"image id": ["reference", ...]}
SET/per_item.csv      one row an image and system: the caption and its numbers
"""


def write(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the bundle, whole or not at all; equal comparisons give equal files.

    Raises
    ------
    InputError
        When the captions are not at hand (a comparison of plain scores).
    CannotWrite
        When the file can't be written.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as raw, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as file:
                for name, content in contents(comparison).items():
                    # The earliest time that a zip file can hold: no clock in a bundle.
                    file.writestr(zipfile.ZipInfo(name), content.encode(), zipfile.ZIP_DEFLATED)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        msg = f"can't write {target}: {(error.strerror or str(error)).lower()}"
        raise CannotWrite(msg) from error


def contents(comparison: Comparison) -> dict[str, str]:
    """Return file name -> content of a bundle.

    Raises
    ------
    InputError
        When the captions are not at hand.
    """
    out = {
        "README.txt": _README,
        "report.json": comparison.to_json(),
        "table.txt": comparison.to_text(),
        "signatures.txt": "".join(f"{line}\n" for line in comparison.signed),
    }
    wholes = [part for part in comparison.parts if part.slice is None]
    for number, part in enumerate(wholes, 1):
        folder = _safe(part.measured.set_name or (f"set{number}" if len(wholes) > 1 else "set"))
        out |= {f"{folder}/{name}": content for name, content in _of_part(part).items()}
    return out


def _of_part(part: Part) -> dict[str, str]:
    keys = part.measured.items.keys
    out: dict[str, str] = {}
    for place, system in enumerate(part.measured.systems, 1):
        for number, one in enumerate(system.members or (system,), 1):
            if not one.texts:
                msg = "the captions are not at hand: bundle a comparison of measured systems, not of plain scores"
                raise InputError(msg)
            held = {str(key): text for key, text in zip(keys, one.texts, strict=True) if text is not None}
            run = f".run{number}" if system.members else ""
            out[f"captions/{place:02d}-{_safe(system.name)}{run}.json"] = _json(held)
    texts = part.measured.items.references
    if any(texts):
        out["references.json"] = _json({str(key): list(own) for key, own in zip(keys, texts, strict=True)})
    table = io.StringIO()
    rows = list(per_item(part))
    writer = csv.DictWriter(table, list(rows[0]) if rows else ["image"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return {**out, "per_item.csv": table.getvalue()}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=0) + "\n"


def _safe(name: str) -> str:
    """Return a name that is one part of a path on any system."""
    return re.sub(r"[^\w.+-]+", "_", name).strip(".") or "unnamed"
