"""One segment: the file is FAISS's own, durable, refused when it would be wrong, checked when it is read."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import resource
import subprocess
import sys
from pathlib import Path

import faiss
import numpy as np
import pytest
from small_stores import random_ids, row_of, unit_vectors

from clipstore.errors import CannotWrite, Damaged, InputError
from clipstore.storage import faults, layout, segments, soundness

GOLDEN = Path(__file__).parent / "golden"
DTYPES = ["float32", "float16"]


def _written_by_faiss(path: Path, ids: np.ndarray, vectors: np.ndarray, dtype: str) -> bytes:
    dim, order = vectors.shape[1], np.argsort(ids)
    inner = faiss.IndexFlatIP(dim)
    if dtype == "float16":
        inner = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index = faiss.IndexIDMap(inner)
    index.add_with_ids(vectors[order], ids[order])
    faiss.write_index(index, str(path))
    return path.read_bytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "dim"), [(1, 1), (3, 5), (257, 512), (5000, 700)])
def test_file_is_byte_for_byte_what_faiss_writes(tmp_path, rows, dim, dtype):
    """A segment equals ``faiss.write_index`` of the same rows sorted by id, blocks and all."""
    ids, vectors = random_ids(rows), unit_vectors(rows, dim).astype(dtype).astype(np.float32)  # without ties
    file = segments.write(tmp_path / "ours", ids, vectors, dtype)
    ours = (tmp_path / "ours" / f"{file.name}.faiss").read_bytes()
    assert ours == _written_by_faiss(tmp_path / "theirs", ids, vectors, dtype)
    assert (file.bytes, file.sha256) == (len(ours), hashlib.sha256(ours).hexdigest())
    assert (file.rows, file.dim, file.dtype, file.layout) == (rows, dim, dtype, layout.VERSION)


@pytest.mark.parametrize(("dtype", "offset"), [("float32", 82), ("float16", 118)])
def test_golden_segment_reads_as_it_was_made(dtype, offset):
    """The committed FAISS files still have vectors and ids where this layout says."""
    spec = importlib.util.spec_from_file_location("make_golden", Path(__file__).parent / "make_golden.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    path = GOLDEN / f"{dtype}.faiss"
    rows, dim, found = segments.shape_of(path)
    assert (rows, dim, found, layout.VECTORS_OFFSET[found]) == (4, 3, dtype, offset)
    size, start = path.stat().st_size, layout.ids_offset(rows, dim, dtype)
    file = segments.SegmentFile("golden", rows, dim, dtype, offset, start, size, segments.checksum(path))
    segment = segments.open(path, row_of(file))
    assert np.array_equal(segment.ids, made.IDS)
    assert np.array_equal(segment.vectors(), made.VECTORS.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_faiss_maps_it_and_finds_each_vector_by_its_id(tmp_path, dtype):
    """FAISS reads the file with IO_FLAG_MMAP_IFC and a search for each vector gives its id."""
    ids, vectors = random_ids(50), unit_vectors(50, 32)
    file = segments.write(tmp_path, ids, vectors, dtype)
    index = faiss.read_index(str(tmp_path / f"{file.name}.faiss"), faiss.IO_FLAG_MMAP_IFC)
    _, found = index.search(vectors, 1)
    assert np.array_equal(found[:, 0], ids)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_come_back_sorted_by_id_and_read_only(tmp_path, dtype):
    """Ids are ascending, each vector stays with its id, and neither array can be written to."""
    ids, vectors = random_ids(100), unit_vectors(100)
    file = segments.write(tmp_path, ids, vectors, dtype)
    segment = segments.open(tmp_path / f"{file.name}.faiss", row_of(file))
    order = np.argsort(ids)
    assert np.array_equal(segment.ids, ids[order])
    assert np.array_equal(segment.vectors(), vectors[order].astype(dtype))
    for array in (segment.ids, segment.vectors()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_view_outlives_its_segment_and_its_file(tmp_path):
    """A mapped array stays valid when its segment is forgotten and its file deleted."""
    vectors = unit_vectors(200)
    file = segments.write(tmp_path, np.arange(200), vectors)
    path = tmp_path / f"{file.name}.faiss"
    view = segments.open(path, row_of(file)).vectors()
    path.unlink()
    assert np.array_equal(view[[5, 199]], vectors[[5, 199]])


def test_float16_keeps_similarities_within_the_stated_error(tmp_path):
    """A dot product of half-precision rows differs by less than 1e-4 from that of float32 rows."""
    vectors = unit_vectors(300, 512)
    file = segments.write(tmp_path, np.arange(300), vectors, "float16")
    view = segments.open(tmp_path / f"{file.name}.faiss", row_of(file)).vectors().astype(np.float32)
    assert np.abs(view @ vectors.T - vectors @ vectors.T).max() < 1e-4


@pytest.mark.parametrize(
    ("ids", "vectors", "what"),
    [
        ([1, 1], unit_vectors(2), "repeats"),
        ([-1, 1], unit_vectors(2), "negative"),
        ([1, 2], unit_vectors(2) * 1.01, "2 of 2"),
        ([1, 2], np.array([[1, 0], [np.nan, 0]], dtype=np.float32), "1 of 2"),
        ([1, 2], np.array([[1, 0], [np.inf, 0]], dtype=np.float32), "1 of 2"),
        ([1, 2], np.zeros((2, 4), dtype=np.float32), "2 of 2"),
    ],
)
def test_bad_rows_are_refused_and_leave_no_file(tmp_path, ids, vectors, what):
    """Ids that repeat or are negative, norms that are not one and numbers that are not finite are refused."""
    with pytest.raises(InputError, match=what):
        segments.write(tmp_path, np.array(ids, dtype=np.int64), vectors)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ids", "vectors", "what"),
    [
        (np.arange(1), unit_vectors(2), "do not fit"),
        (np.arange(0), unit_vectors(0), "do not fit"),
        (np.arange(2), unit_vectors(2)[:, :0], "do not fit"),
        (np.arange(2), unit_vectors(2)[0], "do not fit"),
        (np.arange(2), unit_vectors(2).astype(np.float64), "float64"),
        (np.arange(2, dtype=np.uint64), unit_vectors(2), "uint64"),
    ],
)
def test_arrays_of_the_wrong_kind_are_told(ids, vectors, what):
    """Shapes that differ, nothing at all, and other number types can't be a segment."""
    assert what in soundness.problem_of(ids, vectors)


