"""Claim: a caption costs at most 64 bytes beyond its vector and its text, catalogue and ids included.

Every byte of the store's folder is counted, after compaction and with SQLite's journal
written back. Captions as they come with COCO: five references an image in an eval set
(each row of it counted), and again as texts alone.

    python benchmarks/footprint.py [CAPTIONS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measured import machine
from measured.stores import DIM, caption, fill

from clipstore import Store, keys
from clipstore.storage import compact, leftovers
from clipstore.storage.catalogue import sets
from clipstore.storage.catalogue.sets import ItemRow

EACH = 5


def overhead(folder: Path, count: int, *, as_references: bool) -> float:
    """Return bytes a caption beyond vector and text."""
    texts = [caption(number) for number in range(count)]
    with Store.open(folder) as store:
        fill(store, count)
        if as_references:
            ids = range(0, count, EACH)
            items = [ItemRow(row, keys.text_id(str(row)), tuple(texts[row : row + EACH]), {}) for row in ids]
            with store.catalogue.write() as tx:
                sets.add(tx, "coco", items, "0", {})
        compact.compact(store.catalogue)
        leftovers.sweep(store.catalogue, leftovers.find(store.catalogue, grace=0.0))
    total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return (total - 4 * DIM * count - sum(len(text.encode()) for text in texts)) / count


def main() -> None:
    """Print bytes a caption."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(machine.line("numpy", "sqlalchemy"))
    with tempfile.TemporaryDirectory() as spare:
        alone = overhead(Path(spare) / "alone", count, as_references=False)
        print(f"{count:,} captions: {machine.verdict(alone, 64, ' bytes')}")
        referenced = overhead(Path(spare) / "set", count, as_references=True)
        print(f"  as references of an eval set, {EACH} an image, its rows counted: {referenced:.1f} bytes")


if __name__ == "__main__":
    main()
