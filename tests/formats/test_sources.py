"""Where input comes from, and what JSON, encodings and compression may do wrong."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from clipstore.errors import BadFormat, InputError
from clipstore.formats import Hints, embedded_images, read_captions

ROWS = [{"image_id": 1, "caption": "a man"}, {"image_id": 2, "caption": "zwei Männer"}]
TEXT = json.dumps(ROWS, ensure_ascii=False)


def zstd(data: bytes) -> bytes:
    """Compress with zstd."""
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        gzip.compress(TEXT.encode()),
        "\n".join(json.dumps(row) for row in ROWS).encode(),
        "\r\n".join(json.dumps(row) for row in ROWS).encode(),
        "\n\n".join(json.dumps(row) for row in ROWS).encode() + b"\n",
    ],
    ids=["plain", "bom", "utf-16", "gzip", "jsonl", "crlf", "blank lines"],
)
def test_the_same_rows_come_through_every_wrapping(data: bytes) -> None:
    """Byte order marks, compression and line ends change nothing."""
    found = read_captions(data)
    assert (found.ids, found.texts) == ([1, 2], ["a man", "zwei Männer"])


def test_zstd_in_several_frames_is_read() -> None:
    """Concatenated frames are one file."""
    half = len(TEXT) // 2
    data = zstd(TEXT[:half].encode()) + zstd(TEXT[half:].encode())
    assert read_captions(data).ids == [1, 2]


@pytest.mark.parametrize("squeeze", [gzip.compress, zstd])
def test_truncated_compression_is_refused_whole(squeeze: object) -> None:
    """A compressed file that is still being written is not half read."""
    data = squeeze(TEXT.encode())  # type: ignore[operator]
    with pytest.raises(BadFormat, match="cut off or damaged"):
        read_captions(data[:-6])


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` reads standard input and calls it that."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TEXT.encode())))
    found = read_captions("-")
    assert (found.source, found.ids) == ("standard input", [1, 2])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"{}", "no known format|holds no captions"),
        (b"[]", "no known format|holds no captions"),
        (b'[{"image_id": 1, "caption": "a"},', r"invalid JSON at line 1, column 3\d: .*is it still being written"),
        (b'{"a": "b"', "invalid JSON at line 1, column 10: .*is it still being written"),
        (b'{"a": "b', "invalid JSON at line 1.*is it still being written"),
        (b'{\n"a": "b",\n"c" "d"}', "invalid JSON at line 3, column 5"),
        (b'{"a": "x", "b": "y", "a": "z"}', r"1 key twice in one object \('a'\)"),
        (b'[{"image_id": 1, "caption": "a", "caption": "b"}]', r"1 key twice in one object \('caption'\)"),
        (b'{"image_id":1,"caption":"a"}\n{"image_id":2,"caption":}\n', "invalid JSON at line 2, column 25"),
        (b'{"image_id":1,"caption":"a"}\n{"image_id":2,"capt', "invalid JSON at line 2.*still being written"),
        (b'[{"image_id": 1, "caption": "\\ud83d"}]', r"row 1: the caption holds half of a character"),
        (b'{"\\ud83d": "a"}', r"the image id holds half of a character"),
        (b'[{"image_id": 1, "caption": "a", "score": NaN}]', "row 1: the score is nan, not a finite number"),
        (b'[{"image_id": 1, "caption": NaN}]', r"row 1 \(image 1\): the caption is a number"),
        (b'[{"image_id": 1, "caption": "a"}, 3]', "row 2 is a number"),
        (b"[1, 2]", "row 1 is a number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'[{"image_id": ' + b"9" * 5000 + b', "caption": "a"}]', "not JSON that can be read"),
        ("Männer".encode("latin-1"), "not UTF-8 at byte 1"),
        (b'{"a": "M\xe4nner"}', "not UTF-8 at byte 8: save the file as UTF-8"),
        (b"\x00\x01\x02", "no known format|invalid"),
    ],
)
def test_broken_input_is_refused_with_its_place(data: bytes, words: str) -> None:
    """Every kind of damage has its own words."""
    with pytest.raises(BadFormat, match=words):
        read_captions(data)


def test_missing_files_and_globs_are_named(tmp_path: Path) -> None:
    """A path that is not there is an input error."""
    with pytest.raises(InputError, match="no such file"):
        read_captions(tmp_path / "no.json")
    with pytest.raises(InputError, match="no file matches"):
        read_captions(str(tmp_path / "*.json"))
    with pytest.raises(InputError, match="folder without a file of captions"):
        read_captions(tmp_path)
    with pytest.raises(InputError, match="not int"):
        read_captions(3)  # type: ignore[arg-type]


def test_a_folder_and_a_glob_of_shards_are_one_system(tmp_path: Path) -> None:
    """Shards are read in the order of their names; a repeated row is dropped; a bad row names its shard."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "part-1.jsonl").write_text('{"image_id":2,"caption":"b"}\n{"image_id":1,"caption":"a"}\n')
    (folder / "part-0.jsonl").write_text('{"image_id":1,"caption":"a"}\n')
    (folder / "_SUCCESS").write_text("")
    for given in (folder, str(folder / "*.jsonl")):
        found = read_captions(given)
        assert (found.ids, found.texts) == ([1, 2], ["a", "b"])
        assert found.notes == ("1 repeated row dropped (same image, same caption)",)
        assert found.where(1) == "part-1.jsonl line 1"
        assert found.source.endswith("(2 shards)")
    (folder / "part-1.jsonl").write_text('{"image_id":2,"caption":null}\n{"image_id":3,"caption":"x"}\n')
    with pytest.raises(BadFormat, match=r"part-1.jsonl line 1 \(image 2\): the caption is null"):
        read_captions(folder)