@pytest.mark.parametrize("step", ["file opened", "file written", "file synced", "file renamed", "folder synced"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_failed_write_raises_and_leaves_nothing(tmp_path, step, code):
    """An error of the disk at any step of a write becomes CannotWrite, and no file stays."""

    def fail(reached):
        if reached == step:
            raise OSError(code, os.strerror(code))

    faults.install(fail)
    try:
        with pytest.raises(CannotWrite) as caught:
            segments.write(tmp_path / "a" / "b", np.arange(3), unit_vectors(3))
    finally:
        faults.install(None)
    assert isinstance(caught.value.__cause__, OSError)
    assert list((tmp_path / "a" / "b").iterdir()) == []


_SHORT = """
import resource, signal, sys
import numpy as np
from pathlib import Path
from clipstore.errors import CannotWrite
from clipstore.storage import segments
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
vectors = np.tile(np.eye(1, 64, dtype=np.float32), (1000, 1))
try:
    segments.write(Path(sys.argv[1]), np.arange(1000), vectors)
except CannotWrite:
    sys.exit(7)
"""


@pytest.mark.parametrize("short", [1, 7, 8, 4095, 4096, 8192])
def test_file_that_does_not_fit_by_its_last_bytes_is_an_error(tmp_path, short):
    """A disk that fills within the last bytes of a segment raises (faiss itself loses the tail in silence)."""
    size = layout.file_size(1000, 64, "float32") - short
    ran = subprocess.run([sys.executable, "-c", _SHORT, str(tmp_path), str(size)], check=False)
    assert ran.returncode == 7
    assert list(tmp_path.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def _damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    changed = {
        "truncated": content[:-1],
        "longer": content + b"\0",
        "empty": b"",
        "fourcc": b"IxFI" + content[4:],
        "count": content[:8] + bytes([content[8] ^ 1]) + content[9:],
        "dimension": content[:4] + bytes([content[4] ^ 1]) + content[5:],
    }
    path.write_bytes(changed[how])


@pytest.mark.parametrize("how", ["truncated", "longer", "empty", "fourcc", "count", "dimension"])
def test_wrong_header_or_size_is_seen_at_open(tmp_path, how):
    """Opening compares fourcc, shape and size with the row and says how to mend it."""
    file = segments.write(tmp_path, np.arange(10), unit_vectors(10))
    path = tmp_path / f"{file.name}.faiss"
    _damage(path, how)
    with pytest.raises(Damaged, match="verify --repair"):
        segments.open(path, row_of(file))
    assert segments.shape_of(path) is None


def test_missing_file_is_gone(tmp_path):
    """A file that is not there raises Gone, a kind of Damaged, at open and at a later read."""
    file = segments.write(tmp_path, np.arange(10), unit_vectors(10))
    path = tmp_path / f"{file.name}.faiss"
    segment = segments.open(path, row_of(file))
    path.unlink()
    for action in (lambda: segments.open(path, row_of(file)), lambda: segment.ids, segment.vectors):
        with pytest.raises(segments.Gone):
            action()


def test_name_holds_part_of_the_checksum(tmp_path):
    """A file's name tells whether its bytes are whole, without the catalogue, and is new each time."""
    one, two = (segments.write(tmp_path, np.arange(3), unit_vectors(3)) for _ in range(2))
    assert one.sha256 == two.sha256
    assert one.name != two.name
    assert segments.is_named(one.name, one.sha256)
    assert not segments.is_named(one.name, "0" * 64)


def test_writing_and_reading_load_no_faiss(tmp_path):
    """A segment is written, opened and read without importing faiss."""
    program = (
        "import sys, numpy as np; from pathlib import Path; from clipstore.storage import segments, lookup\n"
        "f = segments.write(Path(sys.argv[1]), np.arange(1), np.eye(1, 4, dtype=np.float32))\n"
        "segments.shape_of(Path(sys.argv[1]) / f'{f.name}.faiss'); sys.exit('faiss' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 0
