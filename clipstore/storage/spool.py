"""The spool: additions of hosts that may not write rows. A parcel is a folder of segments and a manifest, no SQL.

A parcel is built beside its place and renamed into ``incoming/`` when it is whole. The next
opener that can write at once adopts it: doing so twice changes nothing, so a kill in between is no harm.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import re
import shutil
import uuid
from itertools import chain
from typing import TYPE_CHECKING, Any

from clipstore.errors import BadFormat, Busy, CannotWrite, ClipstoreError, Damaged
from clipstore.storage import compact, durable, location
from clipstore.storage import segments as files
from clipstore.storage.catalogue import segments, settings
from clipstore.storage.catalogue.segments import SegmentRow
from clipstore.storage.exchange import manifest, merging
from clipstore.storage.translate import writing
from clipstore.storage.upgrade import file_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from clipstore.storage.catalogue import Catalogue, Tx
    from clipstore.storage.exchange.manifest import Record

FOLDER = "incoming"
MANIFEST = "manifest.jsonl"

logger = logging.getLogger("clipstore.storage")

_AT_ONCE = 0.0  # an opener waits for nobody: parcels can
_DONE = ".adopted"
_SETS = {"set", "system"}
_NAME = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{16}")


def deliver(source: Catalogue, store: Path) -> Path | None:
    """Put all that a small store holds into the spool of another; return the parcel, or None when it holds nothing.

    Parameters
    ----------
    source
        The catalogue of the small store, which is on this host alone.
    store
        The folder of the store that is to adopt it; its catalogue is not touched.

    Raises
    ------
    CannotWrite
        When the spool can't be written; no half parcel stays.
    """
    with source.read() as tx:
        table = segments.all(tx)
        records = list(_packed(tx, table))
    if not any(record[0] not in {"space", "prompt", "alias"} for record in records):
        return None
    name = uuid.uuid4().hex
    parcel, partial = store / FOLDER / name, store / FOLDER / f".{name}.part"
    with writing(str(store / FOLDER)):
        try:
            durable.make_folder(partial)
            for row in table:
                _put(partial, f"{row.name}.faiss", [row.path(source.folder).read_bytes()])
            _put(partial, MANIFEST, (f"{json.dumps(one)}\n".encode() for one in records))
            partial.rename(parcel)
            durable.sync_folder(parcel.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return parcel


def _put(folder: Path, name: str, parts: Iterable[bytes]) -> None:
    durable.write(folder, parts, lambda _digest: name)


def _packed(tx: Tx, table: list[SegmentRow]) -> Iterator[Record]:
    environments = settings.environments(tx)
    yield from chain(manifest.pack_names(tx), manifest.pack_contents(tx), manifest.pack_sets(tx))
    for row in table:
        yield ["segment", dataclasses.asdict(row), environments.get(row.environment or -1)]


def waiting(store: Path) -> list[Path]:
    """Return the parcels that wait to be adopted, oldest first."""
    try:
        found = [path for path in (store / FOLDER).iterdir() if not path.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def adopt(catalogue: Catalogue) -> int:
    """Bring waiting parcels into the store and return how many; where it is read-only or busy they wait on.

    A parcel that can't be adopted is set aside, with a warning that says why. Where it is the store that is
    damaged, parcels wait until it is mended.
    """
    if catalogue.readonly or not waiting(catalogue.folder):
        return 0
    done = 0
    try:
        with file_lock(catalogue.folder / f"{FOLDER}.lock", patience=0.0):
            for rest in (catalogue.folder / FOLDER).glob(f".*{_DONE}"):  # adopted, and the process was killed
                shutil.rmtree(rest, ignore_errors=True)
            for parcel in waiting(catalogue.folder):
                done += _adopt(catalogue, parcel)
    except (Busy, CannotWrite) as error:
        logger.debug("%s: the spool waits on: %s", catalogue.url_shown, error)
    return done


def _adopt(catalogue: Catalogue, parcel: Path) -> bool:
    try:
        records = _read(parcel / MANIFEST)
        named = [record for record in records if record[0] in _SETS]
        manifest.refuse_clashes(catalogue, named, str(parcel))
        manifest.unpack(catalogue, (record for record in records if record[0] not in _SETS | {"segment"}), _AT_ONCE)
        for _kind, fields, environment in (record for record in records if record[0] == "segment"):
            row = _row(fields, parcel)
            merging.take(catalogue, row, parcel / f"{row.name}.faiss", environment, _AT_ONCE)
            compact.tidy(catalogue, row.digest, row.modality)
        with catalogue.write(_AT_ONCE) as tx:
            manifest.put(tx, named)
    except (Busy, CannotWrite):
        raise
    except ClipstoreError as error:
        if isinstance(error, Damaged) and _is_sound(parcel):
            logger.warning("%s: this parcel waits until the store is mended: %s", parcel, error)
        else:
            logger.warning("%s: this parcel could not be adopted (%s): kept as %s", parcel, error, _aside(parcel))
        return False
    done = parcel.with_name(f".{parcel.name}{_DONE}")
    with writing(str(parcel)):
        parcel.rename(done)
    shutil.rmtree(done, ignore_errors=True)
    return True


def _is_sound(parcel: Path) -> bool:
    """Say whether a parcel's own segments are those that its manifest names."""
    try:
        rows = [_row(record[1], parcel) for record in _read(parcel / MANIFEST) if record[0] == "segment"]
        places = [(row, parcel / f"{row.name}.faiss") for row in rows]
        return all(len(files.open(path, row).ids) and files.checksum(path) == row.sha256 for row, path in places)
    except ClipstoreError:
        return False


def _read(path: Path) -> list[Record]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        msg = f"{path}: can't be read ({error})"
        raise BadFormat(msg) from error


def _row(fields: dict[str, Any], parcel: Path) -> SegmentRow:
    try:
        row = SegmentRow(**fields)
        sound = _NAME.fullmatch(row.name) and _DIGEST.fullmatch(row.digest) and row.modality in {"image", "text"}
    except TypeError:
        sound = None
    if not sound:
        msg = f"{parcel / MANIFEST}: names a segment that no store of ours has"
        raise BadFormat(msg)
    return row


def _aside(parcel: Path) -> Path:
    target = parcel.parent.parent / location.ASIDE / FOLDER / parcel.name
    with writing(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        parcel.rename(target)
    return target
