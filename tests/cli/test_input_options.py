"""Options that say how files are read: honoured, or refused with what to do; n-best and missing captions."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import drawn
import pytest

N = 5
Run = Callable[..., "object"]


@pytest.fixture
def with_beams(run, given, desk):
    """A saved set ``mine`` with a system of single captions and one of two beams an image."""
    beams = [
        {"image": drawn.name(i), "rank": rank, "caption": f"beam {rank} of {i}"} for i in range(N) for rank in (1, 0)
    ]
    (desk / "beams.jsonl").write_text("".join(json.dumps(one) + "\n" for one in beams))
    assert run("add", "-t", "mine", *given, "one=a.json", "wide=beams.jsonl").code == 0


def test_a_saved_n_best_system_is_scored_by_its_first_candidates(run, with_beams, given):
    """``--take first`` means the same for a saved system as for its file: rank 0, whatever the order."""
    done = run("score", "-t", "mine", "wide", "--take", "first", "--per-image", "saved.json")
    assert done.code == 0
    assert "the first of several captions was taken for 5 images" in done.err
    file = run("score", "wide=beams.jsonl", *given, "--take", "first", "--per-image", "file.json")
    assert file.code == 0
    assert Path("saved.json").read_text() == Path("file.json").read_text()
    assert run("score", "-t", "mine", "--take", "first").rows[2][0] == "wide"


def test_a_saved_n_best_system_is_refused_with_every_way_out(run, with_beams):
    """The message names both ways, as commands, and the systems that can be named instead."""
    done = run("score", "-t", "mine")
    assert done.code == 2
    assert "system 'wide' of 'mine' has several captions an image: an n-best list" in done.err
    assert "--take first" in done.err
    assert "clipstore rerank wide -t mine --save-as NAME" in done.err
    assert "name other systems (there is: one)" in done.err
    assert run("score", "-t", "mine", "one").code == 0
    assert run("rerank", "wide", "-t", "mine", "--save-as", "picked", "--model", "fake").code == 0
    assert run("score", "-t", "mine", "picked").code == 0


@pytest.mark.parametrize("flags", [(), ("--take", "first")])
def test_compare_takes_saved_n_best_systems_by_the_same_rule(run, with_beams, flags):
    """``compare -t`` refuses an n-best system, or takes its first candidates, and the report replays."""
    done = run("compare", "-t", "mine", "--model", "fake", "--resamples", 100, "--json", *flags)
    if not flags:
        assert done.code == 2
        assert "clipstore rerank wide -t mine" in done.err
        return
    assert done.code == 0
    assert [system["n"] for system in done.json["systems"]] == [N, N]
    Path("report.json").write_text(done.out)
    assert run("replay", "report.json").code == 0


@pytest.mark.parametrize(
    "flags",
    [
        ("--input-format", "coco-results"),
        ("--id-key", "number"),
        ("--split", "test"),
        ("--order", "refs.json"),
        ("--caption-col", "text"),
        ("--num-candidates", "2"),
    ],
)
@pytest.mark.parametrize("command", ["score", "compare", "rerank"])
def test_options_for_files_are_refused_where_no_file_is_read(run, with_beams, flags, command):
    """With -t and saved systems alone they would be ignored in silence."""
    done = run(command, *(["wide"] if command == "rerank" else ["one"]), "-t", "mine", *flags, "--model", "fake")
    assert done.code == 2
    assert f"{flags[0]} says how a file is read, and with -t mine none is" in done.err


def test_rerank_refuses_to_take_the_first(run, with_beams):
    """Taking the first leaves nothing to choose from."""
    done = run("rerank", "wide", "-t", "mine", "--take", "first", "--model", "fake")
    assert done.code == 2
    assert "--take first leaves nothing to choose from" in done.err


def test_options_for_files_go_with_a_file_beside_a_saved_set(run, with_beams, desk):
    """A file scored against a saved set is read as the options say."""
    rows = [{"key": drawn.name(i), "words": f"a thing {i}"} for i in range(N)]
    drawn.write_json(desk / "odd.json", rows)
    assert run("score", "odd.json", "-t", "mine", "--caption-col", "words").code == 0


def test_strict_looks_at_saved_captions_too(run, given, desk):
    """``--strict`` with saved systems is no empty word; one warning is one warning."""
    drawn.write_json(desk / "bad.json", {**drawn.captions(N), drawn.name(0): "a dog <pad>"})
    assert run("add", "-t", "mine", *given, "bad.json").code == 0
    assert run("score", "-t", "mine").code == 0
    for command in ("score", "compare"):
        done = run(command, "-t", "mine", "--strict", "--model", "fake")
        assert done.code == 2
        assert "bad: 1 of 5 captions hold leftovers of special tokens" in done.err
        assert "error: 1 warning about the captions, and --strict was given" in done.err


def test_rerank_looks_at_its_captions(run, desk):
    """Candidates are looked at like captions; ``--strict`` refuses them."""
    drawn.write_json(desk / "beams.json", {drawn.name(i): ["a dog <pad>", f"two of {i}"] for i in range(N)})
    flags = ("beams.json", "--images", "images", "--model", "fake")
    assert "warning: beams.json: 5 of 10 captions hold leftovers" in run("rerank", *flags).err
    assert run("rerank", *flags, "--strict").code == 2


def batch_line(key: str, text: str | None) -> str:
    """Return a line of batch output; without text a failed one."""
    if text is None:
        return json.dumps({"custom_id": key, "response": None, "error": {"code": "expired"}})
    body = {"choices": [{"index": 0, "message": {"content": text}}]}
    return json.dumps({"custom_id": key, "response": {"status_code": 200, "body": body}, "error": None})


def test_failed_batch_lines_are_missing_without_references_too(run, desk):
    """The set is every image that the file names: a failed one has no caption, and is refused or counted."""
    lines = [batch_line(drawn.name(i), None if i == 3 else f"picture {i}") for i in range(N)]
    (desk / "out.jsonl").write_text("\n".join(lines))
    done = run("score", "out.jsonl", "--images", "images")
    assert done.code == 1
    assert f"1 of 5 images has no caption (first: {drawn.name(3)})" in done.err
    assert "--missing skip" in done.err
    skipped = run("score", "out.jsonl", "--images", "images", "--missing", "skip")
    assert skipped.code == 0
    assert skipped.rows[1][:2] == ["out", "4/5"]
    assert "1 failed line is a missing caption" in skipped.err
    assert run("compare", "out.jsonl", "--images", "images", "--model", "fake").code == 1


def test_an_empty_list_of_captions_is_a_missing_caption(run, desk):
    """An image whose list of captions is empty is named, not dropped."""
    rows = [{"image_id": drawn.name(i), "captions": [f"picture {i}"] if i else []} for i in range(N)]
    (desk / "lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows[1:], rows[0]]))
    done = run("score", "lists.jsonl", "--images", "images")
    assert done.code == 1
    assert f"1 of 5 images has no caption (first: {drawn.name(0)})" in done.err


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("out/blip-*.json", "blip"),
        ("out/*.json", "out"),
        ("*.jsonl", "desk"),
        ("out", "out"),
        ("runs/*/caps.json", "caps"),
        (".", "desk"),
    ],
)
def test_a_glob_or_folder_has_a_name_that_says_something(run, desk, given, name):
    """A system of shards is called by what stands in letters before the star, else by its folder."""
    rows = [{"image_id": drawn.name(i), "caption": f"shard {i}"} for i in range(N)]
    for folder in ("out", "runs/x"):
        drawn.write_json(desk / folder / ("caps.json" if folder == "runs/x" else "blip-0.json"), rows)
    (desk / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for file in ("refs.json", "a.json", "b.json"):
        (desk / file).unlink()
    assert run("score", given, "--images", "images").rows[1][0] == name


def test_standard_input_is_called_so(run, desk, monkeypatch):
    """``-`` alone is no name."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((desk / "a.json").read_bytes())))
    assert run("score", "-", "--images", "images").rows[1][0] == "stdin"


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("pic;words\n{0};a cat\n", ("--image-col", "pic", "--caption-col", "words")),
        ("image,caption\n{0},a cat\n", ("--input-format", "table")),
        ('[{{"image_id": "{0}", "caption": "a cat"}}]', ("--input-format", "coco-results")),
        ('[{{"image_id": "0", "caption": "a cat"}}]', ("--id-key", "row", "--order", "ids.txt")),
        ('[{{"image_id": "{0}.png", "caption": "a cat"}}]', ("--id-key", "name")),
    ],
)
@pytest.mark.parametrize("references", ["official", "rows", "csv", "parquet", "stdin"])
@pytest.mark.parametrize("command", ["score", "compare"])
def test_what_is_said_of_captions_leaves_references_alone(run, desk, monkeypatch, text, flags, references, command):
    """Columns, format, rows and kind of key of the captions hold for references only where they fit."""
    name = drawn.name(1)
    (desk / "caps.data").write_text(text.format(name))
    (desk / "ids.txt").write_text(f"{name}\n")
    path = desk / "one.refs"
    if references == "rows":
        drawn.write_json(path, [{"image_id": name, "caption": "a reference"}])
    elif references == "csv":
        path.write_text(f"image,caption\n{name},a reference\n")
    elif references == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"image_id": [name], "sentences": [[{"raw": "a reference"}]]}), path)
    else:
        drawn.write_json(path, {name: ["a reference"]})
    if references == "stdin":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        path = "-"
    done = run(command, "x=caps.data", "--images", "images", "--refs", path, *flags, "--model", "fake")
    assert done.code == 0, done.err
    assert "1 image, 1 reference, " in done.err


