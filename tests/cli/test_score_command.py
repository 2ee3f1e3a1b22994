"""``clipstore score``: what it prints where, and what it refuses."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import drawn
import pytest
from clipstore_cli import output
from odd_captions import ODD

from clipstore import Store, encoders, keys
from clipstore.encoders.fake import FakeEncoder
from clipstore.storage.catalogue import contents
from clipstore.tables import Column, Table

N = 5
Run = Callable[..., object]


def test_one_row_a_system_on_stdout_and_the_rest_on_stderr(run: Run, given: list[str]) -> None:
    """Stdout holds the table and its signatures, tab-separated; stderr begins with the store and says what was done."""
    done = run("score", "a.json", "bee=b.json", *given)
    assert done.code == 0
    assert done.rows[0] == ["system", "n", "CLIP-S", "RefCLIP-S", "words", "cut"]
    assert [row[:2] for row in done.rows[1:3]] == [["a", "5"], ["bee", "5"]]
    assert done.rows[3][0].startswith("CLIP-S|model:fake|")
    assert done.rows[4][0].startswith("RefCLIP-S|model:fake|")
    lines = done.err.splitlines()
    assert lines[0] == ".clipstore: a new store"
    assert "refs.json: clipscore references, 5 images, 10 references, ids = stem of file name, 5/5 matched" in lines
    assert "b.json: COCO results, 5 captions, ids = number in file name, 5/5 matched" in lines
    assert "images: 3 other image files are not in the eval set, left alone" in lines
    assert any(
        line.startswith("5 images: 5 encoded; 10 distinct references: 10 encoded; 10 distinct of 10") for line in lines
    )


def test_the_second_run_encodes_nothing(run: Run, given: list[str]) -> None:
    """The same again says 0 encoded, prints the same, and works with --no-encode."""
    first = run("score", "a.json", *given)
    again = run("score", "a.json", *given, "--no-encode")
    assert again.code == 0
    assert again.out == first.out
    assert again.err.splitlines()[0] == ".clipstore: 5 images, 15 texts, 0 eval sets"
    assert "0 encoded" in again.err
    more = run("score", "a.json", "b.json", *given)
    assert "5 images: all cached; 10 distinct references: all cached; 10 distinct of 10 captions: 5 encoded" in more.err


def test_no_encode_fails_where_something_is_missing(run: Run, given: list[str]) -> None:
    """Exit 2 with the count and the remedy, and no result."""
    done = run("score", "a.json", *given, "--no-encode")
    assert done.code == 2
    assert done.out == ""
    assert "error: 5 images have no vector of fake" in done.err
    assert "--no-encode" in done.err


def test_every_stage_shows_its_progress(run: Run, given: list[str]) -> None:
    """Off a terminal each stage of encoding says when it is through: images, references, captions."""
    done = run("score", "a.json", *given)
    lines = [line for line in done.err.splitlines() if ": 100% (" in line]
    assert lines[0].startswith("reading image files: 100% (5/5)")
    assert [line.split(",")[0] for line in lines if line.startswith("encoding")] == [
        "encoding images: 100% (5/5)",
        "encoding texts: 100% (10/10)",
        "encoding texts: 100% (5/5)",
    ]
    assert "\r" not in done.err
    assert "\x1b" not in done.err + done.out


def test_quiet_leaves_the_result_alone(run: Run, given: list[str]) -> None:
    """-q writes nothing to stderr, and an error all the same."""
    done = run("score", "a.json", *given, "-q")
    assert done.code == 0
    assert done.err == ""
    assert done.out
    failed = run("score", "absent.json", *given, "-q")
    assert failed.code == 2
    assert failed.err.startswith("error: no such file")


def test_json_is_stable_and_names_no_place(run: Run, given: list[str], desk: Path) -> None:
    """--json has its schema number, plain floats, and neither an absolute path nor the host's name."""
    where = ["--images", desk / "images", "--refs", desk / "refs.json"]
    done = run("score", f"a={desk / 'a.json'}", *where, "--json")
    written = done.json
    assert list(written) == ["schema", "signature", "eval_set", "systems"]
    assert written["schema"] == 1
    assert written["eval_set"] == {"name": None, "n": 5, "hash": written["signature"]["clip_s"]["set"], "missing": []}
    assert list(written["systems"][0]["metrics"]) == ["clip_s", "ref_clip_s"]
    assert str(desk) not in done.out
    assert str(desk.parent) not in done.out
    assert socket.gethostname() not in done.out
    assert run("score", f"a={desk / 'a.json'}", *where, "--json").out == done.out


