"""Each format: a small example as people have it, and a malformed twin that is refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from format_examples import BATCH_FAILED, BATCH_OK, CASES, KARPATHY, LLAVA, Case, make_tar

from clipstore.errors import BadFormat, InputError
from clipstore.formats import Hints, format_names, read_captions, read_references

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.title}")
def test_example_is_recognised_by_content_and_read_in_file_order(case: Case, tmp_path: Path) -> None:
    """Content alone tells the format, whatever the file's extension; rows keep the file's order."""
    path = tmp_path / "captions.data"
    path.write_text(case.text)
    found = read_captions(path, case.hints)
    assert (found.format, found.ids, found.texts) == (case.title, case.ids, case.texts)
    assert found.source == "captions.data"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.title}")
def test_malformed_twin_is_refused_and_the_place_named(case: Case, tmp_path: Path) -> None:
    """What is wrong is said with the file and the place."""
    path = tmp_path / "captions.data"
    path.write_text(case.twin)
    with pytest.raises(InputError, match=case.words) as caught:
        read_captions(path, case.hints)
    assert str(caught.value).startswith("captions.data: ")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.title}")
def test_naming_the_format_reads_the_same(case: Case, tmp_path: Path) -> None:
    """``--input-format`` with the right name changes nothing."""
    path = tmp_path / "captions.data"
    path.write_text(case.text)
    assert case.name in format_names()
    named = read_captions(path, Hints(input_format=case.name, split=case.hints.split))
    assert (named.ids, named.texts) == (case.ids, case.texts)


def test_unknown_format_name_lists_those_there_are() -> None:
    """A mistyped format is answered with the nearest name and the list."""
    with pytest.raises(InputError, match=r"did you mean coco-results\?.*flickr-tokens"):
        read_captions({"a": "b"}, Hints(input_format="coco-result"))


def test_llava_answers_take_their_images_from_the_questions(tmp_path: Path) -> None:
    """An answer names a question, never an image: without the questions it is refused."""
    answers, questions = tmp_path / "answers.jsonl", tmp_path / "q.jsonl"
    answers.write_text(LLAVA + "\n" + LLAVA.replace('"question_id":0', '"question_id":1') + "\n")
    questions.write_text(
        '{"question_id":1,"image":"b.jpg","text":"?"}\n{"question_id":"0","image":"a.jpg","text":"?"}\n'
    )
    found = read_captions(answers, Hints(questions=questions))
    assert (found.format, found.ids, found.texts) == ("LLaVA answers", ["a.jpg", "b.jpg"], ["a boy runs"] * 2)
    with pytest.raises(InputError, match="give the questions they answer with --questions"):
        read_captions(answers)


def test_llava_answer_to_an_unknown_question_is_refused(tmp_path: Path) -> None:
    """An answer whose question is not in the file is named."""
    answers, questions = tmp_path / "answers.jsonl", tmp_path / "q.jsonl"
    answers.write_text(LLAVA)
    questions.write_text('{"question_id":1,"image":"b.jpg","text":"?"}\n')
    with pytest.raises(InputError, match=r"1 answers are to questions that q.jsonl does not hold \(first: 0\)"):
        read_captions(answers, Hints(questions=questions))


def test_plain_lines_need_their_ids_and_equal_counts(tmp_path: Path) -> None:
    """Plain captions meet the ids of ``--order`` line by line; a different count shows both."""
    lines, order = tmp_path / "caps.txt", tmp_path / "ids.txt"
    lines.write_text("a man rides\n[red] car\n\n")
    order.write_text("391895\n7.jpg\n")
    found = read_captions(lines, Hints(order=order))
    assert (found.ids, found.texts) == (["391895", "7.jpg"], ["a man rides", "[red] car"])
    assert found.where(1) == "line 2"
    order.write_text("391895\n7.jpg\n8\n")
    with pytest.raises(BadFormat, match="2 captions for 3 ids"):
        read_captions(lines, Hints(order=order))
    with pytest.raises(BadFormat, match="no known format"):
        read_captions(lines)


def test_plain_lines_may_hold_several_candidates_an_image(tmp_path: Path) -> None:
    """``--num-candidates 2`` gives each id two lines; a JSON list of ids is an order too."""
    lines, order = tmp_path / "caps.txt", tmp_path / "ids.json"
    lines.write_text("a\nb\nc\nd\n")
    order.write_text("[5, 0]")
    found = read_captions(lines, Hints(order=order, num_candidates=2))
    assert (found.ids, found.texts, found.ranks) == ([5, 5, 0, 0], list("abcd"), [0, 1, 0, 1])


def test_row_ids_are_resolved_by_the_order_only(tmp_path: Path) -> None:
    """``--id-key row`` reads ids as places in the order file, the first being 0."""
    order = tmp_path / "ids.txt"
    order.write_text("a.jpg\nb.jpg\n")
    rows = [{"image_id": 1, "caption": "second"}, {"image_id": 0, "caption": "first"}]
    assert read_captions(rows, Hints(id_key="row", order=order)).ids == ["b.jpg", "a.jpg"]
    with pytest.raises(InputError, match="--id-key row needs"):
        read_captions(rows, Hints(id_key="row"))
    with pytest.raises(InputError, match=r"row 1: id 2 is no row of ids.txt \(rows 0 to 1\)"):
        read_captions([{"image_id": 2, "caption": "x"}], Hints(id_key="row", order=order))


def test_user_names_the_columns() -> None:
    """Columns that the user names win over those that would be guessed; a missing one is refused."""
    rows = [{"image_id": 1, "caption": "no", "pic": "a", "best": "yes", "entropy": 0.5}]
    hints = Hints(image_col="pic", caption_col="best", score_col="entropy")
    found = read_captions(rows, hints)
    assert (found.ids, found.texts, found.scores, found.score_kind) == (["a"], ["yes"], [0.5], "unknown")
    with pytest.raises(InputError, match=r"--caption-col beste: no such column \(columns: image_id"):
        read_captions(rows, Hints(caption_col="beste", input_format="rows"))


@pytest.mark.parametrize("flag", ["image_col", "caption_col", "score_col"])
@pytest.mark.parametrize(
    "text",
    [
        "pic,words,p\na.jpg,a cat,-1\n",
        "pic\twords\tp\na.jpg\ta cat\t-1\n",
        '[{"pic": "a.jpg", "words": "a cat", "p": -1}]',
    ],
)
def test_a_wrong_column_is_answered_with_those_there_are(flag: str, text: str) -> None:
    """Mistyping a column is no question of the format: the columns of the file are listed."""
    right = {"image_col": "pic", "caption_col": "words", "score_col": "p"}
    found = read_captions(text.encode(), Hints(**right))
    assert (found.ids, found.texts, found.scores) == (["a.jpg"], ["a cat"], [-1.0])
    words = rf"bytes: --{flag.replace('_', '-')} nope: no such column \(columns: pic, words, p\)"
    with pytest.raises(InputError, match=words):
        read_captions(text.encode(), Hints(**{**right, flag: "nope"}))


def test_a_wrong_column_of_parquet_is_answered_with_those_there_are(tmp_path: Path) -> None:
    """The same for a schema."""
    path = parquet(tmp_path / "a.parquet", {"image": ["a"], "caption": ["b"]})
    with pytest.raises(InputError, match=r"--caption-col nope: no such column \(columns: image, caption\)"):
        read_captions(path, Hints(caption_col="nope"))


def test_references_keep_every_image_and_its_facts() -> None:
    """References say which images there are, with file names and tags, also where no caption is left."""
    viz = next(case for case in CASES if case.name == "vizwiz")
    found = read_references(viz.text.encode())
    assert (found.ids, found.texts, found.file_names) == ([5, 6], [("a can",), ()], {5: "v.jpg"})
    assert found.notes == ("2 rejected or precanned annotations dropped",)
    nocaps = read_references(next(case for case in CASES if case.name == "nocaps").text.encode())
    assert (nocaps.ids, nocaps.tags) == ([0], [{"domain": "near-domain"}])


def test_references_of_the_official_layout_may_be_strings_or_lists() -> None:
    """A single reference as a string is a list of one, as in the official script."""
    found = read_references({"a": "one", "b": ["two", "three"], "c": []})
    assert (found.ids, found.texts) == (["a", "b", "c"], [("one",), ("two", "three"), ()])
    assert found.format == "clipscore references"


def test_karpathy_needs_a_split_and_keeps_all_three_ids(tmp_path: Path) -> None:
    """A file with several splits is refused until one is named; cocoid, imgid and file stay known."""
    path = tmp_path / "dataset_coco.json"
    path.write_text(json.dumps(KARPATHY))
    with pytest.raises(InputError, match="splits test, restval: choose with --split"):
        read_references(path)
    with pytest.raises(InputError, match="no image is of split 'val'"):
        read_references(path, Hints(split="val"))
    found = read_references(path, Hints(split="test"))
    assert found.alternate_ids == {"cocoid": [391895], "imgid": [0]}
    assert found.file_names == {391895: "val2014/COCO_val2014_000000391895.jpg"}
    assert read_references(path, Hints(split="test,restval")).ids == [391895, 9]


def test_karpathy_without_cocoid_goes_by_file_name() -> None:
    """flickr8k and flickr30k have no cocoid: the file name is the id."""
    image = {"filename": "1007129816.jpg", "imgid": 0, "split": "test", "sentences": [{"raw": "A man."}]}
    found = read_references({"images": [image], "dataset": "flickr30k"})
    assert (found.ids, found.alternate_ids, found.id_kind) == (["1007129816.jpg"], {"imgid": [0]}, "name")


def test_gts_and_res_dicts_of_coco_caption_are_read() -> None:
    """Python dicts keep their int keys, with captions as strings or objects."""
    found = read_captions({391895: [{"caption": "a man rides"}], 7: ["x"]})
    assert (found.ids, found.texts, found.is_nbest, found.source) == ([391895, 7], ["a man rides", "x"], False, "dict")


@pytest.mark.parametrize("rows", [[(1, "a"), ("b", "c")], iter([[1, "a"], ["b", "c"]])])
def test_pairs_of_id_and_caption_are_rows(rows: object) -> None:
    """Any iterable of (id, caption) will do."""
    found = read_captions(rows)  # type: ignore[arg-type]
    assert (found.ids, found.texts) == ([1, "b"], ["a", "c"])


def test_failed_batch_lines_are_missing_captions() -> None:
    """A line that failed gives no caption and is counted."""
    found = read_captions(f"{BATCH_FAILED}\n{BATCH_OK}".encode())
    assert found.ids == ["391895"] * 2
    assert found.notes == ("1 failed line is a missing caption",)
    assert found.ranks == [0, 1]


def test_batch_logprobs_are_summed_over_tokens() -> None:
    """Token log-probabilities give a score of kind sum."""
    line = json.loads(BATCH_OK)
    line["response"]["body"]["choices"] = [
        {"index": 0, "message": {"content": "a"}, "logprobs": {"content": [{"logprob": -1.0}, {"logprob": -0.5}]}}
    ]
    found = read_captions([line])
    assert (found.scores, found.score_kind) == ([-1.5], "sum")


def test_nbest_keeps_rank_score_and_kind() -> None:
    """Several captions of an image are candidates in file order; a sum is told from an unknown number."""
    rows = [
        {"image_id": 1, "caption": "a", "cumulative_logprob": -1.0},
        {"image_id": 2, "caption": "c", "cumulative_logprob": None},
        {"image_id": 1, "caption": "b", "cumulative_logprob": -2},
    ]
    found = read_captions(rows)
    assert found.is_nbest
    assert (found.ranks, found.scores, found.score_kind) == ([0, 0, 1], [-1.0, None, -2.0], "sum")
    first = found.first()
    assert (first.ids, first.texts, first.scores, first.is_nbest) == ([1, 2], ["a", "c"], [-1.0, None], False)


def test_canonical_rank_decides_which_is_first() -> None:
    """Where rows carry a rank, that is the rank, whatever their order."""
    case = next(case for case in CASES if case.name == "canonical")
    found = read_captions(case.text.encode())
    assert (found.ranks, found.first().texts) == ([1, 0], ["first"])


def test_repeats_of_the_same_caption_are_dropped_with_a_note() -> None:
    """Padding of distributed evaluation repeats rows: that is no n-best list."""
    rows = [{"image_id": key, "caption": f"c{key}"} for key in (1, 2, 3, 1, 2)]
    found = read_captions(rows)
    assert (found.ids, found.is_nbest) == ([1, 2, 3], False)
    assert found.notes == ("2 repeated rows dropped (same image, same caption)",)


def test_ids_keep_their_type() -> None:
    """7 and "7" are two ids on the way in and out."""
    found = read_captions([{"image_id": 7, "caption": "a"}, {"image_id": "7", "caption": "b"}])
    assert (found.ids, found.is_nbest) == ([7, "7"], False)


@pytest.mark.parametrize("value", [1.5, True, None, [1]])
def test_ids_that_are_neither_string_nor_whole_number_are_refused(value: object) -> None:
    """A float or null id means a broken export."""
    with pytest.raises(BadFormat, match="row 2: the image id is"):
        read_captions([{"image_id": 1, "caption": "a"}, {"image_id": value, "caption": "b"}])


def test_webdataset_key_ends_at_the_first_dot_and_failures_are_counted(tmp_path: Path) -> None:
    """``a.b.jpg`` has key ``a``; a failed download is left out."""
    path = tmp_path / "00000.tar"
    path.write_bytes(
        make_tar(
            {
                "000000012.jpg": b"\xff\xd8\xff",
                "000000012.txt": b"a cat",
                "000000012.json": b'{"key":"000000012","caption":"a cat","status":"success"}',
                "d/a.b.jpg": b"\xff\xd8\xff",
                "d/a.json": b'{"key":"a","caption":"a dog","status":"success"}',
                "000000013.json": b'{"key":"000000013","caption":"lost","status":"failed_to_download"}',
            }
        )
    )
    found = read_captions(path)
    assert (found.ids, found.texts) == (["000000012", "d/a"], ["a cat", "a dog"])
    assert found.file_names == {"000000012": "000000012.jpg", "d/a": "d/a.b.jpg"}
    assert found.notes[0] == "1 failed download left out"


def test_truncated_tar_is_refused(tmp_path: Path) -> None:
    """A tar that ends in the middle of a member is named, nothing of it is read."""
    path = tmp_path / "00000.tar"
    path.write_bytes(make_tar({"a.txt": b"a cat" * 1000})[:900])
    with pytest.raises(BadFormat, match=r"00000\.tar: "):
        read_captions(path)


def parquet(path: Path, columns: dict[str, list[object]]) -> Path:
    """Write a Parquet file."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_with_a_row_an_image_and_with_a_row_a_caption_is_grouped(tmp_path: Path) -> None:
    """Both shapes of one set give the same references."""
    images: dict[str, list[object]] = {"cocoid": [5, 7], "sentences": [[{"raw": "a"}, {"raw": "b"}], [{"raw": "c"}]]}
    captions: dict[str, list[object]] = {"cocoid": [5, 5, 7], "sentences": [{"raw": "a"}, {"raw": "b"}, {"raw": "c"}]}
    one = read_references(parquet(tmp_path / "a.parquet", images))
    two = read_references(parquet(tmp_path / "b.parquet", captions))
    assert (one.ids, one.texts) == (two.ids, two.texts) == ([5, 7], [("a", "b"), ("c",)])


