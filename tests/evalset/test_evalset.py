"""Which images count: those that references name, else the union of the captions' ids."""

from __future__ import annotations

import io
from pathlib import Path

import drawn
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipstore import EvalSet, Store
from clipstore.errors import BadFormat, InputError, NotStored, Unpaired
from clipstore.evalset import System, systems_of
from clipstore.evalset.evalset import listed
from clipstore.formats import Captions, Hints, read_captions
from clipstore.items import EvalItem


def aligned(named: dict[str, object], evalset: EvalSet, **rules: str) -> tuple[EvalSet, list[System]]:
    """Close the set over captions and meet them with it, as ``score`` does."""
    read = {name: read_captions(given) for name, given in named.items()}
    closed = evalset.covering(read.values(), missing=rules.get("missing", "error"))
    return closed, systems_of(read, closed, **rules)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of ten drawn images."""
    return drawn.draw(tmp_path / "images", 10)


def test_references_say_which_images_count(folder: Path) -> None:
    """The set is the images that references name, in their order; the other files are counted."""
    refs = {drawn.name(7): ["seven"], drawn.name(2): ["two", "zwei"]}
    evalset = EvalSet.read(images=folder, refs=refs)
    assert evalset.keys == (drawn.name(7), drawn.name(2))
    assert evalset.items[1].references == ("two", "zwei")
    assert [image.name for image in evalset.images()] == [f"{drawn.name(7)}.png", f"{drawn.name(2)}.png"]
    assert evalset.others == 8
    assert not evalset.is_open
    assert "2 images, 3 references" in evalset.described[0]
    assert "2/2 matched" in evalset.described[0]


def test_without_references_the_captions_say_it(folder: Path) -> None:
    """The set is the union of the captions' ids, each image once, in order of first appearance."""
    evalset = EvalSet.read(images=folder)
    assert evalset.is_open
    captions = [{drawn.name(3): "c", drawn.name(1): "a"}, {drawn.name(1): "A", drawn.name(5): "e"}]
    closed = evalset.covering([read_captions(one) for one in captions])
    assert closed.keys == (drawn.name(3), drawn.name(1), drawn.name(5))
    assert closed.others == 7


def test_one_image_named_in_two_ways_is_one_item(folder: Path) -> None:
    """One system uses the file's name, another its stem: the image counts once, under the first id."""
    first = {f"{drawn.name(i)}.png": "a" for i in range(3)}
    second = {drawn.name(i): "b" for i in range(3)}
    closed, systems = aligned({"first": first, "second": second}, EvalSet.read(images=folder))
    assert closed.keys == tuple(first)
    assert [system.n for system in systems] == [3, 3]


def test_ids_come_back_as_they_came(folder: Path) -> None:
    """Whole numbers stay whole numbers and strings stay strings, whatever the file is called."""
    by_number = EvalSet.read(images=folder, refs=[{"image_id": i, "caption": f"ref {i}"} for i in range(3)])
    assert by_number.keys == (0, 1, 2)
    by_text = EvalSet.read(images=folder, refs={str(i): [f"ref {i}"] for i in range(3)})
    assert by_text.keys == ("0", "1", "2")


def test_images_may_be_given_by_id(tmp_path: Path) -> None:
    """Paths, bytes and pictures by id make a set; their captions meet them by that id."""
    out = io.BytesIO()
    drawn.picture(1).save(out, "PNG")
    drawn.picture(2).save(tmp_path / "two.png")
    given: dict[str | int, object] = {"one": out.getvalue(), 2: tmp_path / "two.png", "str": str(tmp_path / "two.png")}
    given["three"] = drawn.picture(3)
    evalset = EvalSet.read(images=given, refs={key: ["words"] for key in given})
    assert evalset.keys == tuple(given)
    assert isinstance(evalset.items[3].image.source, PIL.Image.Image)
    assert evalset.others == 0
    _, systems = aligned({"mine": {"2": "b", "one": "a", "str": "d", "three": "c"}}, evalset)
    assert systems[0].texts == ("a", "b", "d", "c")


def test_a_set_may_have_no_images_at_all() -> None:
    """References alone are a set, for text metrics."""
    evalset = EvalSet.read(refs={"a": ["words"], "b": []})
    assert evalset.keys == ("a", "b")
    assert not evalset.has_images
    with pytest.raises(InputError, match="without an image"):
        evalset.images()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("absent", "no such image folder"),
        ("empty", "holds no image"),
        ("file", "a folder of images, or a Parquet file or tar"),
        ("text", "holds no image"),
    ],
)
def test_a_folder_that_can_not_be_one_is_refused(tmp_path: Path, what: str, message: str) -> None:
    """A missing folder, an empty one, a file, and one without images: each is named."""
    path = tmp_path / what
    if what in {"empty", "text"}:
        path.mkdir()
    if what == "text":
        (path / "notes.txt").write_text("no image")
    if what == "file":
        path.write_text("x")
    with pytest.raises(InputError, match=rf"{what}.*{message}"):
        EvalSet.read(images=path)