def test_a_file_takes_the_result_whole(run: Run, given: list[str], desk: Path) -> None:
    """-o writes the table or the JSON to a file and nothing to stdout; a folder that is missing is refused."""
    done = run("score", "a.json", *given, "-o", "out.txt")
    assert done.out == ""
    assert (desk / "out.txt").read_text().splitlines()[0].split() == [
        "system",
        "n",
        "CLIP-S",
        "RefCLIP-S",
        "words",
        "cut",
    ]
    run("score", "a.json", *given, "--json", "-o", "out.json")
    assert json.loads((desk / "out.json").read_text())["schema"] == 1
    failed = run("score", "a.json", *given, "-o", "absent/out.txt")
    assert failed.code == 2
    assert "absent/out.txt" in failed.err
    assert sorted(path.name for path in desk.iterdir() if path.name.startswith(".out")) == []


def test_per_image_has_the_official_layout(run: Run, given: list[str], desk: Path) -> None:
    """One system: id -> CLIPScore and RefCLIPScore; several: one such object a system."""
    run("score", "a.json", *given, "--per-image", "one.json")
    one = json.loads((desk / "one.json").read_text())
    assert list(one) == list(drawn.captions(N))
    assert all(set(scores) == {"CLIPScore", "RefCLIPScore"} for scores in one.values())
    run("score", "a.json", "b.json", *given, "--per-image", "two.json")
    two = json.loads((desk / "two.json").read_text())
    assert two["a"] == one
    assert list(two) == ["a", "b"]
    printed = run("score", "a.json", *given, "--json").json["systems"][0]["metrics"]["clip_s"]["mean"]
    assert sum(scores["CLIPScore"] for scores in one.values()) / N == pytest.approx(printed)


def test_systems_are_called_by_the_shortest_tail_of_their_path(run: Run, given: list[str], desk: Path) -> None:
    """Without NAME= two files of one name are told apart by their folders; two equal names are refused."""
    for folder in ("x", "y"):
        drawn.write_json(desk / "out" / folder / "caps.json", drawn.captions(N, folder))
    done = run("score", "out/x/caps.json", "out/y/caps.json", "a.json", *given)
    assert [row[0] for row in done.rows[1:4]] == ["x/caps", "y/caps", "a"]
    twice = run("score", "a.json", "a=b.json", *given)
    assert twice.code == 2
    assert "two systems are called 'a'" in twice.err
    assert run("score", "=a.json", *given).code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.json", "--images", "nowhere"], "nowhere: there is no such image folder"),
        (["a.json", "--images", "empty"], "holds no image"),
        (["a.json"], "--images DIR"),
        ([], "no captions"),
        (["nothing.json", "--images", "images"], "no such file: nothing.json"),
        (["a.json", "--images", "images", "--model", ""], "model's name is empty"),
        (["a.json", "--images", "images", "--missing", "maybe"], "--missing"),
        (["a.json", "--images", "images", "--batch-size", "0"], "--batch-size"),
        (["a.json", "--nonsense"], "--nonsense"),
        (["a.json", "--images", "images", "--input-format", "nonsense"], "nonsense"),
        (["a.json", "--images", "images", "--id-key", "nonsense"], "nonsense"),
    ],
)
def test_what_can_not_be_done_exits_with_2(run: Run, desk: Path, words: list[str], message: str) -> None:
    """One line of error on stderr, nothing on stdout, exit code 2, and no traceback."""
    (desk / "empty").mkdir()
    done = run("score", *words)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"scene_000000": "x",\n "scene_000001" "y"}', "bad.json: invalid JSON at line 2, column 17"),
        ('{"scene_000000": "x", "scene_000000": "y"}', "'scene_000000'"),
        ('[{"image_id": 0, "caption": "x"}, {"image_id": 1, "caption": 42}]', "row 2"),
        ('{"scene_000000": "x", "scene_000001": "y', "line 1"),
        ("", "bad.json: is empty"),
    ],
    ids=["syntax", "duplicate", "number", "cut off", "empty"],
)
def test_a_file_that_can_not_be_read_is_refused_with_the_place(
    run: Run, desk: Path, given: list[str], content: str, message: str
) -> None:
    """Broken JSON, a key that repeats, a caption that is a number: file and place are named, and no store is made."""
    (desk / "bad.json").write_text(content)
    done = run("score", "bad.json", *given)
    assert done.code == 2
    assert message in done.err
    assert not (desk / ".clipstore").exists()


