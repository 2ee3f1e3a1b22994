"""The key table: every caption meets its own image or is named."""

from __future__ import annotations

import random

import pytest

from clipstore.errors import InputError, Unpaired
from clipstore.formats import Hints, Matched, describe, match, match_keys, read_captions

COCO = [f"COCO_val2014_{number:012d}.jpg" for number in (391895, 60623, 0, 42)]


@pytest.mark.parametrize(
    ("ids", "files", "kind", "paths"),
    [
        ([391895, 0], COCO, "number in file name", [COCO[0], COCO[2]]),
        (["391895", "42"], COCO, "number in file name", [COCO[0], COCO[3]]),
        (["COCO_val2014_000000000042"], COCO, "stem of file name", [COCO[3]]),
        ([COCO[1]], COCO, "file name", [COCO[1]]),
        ([f"val2014/{COCO[1]}"], [f"val2014/{name}" for name in COCO], "relative path", [f"val2014/{COCO[1]}"]),
        ([f"val2014/{COCO[1]}"], COCO, "relative path", [COCO[1]]),
        ([f"/data/coco/val2014/{COCO[1]}"], COCO, "relative path", [COCO[1]]),
        ([f".\\val2014\\{COCO[1]}"], [f"val2014/{name}" for name in COCO], "relative path", [f"val2014/{COCO[1]}"]),
        ([1007129816], ["1007129816.jpg", "36979.jpg"], "stem of file name", ["1007129816.jpg"]),
        (["train/a.jpg", "val/a.jpg"], ["val/a.jpg", "train/a.jpg"], "relative path", ["train/a.jpg", "val/a.jpg"]),
        (["train/a", "val/a"], ["val/a.jpg", "train/a.png"], "relative path", ["train/a.png", "val/a.jpg"]),
        (["/data/val2014/a.b", "/data/val2014/c"], ["c.jpg", "a.b.jpg"], "relative path", ["a.b.jpg", "c.jpg"]),
        (
            ["2258277193_586949ec62.jpg.1"],
            ["2258277193_586949ec62.jpg.1", "2258277193_586949ec62.jpg"],
            "file name",
            ["2258277193_586949ec62.jpg.1"],
        ),
        (["1"], ["0001.jpg", "1.jpg"], "stem of file name", ["1.jpg"]),
        ([1, 2], ["0001.jpg", "0002.jpg"], "number in file name", ["0001.jpg", "0002.jpg"]),
        (["A", "b"], ["A.JPG", "b.webp", "c.jpg", "c.png"], "stem of file name", ["A.JPG", "b.webp"]),
    ],
)
def test_one_kind_of_key_serves_every_id(ids: list[str | int], files: list[str], kind: str, paths: list[str]) -> None:
    """The kind under which every id means exactly one image is chosen; ids come back as they went in."""
    found = match(ids, files)
    assert (found.kind, found.paths, found.ids, found.warnings) == (kind, paths, ids, ())


@pytest.mark.parametrize(
    "files",
    [
        ["dog_1.jpg", "cat_2.jpg"],  # other words before the number
        ["a_1.jpg", "a_2.jpg", "a_3x.jpg"],  # a stem that starts alike and breaks the pattern
        ["a_1.jpg", "a_02.jpg"],  # leading zeros on some only
        ["00000001.jpg", "00000002.jpg", "0000000a.jpg"],  # hex names
        ["a1.jpg", "a2.jpg"],  # the number follows a letter
    ],
)
def test_a_number_counts_only_where_stems_share_one_pattern(files: list[str]) -> None:
    """A number that ends some stems by accident is no key."""
    with pytest.raises(InputError, match="none of 2 ids has an image"):
        match([1, 2], files)


def test_numbers_among_random_hex_stems_never_match() -> None:
    """Of thousands of random hex names many end in digits; none of those is a number."""
    draw = random.Random(1)
    files = [f"{draw.getrandbits(40):010x}_{draw.getrandbits(40):010x}.jpg" for _ in range(4500)]
    ends = [int(digits) for name in files if (digits := name[:-4].rsplit("_", 1)[1]).isdigit()]
    assert ends
    with pytest.raises(InputError, match="none of"):
        match(ends, files)


def test_two_images_with_one_number_are_named() -> None:
    """``0001.jpg`` is not ``1.jpg``: a number that two images share names neither."""
    with pytest.raises(InputError, match=r"id does not name exactly one image.*'train/a_1.jpg' and 'val/a_1.jpg'"):
        match([1, 2], ["train/a_1.jpg", "train/a_2.jpg", "val/a_1.jpg"])