def test_references_without_image_are_refused_or_left_out(folder: Path) -> None:
    """The count and the first ids are named; with missing=skip they are left out and remembered."""
    refs = {**{drawn.name(i): ["a"] for i in range(9)}, "absent_1": ["b"], "absent_2": ["c"]}
    with pytest.raises(Unpaired, match=r"2 of 11 ids have no image \(first: 'absent_1', 'absent_2'\)"):
        EvalSet.read(images=folder, refs=refs)
    evalset = EvalSet.read(images=folder, refs=refs, missing="skip")
    assert len(evalset.items) == 9
    assert evalset.unpaired == ("absent_1", "absent_2")


def test_both_sides_of_what_is_missing_are_counted(folder: Path) -> None:
    """Captions without image and images without caption: two counts, five ids of each and how many more."""
    refs = {drawn.name(i): ["a"] for i in range(10)}
    captions = {**{drawn.name(i): "x" for i in range(2)}, **{f"zzz{i}": "x" for i in range(6)}}
    with pytest.raises(Unpaired) as caught:
        aligned({"mine": captions}, EvalSet.read(images=folder, refs=refs))
    message = str(caught.value)
    assert "6 captions have no image in the eval set (first: zzz0, zzz1, zzz2, zzz3, zzz4, ... (1 more))" in message
    assert f"8 of 10 images have no caption (first: {drawn.name(2)}" in message
    assert "(3 more)" in message
    assert "--missing skip" in message
    assert caught.value.exit_code == 1


def test_what_both_have_is_kept_under_skip(folder: Path) -> None:
    """With missing=skip a system stands with None where it has no caption; strangers are left out."""
    evalset = EvalSet.read(images=folder, refs={drawn.name(i): ["a"] for i in range(4)})
    captions = {drawn.name(0): "zero", drawn.name(2): "two", drawn.name(3): "three", "stranger": "x"}
    _, (system,) = aligned({"mine": captions}, evalset, missing="skip")
    assert system.texts == ("zero", None, "two", "three")
    assert system.n == 3


def test_an_n_best_file_is_refused(folder: Path) -> None:
    """Several captions an image are no system to score; both counts are named, and the remedy."""
    with pytest.raises(InputError, match=r"4 captions for 2 images.*n-best.*rerank"):
        aligned({"beams": {drawn.name(0): ["a", "b"], drawn.name(1): ["c", "d"]}}, EvalSet.read(images=folder))


@pytest.mark.parametrize("empty", ["", "   ", "\n\t"])
def test_empty_captions_are_refused_or_kept(folder: Path, empty: str) -> None:
    """Empty and blank captions are counted and named; empty=zero keeps them."""
    captions = {drawn.name(0): "words", drawn.name(1): empty}
    with pytest.raises(InputError, match=rf"1 caption is empty \(ids: {drawn.name(1)}\).*--empty zero"):
        aligned({"mine": captions}, EvalSet.read(images=folder))
    _, (system,) = aligned({"mine": captions}, EvalSet.read(images=folder), empty="zero")
    assert system.texts == ("words", empty)


@pytest.mark.parametrize("wrong", [42, None, 1.5, {"a": 1}])
def test_a_caption_that_is_no_string_is_refused_by_row(folder: Path, wrong: object) -> None:
    """The row with a number or null for a caption is named."""
    rows = [{"image_id": 0, "caption": "fine"}, {"image_id": 1, "caption": wrong}]
    with pytest.raises(BadFormat, match="row 2"):
        aligned({"mine": rows}, EvalSet.read(images=folder))


def test_two_files_of_one_stem_are_refused_by_name(folder: Path) -> None:
    """A stem that fits two files is no guess: both are named (B14)."""
    drawn.picture(1).save(folder / f"{drawn.name(1)}.jpg")
    with pytest.raises(InputError, match=rf"{drawn.name(1)}\.jpg.*{drawn.name(1)}\.png"):
        EvalSet.read(images=folder, refs={drawn.name(i): ["a"] for i in range(3)})
    assert EvalSet.read(images=folder, refs={drawn.name(i): ["a"] for i in (0, 2)}).keys == (
        drawn.name(0),
        drawn.name(2),
    )


def test_coco_numbers_meet_coco_file_names(tmp_path: Path) -> None:
    """Whole-number ids meet files named after COCO's fashion (B26)."""
    (tmp_path / "images").mkdir()
    for number in (974, 1146, 391895):
        drawn.picture(number).save(tmp_path / "images" / f"COCO_val2014_{number:012d}.jpg")
    rows = [{"image_id": number, "caption": "x"} for number in (391895, 974)]
    closed, _ = aligned({"mine": rows}, EvalSet.read(images=tmp_path / "images"))
    assert closed.keys == (391895, 974)
    assert closed.others == 1