def test_a_refused_command_makes_no_store(run: Run, desk: Path) -> None:
    """Exit code 2 means that nothing was done: a folder that is missing leaves no new store behind."""
    assert run("score", "a.json", "--images", "nowhere").code == 2
    assert not (desk / ".clipstore").exists()


def test_both_sides_of_what_is_missing_exit_with_1(run: Run, given: list[str], desk: Path) -> None:
    """Captions without image and images without caption: two counts, first ids, exit 1; skip scores n/of."""
    captions = drawn.captions(N)
    del captions[drawn.name(3)]
    drawn.write_json(desk / "part.json", {**captions, "zzz": "x"})
    done = run("score", "part.json", *given)
    assert done.code == 1
    assert done.out == ""
    assert "1 caption has no image in the eval set (first: zzz)" in done.err
    assert f"1 of 5 images has no caption (first: {drawn.name(3)})" in done.err
    skipped = run("score", "part.json", *given, "--missing", "skip")
    assert skipped.code == 0
    assert skipped.rows[1][:2] == ["part", "4/5"]
    assert "|missing:skip|" in skipped.out
    assert run("score", "part.json", *given, "--missing", "skip", "--json").json["eval_set"]["missing"] == [
        drawn.name(3)
    ]


def test_a_corrupt_image_exits_with_1_and_is_named(run: Run, given: list[str], desk: Path) -> None:
    """The others are scored; the bad one is named on stderr and in ``ls failures``; mended, all is well."""
    path = desk / "images" / f"{drawn.name(2)}.png"
    good = path.read_bytes()
    path.write_bytes(good[:45])
    done = run("score", "a.json", *given)
    assert done.code == 1
    assert done.rows[1][:2] == ["a", "4/5"]
    assert f"error: {drawn.name(2)}.png: " in done.err
    assert "run again to retry only what failed" in done.err
    again = run("score", "a.json", *given)
    assert again.code == 1
    assert "4 cached, 1 failed" in again.err
    assert drawn.name(2) in run("ls", "failures").out
    path.write_bytes(good)
    mended = run("score", "a.json", *given)
    assert mended.code == 0
    assert "5 images: 1 encoded" in mended.err
    assert run("ls", "failures").out.count("\n") == 1


def test_empty_captions_are_refused_or_zero(run: Run, given: list[str], desk: Path) -> None:
    """An empty caption is an error with its id; --empty zero scores it 0."""
    drawn.write_json(desk / "empty.json", {**drawn.captions(N), drawn.name(1): ""})
    done = run("score", "empty.json", *given)
    assert done.code == 2
    assert f"1 caption is empty (ids: {drawn.name(1)})" in done.err
    zero = run("score", "empty.json", *given, "--empty", "zero", "--per-image", "out.json")
    assert zero.code == 0
    assert json.loads((desk / "out.json").read_text())[drawn.name(1)] == {"CLIPScore": 0.0, "RefCLIPScore": 0.0}
    assert "|empty:zero|" in zero.out


