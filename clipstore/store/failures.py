"""The failure table: image files that could not be read or encoded when last tried."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from clipstore.errors import Busy, CannotWrite
from clipstore.storage.catalogue import files
from clipstore.storage.catalogue.files import FailureRow
from clipstore.store.identify import absolute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.items import Image
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store.identify import Failure


def record(catalogue: Catalogue, images: Sequence[Image], failures: Sequence[Failure]) -> None:
    """Keep the table true: what failed now is in it, what works now is not.

    Nothing is written where nothing changed, or where the store is read-only or busy.
    """
    named = {image.name: image.source for image in images if isinstance(image.source, Path)}
    rows = [_row(named[failure.name], failure.reason) for failure in failures if failure.name in named]
    with catalogue.read() as tx:
        known = {row.path: row.reason for row in files.failures(tx)}
    if not known and not rows:
        return
    mended = known.keys() & {str(absolute(path)) for path in named.values()} - {row.path for row in rows}
    fresh = [row for row in rows if known.get(row.path) != row.reason]
    if catalogue.readonly or not (fresh or mended):
        return
    try:
        with catalogue.write(patience=0) as tx:
            files.clear_failures(tx, sorted(mended))
            files.fail(tx, fresh)
    except (Busy, CannotWrite):
        return


def _row(path: Path, reason: str) -> FailureRow:
    whole = str(absolute(path))
    try:
        stat = path.stat()
    except OSError:
        return FailureRow(whole, 0, 0, reason, time.time())
    return FailureRow(whole, stat.st_size, stat.st_mtime_ns, reason, time.time())