def test_parquet_images_are_named_by_path_or_else_by_content(tmp_path: Path) -> None:
    """An image struct gives its path as id; with a null path the id is the content's."""
    named: dict[str, list[object]] = {"image": [{"bytes": b"x", "path": "a.jpg"}], "caption": [["one"]]}
    bare: dict[str, list[object]] = {"image": [{"bytes": b"x", "path": None}], "caption": [["one"]]}
    assert read_captions(parquet(tmp_path / "a.parquet", named)).ids == ["a.jpg"]
    (key,) = read_captions(parquet(tmp_path / "b.parquet", bare)).ids
    assert isinstance(key, str)
    assert len(key) == 16


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    """A Parquet file that was cut off is named as such."""
    path = parquet(tmp_path / "a.parquet", {"image": ["a"], "caption": ["b"]})
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(BadFormat, match=r"a.parquet: Parquet that can't be read"):
        read_captions(path)


def test_parquet_without_captions_names_its_columns(tmp_path: Path) -> None:
    """A Parquet file of something else says which columns it has."""
    path = parquet(tmp_path / "a.parquet", {"x": [1], "y": [2]})
    with pytest.raises(BadFormat, match=r"no column holds image ids \(columns: x, y\); name it with --image-col"):
        read_captions(path)


def test_importing_formats_loads_no_reader_of_binary_files() -> None:
    """Both pyarrow and zstandard wait for a file that needs them."""
    program = "import sys, clipstore.formats; print({'pyarrow', 'zstandard'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "set()"