def test_n_best_is_refused(run: Run, given: list[str], desk: Path) -> None:
    """Several captions an image are told apart from a system's."""
    drawn.write_json(desk / "beams.json", {drawn.name(i): ["one", "two"] for i in range(N)})
    done = run("score", "beams.json", *given)
    assert done.code == 2
    assert "n-best" in done.err


def test_2000_files_of_which_200_count(run: Run, desk: Path) -> None:
    """200 referenced images in a folder of 2,000: 200 encoded, exit 0, one line names the 1,800 others."""
    folder = drawn.draw(desk / "many", 200)
    data = (folder / f"{drawn.name(0)}.png").read_bytes()
    for i in range(200, 2000):
        (folder / f"{drawn.name(i)}.png").write_bytes(data)
    drawn.write_json(desk / "many.json", drawn.references(200))
    drawn.write_json(desk / "caps.json", drawn.captions(200))
    done = run("score", "x=caps.json", "--images", "many", "--refs", "many.json")
    assert done.code == 0
    assert "200 images: 200 encoded" in done.err
    assert [line for line in done.err.splitlines() if "1,800" in line] == [
        "many: 1,800 other image files are not in the eval set, left alone"
    ]


def test_odd_captions_score_like_any_other(run: Run, desk: Path) -> None:
    """Markup, quotes, emoji, newlines and 300 words as captions and as references: scored, stored as they came."""
    refs = {drawn.name(i): [text] for i, text in enumerate(ODD)}
    drawn.write_json(desk / "odd_refs.json", refs)
    drawn.write_json(desk / "odd.json", dict(zip(refs, ODD, strict=True)))
    done = run("score", "odd.json", "--images", "images", "--refs", "odd_refs.json", "--per-image", "out.json")
    assert done.code == 0
    scores = json.loads((desk / "out.json").read_text())
    assert list(scores) == list(refs)
    assert all(one["RefCLIPScore"] > 0 for one in scores.values())
    with Store.open(".clipstore") as store, store.catalogue.read() as tx:
        assert set(contents.texts(tx, keys.text_ids(ODD)).values()) == set(ODD)


@pytest.mark.parametrize("name", ["[red]", "<b>", 'say "hi"', "\U0001f600", "blip_2 & 100%", "a b", "word" * 100])
def test_odd_names_come_through_every_output(run: Run, given: list[str], desk: Path, name: str) -> None:
    """A system's name is the same in the table, in --json, in --per-image and in -o FILE."""
    done = run("score", f"{name}=a.json", "b.json", *given, "--per-image", "out.json")
    assert done.rows[1][0] == name
    assert list(json.loads((desk / "out.json").read_text(encoding="utf-8"))) == [name, "b"]
    assert run("score", f"{name}=a.json", *given, "--json").json["systems"][0]["name"] == name
    run("score", f"{name}=a.json", *given, "-o", "out.txt")
    assert name in (desk / "out.txt").read_text(encoding="utf-8")


def test_odd_ids_come_through_per_image(run: Run, desk: Path) -> None:
    """Ids with markup, quotes and emoji are the same in --per-image, and whole numbers are JSON keys."""
    names = ["[red]", 'it\'s "it"', "\U0001f600", "a & b"]
    for i, name in enumerate(names):
        drawn.picture(i).save(desk / "images" / f"{name}.png")
    drawn.write_json(desk / "odd.json", {name: f"caption {i}" for i, name in enumerate(names)})
    assert run("score", "odd.json", "--images", "images", "--per-image", "out.json").code == 0
    assert list(json.loads((desk / "out.json").read_text(encoding="utf-8"))) == names


@pytest.mark.parametrize("cell", [*ODD[:3], "x" * 300])
def test_a_terminal_shows_markup_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cell: str
) -> None:
    """On a terminal a cell is folded, never cut or interpreted, and the signature stays whole."""
    monkeypatch.setenv("COLUMNS", "80")
    table = Table((Column("system", "left"), Column("n")), ((cell, "5"),), ("CLIP-S|" + "long:" * 40,))
    output._draw(table)
    shown = capsys.readouterr().out
    squeezed = "".join(shown.split())
    assert "".join(cell.split()) in squeezed.replace("5", "", 1) or "".join(cell.split()) in squeezed
    assert "CLIP-S|" + "long:" * 40 in shown