def test_stem_of_two_files_is_refused_and_both_are_named() -> None:
    """``c`` could be ``c.jpg`` or ``c.png``: the message names both and the way out."""
    for missing in ("error", "skip"):
        with pytest.raises(InputError, match=r"'c' fits 'c.jpg' and 'c.png'.*--id-key path or name"):
            match(["A", "b", "c"], ["A.JPG", "b.webp", "c.jpg", "c.png"], missing=missing)  # type: ignore[arg-type]
    assert match(["c.png"], ["c.jpg", "c.png"]).paths == ["c.png"]


def test_a_kind_that_the_user_names_takes_ids_for_what_they_hold() -> None:
    """Paths of another tree meet by name, files saved again in another container by stem: when the user says so."""
    moved, again = ["/old/x/a.jpg", "old\\x\\b.jpg"], ["x/a.jpg", "b.tif"]
    with pytest.raises(InputError, match=r"--id-key path, name, stem or number"):
        match(moved, ["new/a.jpg", "new/b.jpg"])
    assert match(moved, ["new/a.jpg", "new/b.jpg"], hints=Hints(id_key="name")).paths == ["new/a.jpg", "new/b.jpg"]
    with pytest.raises(InputError, match=r"--id-key path, name, stem or number"):
        match(again, ["a.png", "b.png"])
    assert match(again, ["a.png", "b.png"], hints=Hints(id_key="stem")).paths == ["a.png", "b.png"]
    with pytest.raises(InputError, match=r"shares 'a.png' with another id"):
        match(["x/a.jpg", "y/a.jpg"], ["a.png", "b.png"], hints=Hints(id_key="stem"))


def test_a_path_without_extension_that_fits_two_files_is_refused() -> None:
    """``v/a`` could be ``v/a.jpg`` or ``v/a.png``; a file called so itself is meant first, ``v/a.jpg`` is no ``v/a.png``."""
    with pytest.raises(InputError, match=r"'v/a' fits 'v/a.jpg' and 'v/a.png'"):
        match(["v/a", "v/b"], ["v/a.jpg", "v/a.png", "v/b.jpg"])
    assert match(["v/a"], ["v/a", "v/a.png"]).paths == ["v/a"]
    with pytest.raises(InputError, match="none of 1 ids has an image"):
        match(["v/a.jpg"], ["v/a.png"], hints=Hints(id_key="path"))


def test_too_few_matches_name_a_key_that_works() -> None:
    """Where few numbers fit, the flag in the message is one that takes them as they are."""
    with pytest.raises(InputError, match=r"only 2 of 100 ids are ids of the eval set.*say --id-key id"):
        match_keys(range(100), [1, 2, *range(1000, 1098)], missing="skip")
    found = match_keys(range(100), [1, 2, *range(1000, 1098)], missing="skip", hints=Hints(id_key="id"))
    assert sorted(found.by_id()) == [1, 2]


def test_case_and_unicode_form_match_with_a_warning() -> None:
    """Files copied between systems change case and NFC to NFD; they match, and it is said."""
    found = match(["PHOTO.jpg", "caf\u00e9.jpg"], ["photo.JPG", "cafe\u0301.jpg"])
    assert found.paths == ["photo.JPG", "cafe\u0301.jpg"]
    assert found.warnings == (
        "2 ids match only without regard to case or Unicode form (first: 'PHOTO.jpg' -> 'photo.JPG')",
    )


def test_ids_that_differ_in_case_only_never_share_an_image() -> None:
    """Two ids can't both mean one file."""
    with pytest.raises(InputError, match=r"do not name exactly one image.*shares 'a.jpg' with another id"):
        match(["a", "A"], ["a.jpg"])
    assert match(["a", "A"], ["a.jpg", "A.jpg"]).paths == ["a.jpg", "A.jpg"]


def test_two_kinds_that_disagree_are_named_with_the_flag() -> None:
    """Where the annotation file and the number in the name say different images, nothing is guessed."""
    names = {1: "img_2.jpg", 2: "img_1.jpg"}
    files = ["img_1.jpg", "img_2.jpg"]
    with pytest.raises(InputError, match=r"1 is 'img_2.jpg' by ids of the annotation file but 'img_1.jpg' by number"):
        match([1, 2], files, file_names=names)
    by_number = match([1, 2], files, file_names=names, hints=Hints(id_key="number"))
    by_file = match([1, 2], files, file_names=names, hints=Hints(id_key="annotation"))
    assert (by_number.paths, by_file.paths) == (["img_1.jpg", "img_2.jpg"], ["img_2.jpg", "img_1.jpg"])


