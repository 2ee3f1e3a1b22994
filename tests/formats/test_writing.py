"""Captions go out and come back the same."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from clipstore.errors import CannotWrite, InputError
from clipstore.formats import WRITERS, Row, read_captions, save, write

ROWS = [
    Row("v/a.jpg", 'a "man", red\nline', "blip", 0, -0.5, "sum", {"clip_s": 0.75}),
    Row("v/b.jpg", "\t<b> 😀 ", "blip", 0, -1.0, "sum", {"clip_s": math.nan}),
]


@pytest.mark.parametrize("to", sorted(WRITERS))
def test_what_is_written_reads_back(to: str, tmp_path: Path) -> None:
    """Every format that can be written is read again with the same ids, captions and scores."""
    path = tmp_path / "out.data"
    write(path, ROWS, to)
    found = read_captions(path)
    assert (found.ids, found.texts) == (["v/a.jpg", "v/b.jpg"], [row.caption for row in ROWS])
    if to != "official":
        assert (found.scores, found.score_kind) == ([-0.5, -1.0], "sum")
    assert [file.name for file in tmp_path.iterdir()] == ["out.data"]


@pytest.mark.parametrize("to", sorted(WRITERS))
def test_nbest_reads_back_with_its_ranks(to: str, tmp_path: Path) -> None:
    """Candidates keep their order and rank."""
    rows = [Row("a", "x", rank=0), Row("a", "y", rank=1), Row("b", "z", rank=0)]
    write(tmp_path / "out", rows, to)
    found = read_captions(tmp_path / "out")
    assert (found.ids, found.texts, found.ranks) == (["a", "a", "b"], ["x", "y", "z"], [0, 1, 0])


@pytest.mark.parametrize("to", ["coco-results", "canonical"])
def test_ids_keep_their_type_on_the_way_out(to: str, tmp_path: Path) -> None:
    """7 stays a number and "7" a string."""
    write(tmp_path / "out", [Row(7, "a"), Row("7", "b")], to)
    assert read_captions(tmp_path / "out").ids == [7, "7"]


def test_ids_that_a_json_object_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    """7 and "7" are one key of an object: nothing is written."""
    with pytest.raises(InputError, match="one key of a JSON object"):
        write(tmp_path / "out", [Row(7, "a"), Row("7", "b")], "official")
    assert list(tmp_path.iterdir()) == []


def test_undefined_numbers_are_null(tmp_path: Path) -> None:
    """NaN is written as null: the file is strict JSON."""
    write(tmp_path / "out", ROWS, "coco-results")
    rows = json.loads((tmp_path / "out").read_text(), parse_constant=pytest.fail)
    assert [row["clip_s"] for row in rows] == [0.75, None]


def test_folders_that_are_not_there_and_unknown_formats_are_refused(tmp_path: Path) -> None:
    """The message names the path, or the formats there are."""
    with pytest.raises(CannotWrite, match="nothing was changed"):
        write(tmp_path / "no" / "out", ROWS, "csv")
    with pytest.raises(InputError, match="can't write 'xml': one of coco-results"):
        write(tmp_path / "out", ROWS, "xml")


def test_a_pipe_or_device_is_written_to_not_replaced(tmp_path):
    """-o /dev/null must leave the device in its place: what is no regular file is written into."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    save(pipe, b"words")
    assert os.read(reader, 10) == b"words"
    os.close(reader)
    assert pipe.is_fifo()