def test_a_newer_store_is_refused(run: Run, given: list[str], desk: Path) -> None:
    """Exit 2; both revisions and the remedy are named."""
    run("score", "a.json", *given)
    with sqlite3.connect(".clipstore/catalogue.sqlite") as connection:
        (before,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    done = run("score", "a.json", *given)
    assert done.code == 2
    assert "schema 9999" in done.err
    assert "install a newer clipstore" in done.err
    with sqlite3.connect(".clipstore/catalogue.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (before,))
    connection.close()


def test_other_weights_under_a_known_name_are_refused(
    run: Run, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2 with both fingerprints, line by line, when a new caption asks the model and it is another."""
    run("score", "a.json", *given)
    monkeypatch.setattr(encoders, "load", lambda *_: FakeEncoder(32))
    assert run("score", "a.json", *given).code == 0
    done = run("score", "b.json", *given)
    assert done.code == 2
    assert "dim: 64 -> 32" in done.err
    assert "another --store" in done.err
    assert done.out == ""


def test_ctrl_c_keeps_the_work(run: Run, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 130 and a line that says so; the images that were encoded are not encoded again."""

    def interrupted(self: FakeEncoder, texts: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FakeEncoder, "embed_texts", interrupted)
        done = run("score", "a.json", *given)
    assert done.code == 130
    assert "interrupted" in done.err
    assert "Traceback" not in done.err
    assert "5 images: all cached" in run("score", "a.json", *given).err


def test_an_internal_error_says_how_to_report_it(run: Run, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 2 with one line; -v lets the traceback through."""

    def broken(self: FakeEncoder, texts: object) -> None:
        msg = "a bug"
        raise RuntimeError(msg)

    monkeypatch.setattr(FakeEncoder, "embed_texts", broken)
    done = run("score", "a.json", *given)
    assert done.code == 2
    assert "error: internal error: RuntimeError: a bug; run again with -v" in done.err
    with pytest.raises(RuntimeError, match="a bug"):
        run("score", "a.json", *given, "-v")


def test_real_photographs(run: Run, desk: Path, shared_data: Path) -> None:
    """Two systems on 200 COCO photographs: each image and distinct text once; a third costs its new captions only."""
    coco = shared_data / "coco200"
    if not (coco / "images").is_dir():
        pytest.skip(f"no coco200 at {shared_data}")
    systems = coco / "systems"
    first = [f"top-down={systems / 'top-down.json'}", f"sat={systems / 'show-attend-tell.json'}"]
    where = ["--images", coco / "images", "--refs", coco / "references.json"]
    done = run("score", *first, *where)
    assert done.code == 0
    assert [row[:2] for row in done.rows[1:3]] == [["top-down", "200"], ["sat", "200"]]
    assert "200 images: 200 encoded" in done.err
    again = run("score", *first, *where)
    assert "0 encoded" in again.err
    assert again.out == done.out
    captions = {
        name: json.loads((systems / f"{name}.json").read_text()) for name in ("top-down", "show-attend-tell", "er-san")
    }
    texts = {
        name: {
            row["caption"] if isinstance(row, dict) else row
            for row in (rows if isinstance(rows, list) else rows.values())
        }
        for name, rows in captions.items()
    }
    fold = {name: {" ".join(text.split()).lower() for text in own} for name, own in texts.items()}
    refs = {
        " ".join(text.split()).lower()
        for own in json.loads((coco / "references.json").read_text()).values()
        for text in own
    }
    new = len(fold["er-san"] - fold["top-down"] - fold["show-attend-tell"] - refs)
    third = run("score", *first, f"er-san={systems / 'er-san.json'}", *where)
    assert f"captions: {new:,} encoded" in third.err
    assert "200 images: all cached" in third.err
