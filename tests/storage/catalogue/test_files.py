"""Image files: a path leads to what it held, roots move, failures are remembered until they are mended."""

from __future__ import annotations

from clipstore.storage.catalogue import files
from clipstore.storage.catalogue.files import FailureRow, FileRow


def _file(path: str, image_id: int = 1, inode: int = 5) -> FileRow:
    return FileRow(path, 100, 1_700_000_000_000_000_001, 1_700_000_000_000_000_002, inode, 3, image_id)


def test_files_come_back_by_path_and_are_replaced(catalogue):
    """A file's stat and image come back by its path; remembering it again replaces them."""
    paths = [f"/data/val/{number:06}.jpg" for number in range(2000)]
    with catalogue.write() as tx:
        files.remember(tx, [_file(path, number) for number, path in enumerate(paths)])
        files.remember(tx, [_file("/other/0.jpg", 7), _file(paths[3], 99)])
        found = files.known(tx, [*paths, "/data/val/none.jpg", "/nowhere/0.jpg", "/other/0.jpg"])
    assert len(found) == 2001
    assert found[paths[5]] == _file(paths[5], 5)
    assert found[paths[3]].image_id == 99
    assert found["/other/0.jpg"].image_id == 7


def test_odd_paths_and_inodes_survive(catalogue):
    """Names that are not UTF-8, at the root, or with quotes, and 64-bit inodes come back as they are."""
    rows = [_file(path, inode=2**64 - 1) for path in ("/a/\udcff'.jpg", "/0.jpg", "/ä/ß.png", "/a/%s?.jpg")]
    with catalogue.write() as tx:
        files.remember(tx, rows)
        assert files.known(tx, [row.path for row in rows]) == {row.path: row for row in rows}


def test_all_paths_of_an_image_are_found(catalogue):
    """An image in several places gives all of them, that which was hashed last first; an unknown image gives none."""
    with catalogue.write() as tx:
        files.remember(tx, [_file("/b/1.jpg", 1), _file("/a/1.jpg", 1), _file("/a/2.jpg", 2)])
        files.remember(tx, [_file("/c/1.jpg", 1)._replace(hashed_ns=4)])
        assert files.paths(tx, [1, 2, 3]) == {1: ("/c/1.jpg", "/a/1.jpg", "/b/1.jpg"), 2: ("/a/2.jpg",)}


def test_moved_folder_moves_all_below_it_and_nothing_beside_it(catalogue):
    """Relinking a root changes it and its subfolders, not a folder whose name only begins alike."""
    old = ["/data/coco/1.jpg", "/data/coco/val/2.jpg", "/data/coco2/3.jpg"]
    with catalogue.write() as tx:
        files.remember(tx, [_file(path, number) for number, path in enumerate(old)])
        assert files.relink(tx, "/data/coco/", "/mnt/new") == 2
        assert files.paths(tx, range(3)) == {
            0: ("/mnt/new/1.jpg",),
            1: ("/mnt/new/val/2.jpg",),
            2: ("/data/coco2/3.jpg",),
        }
        assert files.known(tx, old).keys() == {old[2]}
        assert files.relink(tx, "/nowhere", "/mnt") == 0


def test_folder_moved_onto_a_known_one_joins_it(catalogue):
    """Where the new place is known already, files join it and its own rows stay."""
    with catalogue.write() as tx:
        files.remember(tx, [_file("/old/1.jpg", 1), _file("/old/2.jpg", 2), _file("/new/1.jpg", 9)])
        files.relink(tx, "/old", "/new")
        found = files.known(tx, ["/new/1.jpg", "/new/2.jpg", "/old/1.jpg"])
    assert {path: row.image_id for path, row in found.items()} == {"/new/1.jpg": 9, "/new/2.jpg": 2}


def test_failures_are_kept_until_cleared(catalogue):
    """A file that could not be decoded is listed with its latest reason until it is cleared."""
    with catalogue.write() as tx:
        files.fail(tx, [FailureRow("/b.jpg", 1, 2, "truncated", 3.5), FailureRow("/a.jpg", 0, 2, "empty", 3.5)])
        files.fail(tx, [FailureRow("/b.jpg", 1, 2, "no image", 4.5)])
        assert [(row.path, row.reason, row.at) for row in files.failures(tx)] == [
            ("/a.jpg", "empty", 3.5),
            ("/b.jpg", "no image", 4.5),
        ]
        assert files.clear_failures(tx, ["/b.jpg", "/none.jpg"]) == 1
        assert [row.path for row in files.failures(tx)] == ["/a.jpg"]