def test_annotation_file_gives_the_image_of_an_id() -> None:
    """Ids of nocaps are row numbers, and its files are hashes: only the annotation file knows. 0 is an id."""
    names = {0: "0013ea2087020901.jpg", 1: "val/0045bb.jpg"}
    found = match([0, 1], ["0013ea2087020901.jpg", "0045bb.jpg"], file_names=names)
    assert (found.kind, found.paths) == ("ids of the annotation file", ["0013ea2087020901.jpg", "0045bb.jpg"])
    with pytest.raises(InputError, match="--annotations"):
        match([0, 1], ["0013ea2087020901.jpg"])
    with pytest.raises(InputError, match="give --annotations"):
        match([0], ["a.jpg"], hints=Hints(id_key="cocoid"))


def test_nothing_matches_shows_examples_near_misses_and_a_flag() -> None:
    """The message shows both sides, what they look like, near misses, and what to try."""
    with pytest.raises(InputError) as caught:
        match(["imgae_one", "imgae_two"], ["image_one.jpg", "image_two.jpg"], source="blip.json")
    message = str(caught.value)
    assert message.startswith("blip.json: none of 2 ids has an image. Ids such as 'imgae_one', 'imgae_two'")
    assert "Near: 'imgae_one' ~ 'image_one'" in message
    assert "--id-key" in message
    assert not isinstance(caught.value, Unpaired)


def test_missing_images_are_counted_and_skip_leaves_them_out() -> None:
    """Ids without an image are an error with the first five, or left out under ``skip``; the kind is the same."""
    files = [f"img_{number:04d}.jpg" for number in range(10)]
    with pytest.raises(Unpaired, match=r"x.json: 2 of 10 ids have no image \(first: 90, 91\); ids = number in file"):
        match([*range(8), 90, 91], files, source="x.json")
    found = match([*range(8), 90, 91], files, missing="skip")
    assert (found.kind, found.unmatched) == ("number in file name", [90, 91])
    assert found.by_id()[0] == "img_0000.jpg"


def test_skip_never_lowers_the_bar_for_a_kind() -> None:
    """Row numbers that meet a few COCO numbers by chance are refused under ``skip`` too."""
    files = [f"COCO_val2014_{number:012d}.jpg" for number in (42, 73, *range(100_000, 100_098))]
    with pytest.raises(InputError, match=r"only 2 of 100 ids are images by number in file name"):
        match(range(100), files, missing="skip")
    with pytest.raises(InputError, match=r"two readings of the ids disagree"):
        match(["a", "b.jpg", "zz"], ["a.png", "b.jpg"], missing="skip")


def test_forced_kind_is_the_only_one_tried() -> None:
    """``--id-key number`` reads the number in names on both sides, whatever the pattern."""
    found = match(["x_1", "y_2"], ["dog_1.jpg", "cat_2.jpg"], hints=Hints(id_key="number"))
    assert found.paths == ["dog_1.jpg", "cat_2.jpg"]
    with pytest.raises(InputError, match=r"no id key 'stems': one of id, path, name"):
        match([1], ["1.jpg"], hints=Hints(id_key="stems"))


def test_files_that_no_id_means_break_the_pattern_of_numbers_too() -> None:
    """A number counts only where all stems of the folder share one pattern; who knows better says so."""
    with pytest.raises(InputError, match=r"do not share one pattern.*'b-3' beside 'a_1'.*say --id-key number"):
        match(["1", "2"], ["a_1.jpg", "a_2.jpg", "b-3.jpg"])
    files = [*COCO, "readme_figure.png"]
    with pytest.raises(InputError, match="'readme_figure' beside 'COCO_val2014_000000391895'"):
        match([391895, 42], files)
    assert match([391895, 42], files, hints=Hints(id_key="number")).paths == [COCO[0], COCO[3]]
    assert match([COCO[0][:-4]], files).paths == [COCO[0]]


@pytest.mark.parametrize("files", [["a_1.jpg", "a_2.jpg", "a_3.jpg"], ["a_001.jpg", "a_002.jpg", "a_003.jpg"]])
def test_a_string_with_leading_zeros_is_only_the_number_written_so(files: list[str]) -> None:
    """``01`` is not ``1`` and not ``001``; numbers without leading zeros are COCO's own case."""
    with pytest.raises(Unpaired, match=r"1 of 3 ids has no image \(first: '01'\).*leading zeros.*--id-key number"):
        match(["01", "2", "3"], files)
    with pytest.raises(InputError, match=r"none of 2 ids has an image.*2 differ from a file's number in leading"):
        match(["01", "02"], files)
    assert match(["01", "2", "3"], files, missing="skip").unmatched == ["01"]
    assert match(["01", "2", "3"], files, hints=Hints(id_key="number")).paths == files
    assert match(["1", 2, 3], files).paths == files
    assert match(["000000391895"], COCO).paths == [COCO[0]]