def test_columns_of_references_are_those_named_where_they_have_them(run, desk):
    """References with the same odd columns are read by them; a mistyped column is still refused."""
    for file, words in (("caps.csv", "a cat"), ("refs.csv", "a reference")):
        (desk / file).write_text(f"pic;words\n{drawn.name(1)};{words}\n")
    flags = ("score", "caps.csv", "--images", "images", "--refs", "refs.csv", "--image-col", "pic")
    assert run(*flags, "--caption-col", "words").code == 0
    assert run(*flags, "--caption-col", "word").code == 2


def test_annotations_say_what_ids_of_captions_mean_beside_other_references(run, desk):
    """Captions by the annotation file's ids, references by stem, files that say no number."""
    for i, letter in enumerate("abc"):
        (desk / "images" / f"{drawn.name(i)}.png").rename(desk / "images" / f"{letter}.png")
    drawn.write_json(desk / "stems.json", {letter: [f"reference {letter}"] for letter in "abc"})
    images = [{"id": 10 + i, "file_name": f"val/{letter}.png"} for i, letter in enumerate("abc")]
    drawn.write_json(desk / "notes.json", {"images": images, "annotations": []})
    drawn.write_json(desk / "caps.json", [{"image_id": 10 + i, "caption": f"caption {i}"} for i in (2, 0, 1)])
    for flags in ((), ("--id-key", "cocoid")):
        done = run(
            "score", "caps.json", "--images", "images", "--refs", "stems.json", "--annotations", "notes.json", *flags,
            "--per-image", "out.json",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "ids = ids of the annotation file, 3/3 matched" in done.err
    drawn.write_json(desk / "named.json", {"a": "caption 0", "b": "caption 1", "c": "caption 2"})
    run("score", "named.json", "--images", "images", "--refs", "stems.json", "--per-image", "other.json")
    assert json.loads(Path("out.json").read_text()) == json.loads(Path("other.json").read_text())


def test_images_may_lie_in_a_folder_of_tars(run, desk):
    """A folder of shards, or a glob of them, holds captions and images."""
    for shard in range(2):
        with tarfile.open(desk / f"{shard:05d}.tar", "w") as archive:
            for i in range(2 * shard, 2 * shard + 2):
                archive.add(desk / "images" / f"{drawn.name(i)}.png", f"{i:09d}.png")
                info = tarfile.TarInfo(f"{i:09d}.txt")
                info.size = len(f"picture {i}")
                archive.addfile(info, io.BytesIO(f"picture {i}".encode()))
    (desk / "wds").mkdir()
    for path in desk.glob("*.tar"):
        path.rename(desk / "wds" / path.name)
    for given in ("wds", "wds/*.tar"):
        done = run("score", given, "--images", given)
        assert done.code == 0, done.err
        assert done.rows[1][:2] == ["wds", "4"]
        assert "WebDataset tar, 4 captions, ids = the same ids, 4/4 matched" in done.err


def test_examples_of_warnings_are_short_and_plain(run, given, desk):
    """A warning shows id and caption, cut, and no tuple."""
    long = "a dog <pad> " + "very " * 100
    drawn.write_json(desk / "bad.json", {**drawn.captions(N), drawn.name(0): long})
    done = run("score", "bad.json", *given)
    assert f"(such as {drawn.name(0)!r}: {long[:60]!r})" in done.err


def test_urls_are_not_fetched(run, desk):
    """A URL as id means the local file of that name; as file or folder it is refused with what to do."""
    url = "https://images.invalid/val"
    rows = [{"url": f"{url}/{drawn.name(i)}.png", "caption": f"picture {i}"} for i in range(N)]
    drawn.write_json(desk / "urls.json", rows)
    done = run("score", "urls.json", "--images", "images")
    assert done.code == 0
    assert "ids = relative path, 5/5 matched" in done.err
    for words in (("urls.json", "--images", url), (f"x={url}/caps.json", "--images", "images")):
        refused = run("score", *words)
        assert refused.code == 2
        assert "URLs are not fetched, download" in refused.err


def test_standard_input_is_read_once(run, desk, monkeypatch):
    """Captions and references can't both come from standard input: the second is named."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((desk / "a.json").read_bytes())))
    done = run("score", "-", "--images", "images", "--refs", "-")
    assert done.code == 2
    assert "standard input: is empty; it can be read once" in done.err


def test_show_shows_the_first_of_an_n_best_system(run, with_beams):
    """An n-best system beside others does not hide them: its first caption stands for it, and that is said."""
    done = run("show", drawn.name(1), "-t", "mine", "--model", "fake")
    assert done.code == 0
    assert "beam 0 of 1" in done.out
    assert "wide: the first of several captions was taken" in done.err


def test_one_image_is_no_folder(run, desk):
    """A picture as --images is answered with what goes there."""
    done = run("score", "a.json", "--images", f"images/{drawn.name(1)}.png")
    assert done.code == 2
    assert "is one image; --images takes the folder that holds it" in done.err
    for given in ("images", f"images/{drawn.name(1)}.png"):
        told = run("score", given, "--images", "images")
        assert told.code == 2
        assert ".png: is an image, not a file of captions" in told.err
    empty = run("score", "", "--images", "images")
    assert empty.code == 2
    assert "an empty argument stands where captions should" in empty.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--questions", "refs.json"), "--questions is for LLaVA answers, and here is clipscore candidates"),
        (("--order", "refs.json"), "--order is for plain lines, or --id-key row, and here is clipscore candidates"),
        (("--caption-col", "x"), "--caption-col is for rows with columns, and here is clipscore candidates"),
        (("--score-col", "x"), "--score-col is for rows with columns"),
    ],
)
@pytest.mark.parametrize("command", ["score", "compare", "add"])
def test_options_that_no_file_hears_are_refused(run, given, flags, words, command):
    """An option that would change nothing is no silent one."""
    name = ("-t", "mine") if command == "add" else ()
    done = run(command, "a.json", *name, *given, *flags, "--model", "fake")
    assert done.code == 2
    assert words in done.err


def test_columns_may_be_those_of_the_images(run, desk):
    """Images in Parquet rows are named by a column that captions in another layout know nothing of."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    data = [(desk / "images" / f"{drawn.name(i)}.png").read_bytes() for i in range(N)]
    table = {"pic": [{"bytes": one, "path": None} for one in data], "nr": list(range(N)), "words": ["x"] * N}
    pq.write_table(pa.table(table), desk / "images.parquet")
    drawn.write_json(desk / "caps.json", {str(i): f"picture {i}" for i in range(N)})
    flags = ("--images", "images.parquet", "--image-col", "nr", "--caption-col", "words")
    done = run("score", "caps.json", *flags)
    assert done.code == 0, done.err
    assert done.rows[1][:2] == ["caps", "5"]


@pytest.mark.parametrize("command", ["score", "compare"])
def test_standard_input_goes_with_a_saved_set(run, with_beams, desk, monkeypatch, command):
    """``-`` is captions to read beside saved systems, too; a system is saved under a name that says something."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((desk / "a.json").read_bytes())))
    done = run(command, "-", "one", "-t", "mine", "--model", "fake")
    assert done.code == 0
    assert "standard input: clipscore candidates, 5 captions" in done.err
    refused = run("add", "-t", "mine", "-")
    assert refused.code == 2
    assert "give NAME=-" in refused.err