def test_other_captions_in_another_shard_are_nbest(tmp_path: Path) -> None:
    """The same id with another caption in another shard is a second candidate."""
    (tmp_path / "a.jsonl").write_text('{"image_id":1,"caption":"a"}\n')
    (tmp_path / "b.jsonl").write_text('{"image_id":1,"caption":"b"}\n')
    found = read_captions(tmp_path)
    assert (found.texts, found.ranks) == (["a", "b"], [0, 1])


def test_shards_of_two_formats_are_refused(tmp_path: Path) -> None:
    """One system is one format."""
    (tmp_path / "a.jsonl").write_text('{"image_id":1,"caption":"a"}\n{"image_id":2,"caption":"a"}\n')
    (tmp_path / "b.csv").write_text("image,caption\na.jpg,b\n")
    with pytest.raises(BadFormat, match=r"shards differ: a.jsonl is COCO results, b.csv is CSV/TSV table"):
        read_captions(tmp_path)


def test_image_folder_metadata_is_found_in_its_folder(tmp_path: Path) -> None:
    """A Hugging Face ImageFolder is read by its metadata, not by the files beside it."""
    (tmp_path / "metadata.jsonl").write_text('{"file_name":"0001.png","text":"a nice cat"}\n')
    (tmp_path / "0001.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert read_captions(tmp_path).ids == ["0001.png"]


def test_text_that_starts_like_json_can_be_read_as_lines(tmp_path: Path) -> None:
    """With the format named, a first line such as ``[red] car`` is a caption."""
    lines, order = tmp_path / "caps.txt", tmp_path / "ids.txt"
    lines.write_text("[red] car\na man\n")
    order.write_text("1\n2\n")
    assert read_captions(lines, Hints(input_format="lines", order=order)).texts == ["[red] car", "a man"]


def test_captions_come_through_unchanged() -> None:
    """Markup, quotes, emoji, newlines and long texts are kept to the letter."""
    texts = ["[red] </b> \"q\" 'q'", "😀 naïve\nline\ttab", " spaced ", "word " * 300]
    assert read_captions({str(place): text for place, text in enumerate(texts)}).texts == texts
    assert read_captions(json.dumps(dict(enumerate(texts))).encode()).texts == texts


def test_images_inside_parquet_are_given_out_by_id(tmp_path: Path) -> None:
    """Parquet rows with image bytes yield each image under the id of its caption."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    images = [{"bytes": b"one", "path": "a.jpg"}, {"bytes": None, "path": "b.jpg"}]
    pq.write_table(pa.table({"image": images, "caption": ["x", "y"]}), tmp_path / "a.parquet")
    assert list(embedded_images(tmp_path / "a.parquet")) == [("a.jpg", b"one")]
    assert list(embedded_images(TEXT.encode())) == []