def test_numbers_of_two_kinds_of_names_are_no_ids_of_each_other() -> None:
    """Captions of ``cat_1`` are not of ``dog_1``, and ``01`` is no ``1``, unless the user says so."""
    with pytest.raises(InputError, match=r"'cat_1' beside 'dog_1'"):
        match_keys(["cat_1", "cat_2"], ["dog_1", "dog_2"])
    with pytest.raises(InputError, match=r"leading zeros \('01' beside '1'\)"):
        match_keys(["01", "02"], [1, 2])
    assert match_keys(["cat_1"], ["dog_1"], hints=Hints(id_key="number")).keys == ["dog_1"]


@pytest.mark.parametrize(
    ("ids", "keys", "found"),
    [
        ([391895], [391895, 7], [391895]),
        (["391895"], [391895, 7], [391895]),
        ([391895], ["391895", "7"], ["391895"]),
        ([7, "7"], [7, "7"], [7, "7"]),
        (["COCO_val2014_000000391895"], [391895, 7], [391895]),
        (["val2014/COCO_val2014_000000391895.jpg"], [391895, 7], [391895]),
        ([391895], ["COCO_val2014_000000391895.jpg"], ["COCO_val2014_000000391895.jpg"]),
        (["1007129816"], ["1007129816.jpg"], ["1007129816.jpg"]),
        (["1007129816.jpg"], ["1007129816"], ["1007129816"]),
        (["val2014/a.jpg"], ["a.jpg"], ["a.jpg"]),
        (["val/a.jpg", "train/a.jpg"], ["train/a", "val/a"], ["val/a", "train/a"]),
        (["val/a", "train/a"], ["train/a.jpg", "val/a.jpg"], ["val/a.jpg", "train/a.jpg"]),
        ([0], [0, 1], [0]),
    ],
)
def test_ids_meet_the_keys_of_an_eval_set(ids: list[str | int], keys: list[str | int], found: list[str | int]) -> None:
    """Ids in another dress meet the keys of the references, and both come back as they were."""
    assert match_keys(ids, keys).keys == found


def test_file_names_of_the_eval_set_are_keys_too() -> None:
    """Captions by file name meet an eval set by number through the annotation file's names."""
    names = {0: "0013ea2087020901.jpg", 1: "0045bb.jpg"}
    assert match_keys(["0045bb", "0013ea2087020901"], [0, 1], file_names=names).keys == [1, 0]


def test_alternate_ids_are_tried_and_a_clash_is_refused() -> None:
    """Of imgid and cocoid, one that serves is taken, two that disagree are refused until one is named."""
    alternates: dict[str, list[str | int]] = {"cocoid": [391895, 60623], "imgid": [0, 1]}
    assert match_keys([1, 0], [391895, 60623], alternates=alternates).keys == [60623, 391895]
    clash: dict[str, list[str | int]] = {"cocoid": [1, 0], "imgid": [0, 1]}
    with pytest.raises(InputError, match=r"disagree.*--id-key"):
        match_keys([0, 1], ["a.jpg", "b.jpg"], alternates=clash)
    assert match_keys([0], ["a.jpg", "b.jpg"], alternates=clash, hints=Hints(id_key="cocoid")).keys == ["b.jpg"]


def test_captions_of_other_images_than_the_eval_set_are_unpaired() -> None:
    """Candidates {1, 2, 3} and keys {1, 2, 4}: 3 has no place; a set of other ids is refused."""
    with pytest.raises(Unpaired, match=r"1 of 3 ids has no place in the eval set \(first: 3\)"):
        match_keys([1, 2, 3], [1, 2, 4])
    assert match_keys([1, 2, 3], [1, 2, 4], missing="skip").unmatched == [3]
    with pytest.raises(InputError, match="none of 2 ids has an id of the eval set"):
        match_keys([8, 9], [1, 2, 4])


def test_a_pool_larger_than_the_eval_set_is_cut_to_it() -> None:
    """Captions of all of val meet a test split that they cover, under ``skip``."""
    found = match_keys(range(1000), list(range(100, 150)), missing="skip")
    assert len(found.by_id()) == 50


def test_the_line_says_format_counts_kind_and_notes() -> None:
    """One line on what was recognised and how it matched."""
    rows = [{"image_id": number, "caption": "x"} for number in (391895, 42, 42)]
    captions = read_captions(rows)
    assert describe(captions, match(captions.ids, COCO)) == (
        "rows: COCO results, 2 captions, ids = number in file name, 2/2 matched, "
        "1 repeated row dropped (same image, same caption)"
    )
    nbest = read_captions({"a": ["x", "y"], "b": ["z"]})
    assert describe(nbest) == "dict: clipscore candidates, 3 captions of 2 images (n-best)"
    assert describe(nbest, Matched("stem of file name", "stem", ["a", "b"], ["a.jpg", None])).endswith("1/2 matched")