def test_annotations_give_names_and_references(tmp_path: Path) -> None:
    """COCO annotations map ids to files whose names say nothing, and hold the references."""
    (tmp_path / "images").mkdir()
    for i, name in enumerate(("f00d", "beef")):
        drawn.picture(i).save(tmp_path / "images" / f"{name}.png")
    notes = {
        "images": [{"id": 12, "file_name": "f00d.png"}, {"id": 34, "file_name": "beef.png"}],
        "annotations": [{"image_id": 34, "id": 1, "caption": "a cow"}, {"image_id": 12, "id": 2, "caption": "food"}],
    }
    path = drawn.write_json(tmp_path / "captions_val.json", notes)
    evalset = EvalSet.read(images=tmp_path / "images", annotations=path)
    assert evalset.keys == (12, 34)
    assert [item.references for item in evalset.items] == [("food",), ("a cow",)]
    assert [image.name for image in evalset.images()] == ["f00d.png", "beef.png"]
    with_refs = EvalSet.read(images=tmp_path / "images", refs={"34": ["mine"]}, annotations=path)
    assert [item.references for item in with_refs.items] == [("mine",)]


def test_the_hash_knows_images_and_references_not_their_order() -> None:
    """The set's hash changes with an image or a reference, and not with their order."""
    items = [EvalItem("a", references=("x", "y")), EvalItem("b", references=("z",))]

    def digest(items: list[EvalItem], ids: list[int | None]) -> str:
        return EvalSet(items=tuple(items)).digest(ids)

    one = digest(items, [1, 2])
    assert digest(items[::-1], [2, 1]) == one
    assert digest([EvalItem("a", references=("y", "x")), items[1]], [1, 2]) == one
    assert digest(items, [1, 3]) != one
    assert digest([EvalItem("a", references=("x",)), items[1]], [1, 2]) != one
    assert digest([EvalItem("A", references=("x", "y")), items[1]], [1, 2]) == one
    assert len(one) == 64


@given(st.permutations(list(range(6))))
def test_a_systems_hash_does_not_know_the_order_of_its_rows(order: list[int]) -> None:
    """Equal captions give an equal hash in any order, and land on the same images."""
    evalset = EvalSet(items=tuple(EvalItem(f"image_{i}") for i in range(6)))
    captions = {f"image_{i}": f"caption {i}" for i in order}
    (system,) = systems_of({"mine": read_captions(captions)}, evalset)
    assert system.texts == tuple(f"caption {i}" for i in range(6))
    (straight,) = systems_of({"mine": read_captions({f"image_{i}": f"caption {i}" for i in range(6)})}, evalset)
    assert system.digest == straight.digest


def test_another_caption_is_another_hash() -> None:
    """One changed caption, or two that are swapped, change a system's hash."""
    evalset = EvalSet(items=(EvalItem("a"), EvalItem("b")))

    def digest(**texts: str) -> str:
        return systems_of({"x": read_captions(texts)}, evalset)[0].digest

    assert len({digest(a="1", b="2"), digest(a="2", b="1"), digest(a="1", b="3"), digest(a="1 ", b="2")}) == 4


def test_a_list_of_ids_shows_five() -> None:
    """Five ids and how many more there are."""
    assert listed(range(5)) == "0, 1, 2, 3, 4"
    assert listed(range(1007)) == "0, 1, 2, 3, 4, ... (1,002 more)"


def test_a_set_that_is_not_saved_lists_those_that_are(store: Store, folder: Path) -> None:
    """Loading an unknown name says what there is, or how to make one."""
    from clipstore.evalset import save

    with pytest.raises(NotStored, match="it has none yet: clipstore add"):
        EvalSet.load(store, "nope")
    evalset = EvalSet.read(images=folder, refs={drawn.name(1): ["a"]})
    save(store, "mine", evalset, {}, store.identify(evalset.images()).ids)
    with pytest.raises(NotStored, match="'nope'; there is: mine"):
        EvalSet.load(store, "nope")


def test_the_split_of_a_karpathy_file_is_a_hint(tmp_path: Path) -> None:
    """Only the images of the split that was asked for count."""
    images = [
        {"filename": f"{drawn.name(i)}.png", "split": split, "cocoid": i, "imgid": i, "sentids": [i],
         "sentences": [{"raw": f"ref {i}", "tokens": ["ref"], "sentid": i, "imgid": i}]}
        for i, split in enumerate(("train", "val", "test", "val"))
    ]  # fmt: skip
    path = drawn.write_json(tmp_path / "dataset_coco.json", {"dataset": "coco", "images": images})
    evalset = EvalSet.read(images=drawn.draw(tmp_path / "images", 4), refs=path, hints=Hints(split="val"))
    assert len(evalset.items) == 2


def test_captions_already_read_are_taken_as_they_are(folder: Path) -> None:
    """``Captions`` that were read before stand in for a path."""
    captions = Captions("mine.json", "official", [drawn.name(0)], ["words"])
    closed = EvalSet.read(images=folder).covering([captions])
    assert systems_of({"mine": captions}, closed)[0].texts == ("words",)
