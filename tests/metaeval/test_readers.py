"""Readers of benchmarks: rows as published, and every exclusion counted."""

import contextlib
import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from metaeval_made import crowd, expert, tokens, write

from clipstore.errors import BadFormat, InputError
from clipstore.metaeval.readers import BENCHMARKS, composite, flickr8k, foil, own, polaris, read, thumb
from clipstore.metaeval.readers.files import Wanted, joined


def test_expert_drops_own_captions_and_flattens_judges(tmp_path):
    """A caption that is its image's reference is dropped and counted; three judges make three ratings."""
    found = flickr8k.expert(expert(tmp_path))
    assert (len(found.images), found.n) == (5, 15)
    assert list(found.excluded.values()) == [1]
    assert {len(own) for own in found.references} == {5}
    rows, values = found.flat()
    assert rows[:3].tolist() == [0, 0, 0]
    assert values[:3].tolist() == [1, 1, 2]


def test_an_image_with_two_dots_is_found(tmp_path):
    """``three.jpg.1`` of the token file is the image three.jpg."""
    assert "three.jpg.1" in flickr8k.expert(expert(tmp_path)).images


def test_crowd_keeps_rows_and_removes_the_reference_for_the_whole_image(tmp_path):
    """The rating is the share of yes; an own caption leaves four references for every row of that image."""
    found = flickr8k.crowd(crowd(tmp_path))
    assert len(found.images) == 5
    assert [len(one) for one in found.references] == [4, 4, 4, 5, 5]
    assert found.ratings[:, 0] == pytest.approx([0, 1, 1 / 3, 1 / 4, 2 / 3])
    assert found.tau == "tau_b"


@pytest.mark.parametrize(("choice", "sizes"), [("keep", [5, 5, 5]), ("remove", [4, 4, 4]), ("remove-row", [5, 4, 5])])
def test_what_happens_to_own_captions_is_a_choice(tmp_path, choice, sizes):
    """The usual mistakes can be made on purpose, for --explain."""
    found = flickr8k.expert(expert(tmp_path), choice)
    assert [len(one) for one in found.references[:3]] == sizes


def test_a_missing_file_is_named_with_origin_count_and_checksum(tmp_path):
    """The message says which file, from where, how many lines, and its md5."""
    with pytest.raises(InputError) as caught:
        read("flickr8k-expert", tokens(tmp_path))
    for part in ("ExpertAnnotations.txt", "Hodosh", "5,822 lines", "md5:bc1d95194465b7f5210d41f511fec4d6"):
        assert part in str(caught.value)
    assert "token" not in str(caught.value)
    with pytest.raises(InputError, match="no such folder"):
        read("flickr8k-expert", tmp_path / "nowhere")


LACKING = {
    "flickr8k-expert": ["ExpertAnnotations.txt", "5,822 lines", "Flickr8k.token.txt", "40,460 lines"],
    "flickr8k-cf": ["CrowdFlowerAnnotations.txt", "47,830 lines", "Flickr8k.token.txt", "Flickr8k_text.zip"],
    "composite": ["composite.tsv", "11,985 rows", "Flickr8k.token.txt", "annotations.json", "cocodataset.org"],
    "pascal50s": ["pascal_50s.json", "4 x 1,000 pairs", "pascal50S.mat", "md5:c0f6b2243dfc9def6623f5085339a8c3"],
    "pascal50s-11": ["pascal_50s_11.json", "pascal50S.mat", "vrama91.github.io/cider"],
    "abstract50s": ["pair_abstract.mat", "400 pairs", "consensus_abstract.mat", "19,200 triplets"],
    "foil": ["foilv1.0_test_2017.json", "foilunitn.github.io", "198,960 captions", "captions_val2014.json", "40,504"],
    "thumb": ["mscoco_THumB-1.0.jsonl", "github.com/jungokasai/THumB", "2,500 lines", "585,296 bytes"],
    "polaris": ["polaris_test.csv", "yuwd/Polaris", "26,122 rows"],
    "nebula": ["nebula_test.csv", "Ka2ukiMatsuda/Nebula", "spica_test.csv", "hiranohachiman/Spica"],
}


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name not in {"ratings", "pairs"}])
def test_every_benchmark_says_what_it_lacks(tmp_path, name):
    """An empty folder: each names every file, where it is from, what it holds, its checksum or that none is known."""
    with pytest.raises(InputError, match=r"put (it|them) into the folder of --data") as caught:
        read(name, tmp_path)
    for part in LACKING[name]:
        assert part in str(caught.value)
    assert "md5:" in str(caught.value) or "no checksum of it is known" in str(caught.value)


def test_a_file_that_is_not_the_published_one_is_said(tmp_path):
    """Another checksum is a note, not an error."""
    assert any("md5" in note for note in flickr8k.expert(expert(tmp_path)).notes)


def test_a_line_that_fits_nothing_is_named(tmp_path):
    """A caption that the token file lacks: the line number is in the message."""
    expert(tmp_path)
    (tmp_path / "ExpertAnnotations.txt").write_text("one.jpg\tnine.jpg#0\t1\t1\t2\n", encoding="utf-8")
    with pytest.raises(BadFormat, match=r"line 1: nine\.jpg#0"):
        flickr8k.expert(tmp_path)


def test_files_may_lie_one_folder_below(tmp_path):
    """``--data`` may be the folder above."""
    expert(tmp_path / "flickr8k")
    assert read("flickr8k-expert", tmp_path).n == 15


def composite_tables(folder, **rows):
    """Write the three tables as their authors gave them out: other columns, four captions in two, two rows at the end."""
    for name in ("8k", "30k", "coco"):
        count = 3 if name == "8k" else 4
        header = ["HITId", "Input.image_url", *(f"Input.text{at + 1}" for at in range(count))]
        header += [f"Answer.Q{at + 1}Answer" for at in range(count)]
        body = [["h", f"http://some.where/{image}", *texts, *answers] for image, texts, answers in rows.get(name, [])]
        with (folder / f"{name}_correctness.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=";").writerows([header, *body, ["mean"], []])


def composite_references(folder):
    """Write references of one image of Flickr30k, as its archive has them, and of one of COCO; return Flickr8k's."""
    tokens(folder)
    (folder / "results_20130124.token").write_text("77.jpg#0\ta cat sleeps\n77.jpg#1\tthe cat is asleep\n")
    coco = {
        "images": [{"id": 3, "file_name": "COCO_val2014_000000000003.jpg"}],
        "annotations": [{"image_id": 3, "caption": text} for text in ("a bus", "a red bus")],
    }
    write(folder / "captions_val2014.json", coco)


def test_composite_from_its_authors_tables(tmp_path):
    """Three captions an image are used; the fourth, what nobody rated and rows of no image are counted."""
    composite_references(tmp_path)
    composite_tables(
        tmp_path,
        **{
            "30k": [("77.jpg", ["A cat sleeps.", "a dog; a cat", "grass", "more"], [5, 1, 2, 3])],
            "coco": [("COCO_val2014_000000000003.jpg", ["a bus", "a plane", "sky", "nan"], [4, "", 1, ""])],
        },
    )
    found = read("composite", tmp_path)
    assert list(zip(found.captions, found.ratings[:, 0].tolist(), strict=True)) == [
        ("A cat sleeps.", 5), ("a dog; a cat", 1), ("grass", 2), ("a bus", 4), ("sky", 1)
    ]  # fmt: skip
    assert found.references[0] == ("the cat is asleep",)
    assert found.excluded["caption 4 of an image (published tables use 3)"] == 1
    assert found.excluded["caption without a rating"] == 1
    assert found.excluded["row without an image (the tables end with two)"] == 3
    assert any("the three tables have 5 rows, the published evaluation 11,985" in note for note in found.notes)
    (tmp_path / "8k_correctness.csv").unlink()
    with pytest.raises(InputError, match=r"8k_correctness.csv, from AMT_Eval\.zip"):
        read("composite", tmp_path)
    (tmp_path / "8k_correctness.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadFormat, match=r"8k_correctness.csv: no table of Composite.*Input.image_url"):
        read("composite", tmp_path)
    composite_tables(tmp_path, **{"8k": [("1.jpg", ["a", "b", "c"], [1, "x", 2])]})
    with pytest.raises(BadFormat, match=r"8k_correctness\.csv: row 2: 'x' is no number"):
        read("composite", tmp_path)


def test_composite_removes_rated_references_for_all_rows_of_the_image(tmp_path):
    """Spaces and stops do not hide a reference; the two other choices leave it to other rows, or keep it."""
    tokens(tmp_path)
    write(tmp_path / "references.json", {"77": ["a cat sleeps", "the cat is asleep"]})
    coco = {
        "images": [{"id": 3, "file_name": "COCO_val2014_000000000003.jpg"}],
        "annotations": [{"image_id": 3, "caption": text} for text in ("a bus", "a red bus")],
    }
    write(tmp_path / "annotations.json", coco)
    rows = [
        ("composite_30k", "Flickr30k_Dataset/77.jpg", "A cat sleeps.", 5),
        ("composite_30k", "Flickr30k_Dataset/77.jpg", "a dog", 1),
        ("composite_coco", "val2014/COCO_val2014_000000000003.jpg", "a plane", 2),
        ("composite_8k", "Flickr8k_Dataset/unknown.jpg", "a plane", 2),
    ]
    text = "part\timage\tcaption\thuman_1to5\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "composite.tsv").write_text(text, encoding="utf-8")
    found = composite.read(tmp_path)
    assert found.references == (("the cat is asleep",), ("the cat is asleep",), ("a bus", "a red bus"))
    assert list(found.excluded.values()) == [1, 1]
    assert [len(one) for one in composite.read(tmp_path, "remove-row").references] == [1, 2, 2]
    assert [len(one) for one in composite.read(tmp_path, "keep").references] == [2, 2, 2]


def test_foil_makes_one_pair_an_image_in_two_sizes(tmp_path):
    """A is true, the true caption is no reference, and an image with too few references is counted."""
    true = [f"a dog number {number} on grass" for number in range(5)]
    write(tmp_path / "captions_val2014.json", {
        "images": [],
        "annotations": [{"image_id": 1, "caption": text} for text in true] + [{"image_id": 2, "caption": "one"}],
    })  # fmt: skip
    notes = [{"id": at, "image_id": 1, "caption": text, "foil": False} for at, text in enumerate(true)]
    notes += [{"id": 0, "image_id": 1, "caption": "a cat number 0 on grass", "foil": True}]
    notes += [{"id": 9, "image_id": 2, "caption": "one", "foil": False}]
    notes += [{"id": 9, "image_id": 2, "caption": "two", "foil": True}]
    images = [{"id": number, "file_name": f"COCO_val2014_{number:012d}.jpg"} for number in (1, 2)]
    write(tmp_path / "foilv1.0_test_2017.json", {"images": images, "annotations": notes})
    found = foil.read(tmp_path)
    assert found.categories == ("1 reference", "4 references")
    assert [len(one) for one in found.draws[0]] == [1, 4]
    assert found.first[0] == true[0]
    assert true[0] not in found.draws[0][1]
    assert list(found.excluded.values()) == [1]


def test_thumb_adds_up_the_human_score_and_names_systems(tmp_path):
    """(P + R) / 2 plus penalties; the rated caption leaves the references."""
    rows = [
        {"SYS": "Up-Down", "image": "x_1.jpg", "hyp": "a dog", "P": 4, "R": 3, "Fl": -0.5, "Con": 0, "Inc": 0},
        {"SYS": "Human", "image": "x_1.jpg", "hyp": "A dog runs", "human_score": 4.75},
    ]
    write(tmp_path / "mscoco_THumB-1.0.jsonl", rows)
    coco = {
        "images": [{"id": 1, "file_name": "x_1.jpg"}],
        "annotations": [{"image_id": 1, "caption": text} for text in ("a dog runs", "the dog")],
    }
    write(tmp_path / "captions_val2014.json", coco)
    found = thumb.read(tmp_path)
    assert found.ratings[:, 0].tolist() == [3.0, 4.75]
    assert found.systems == ("Up-Down", "Human")
    assert found.references == (("a dog runs", "the dog"), ("the dog",))


def test_thumb_comes_with_its_references(tmp_path):
    """``mscoco_references.json`` of the same folder: JSON lines by the number in the image's name; nothing is noted."""
    image = "COCO_val2014_000000000974.jpg"
    write(tmp_path / "mscoco_THumB-1.0.jsonl", [{"SYS": "Human", "image": image, "hyp": "a dog", "human_score": 4}])
    assert "mscoco_references.json" in thumb.read(tmp_path).notes[0]
    text = json.dumps({"seg_id": "974", "refs": ["a  dog runs", "the dog"]}) + "\n"
    (tmp_path / "mscoco_references.json").write_text(text, encoding="utf-8")
    found = thumb.read(tmp_path)
    assert found.references == (("a dog runs", "the dog"),)
    assert not found.notes


def test_polaris_reads_references_as_json_or_python(tmp_path):
    """A cell may be a list in either spelling."""
    (tmp_path / "polaris_test.csv").write_text(
        'mt,refs,score,imgid\na dog,"[\'a dog runs\', \'dog\']",0.5,1.jpg\na cat,"[""cat""]",0.75,2.jpg\n',
        encoding="utf-8",
    )
    found = polaris.polaris(tmp_path)
    assert found.references == (("a dog runs", "dog"), ("cat",))
    assert found.ratings[:, 0].tolist() == [0.5, 0.75]


def test_nebula_as_the_hub_has_it(tmp_path):
    """The image's bytes stand beside its name; without the corrections a note says so."""
    row = {"file_name": ["1.jpg"], "image": [{"bytes": b"x"}], "refs": [["r"]], "mt": ["a"], "human_score": [0.5]}
    pq.write_table(pa.table(row), tmp_path / "nebula_test.parquet")
    found = polaris.nebula(tmp_path)
    assert found.images == ("1.jpg",)
    assert "not corrected" in found.notes[-1]


def test_nebula_takes_corrected_scores(tmp_path):
    """Scores of the correction replace those of the release, by image and caption; the mean where there are several."""
    pq.write_table(pa.table({"mt": ["a", "b"], "refs": [["r"], ["s"]], "score": [0.1, 0.2], "imgid": ["1", "2"]}),
                   tmp_path / "nebula_test.parquet")  # fmt: skip
    (tmp_path / "spica_test.csv").write_text("imgid,mt,score\n2.jpg,b,0.8\n", encoding="utf-8")
    (tmp_path / "spica_val.csv").write_text("imgid,mt,score\n2,b,1.0\n", encoding="utf-8")
    found = polaris.nebula(tmp_path)
    assert found.ratings[:, 0].tolist() == [0.1, 0.9]
    assert "1 scores are the corrected ones" in found.notes


ROWS = [
    {"image": "1.jpg", "caption": "a  dog", "rating": 4, "references": ["dog"]},
    {"image": "1.jpg", "caption": "a dog", "rating": 5, "references": ["dog"]},
    {"image": "2.jpg", "caption": "a cat", "rating": 1, "references": ["cat", "the cat"]},
]


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv", "tsv"])
def test_own_ratings_in_any_form(tmp_path, kind):
    """Several rows of one caption are several judges; the forms say the same."""
    path = tmp_path / f"mine.{kind}"
    if kind == "jsonl":
        write(path, ROWS)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        mark = "," if kind == "csv" else "\t"
        lines = [
            mark.join((row["image"], row["caption"], str(row["rating"]), "|".join(row["references"]))) for row in ROWS
        ]
        path.write_text("\n".join([mark.join(("image", "caption", "rating", "refs")), *lines]), encoding="utf-8")
    found = own.ratings(path)
    assert found.captions == ("a dog", "a cat")
    assert np.nan_to_num(found.ratings).tolist() == [[4, 5], [1, 0]]
    assert found.n == 3


def test_columns_of_judges(tmp_path):
    """``rating_1``, ``rating_2``: one row, two judges; an empty cell is counted."""
    path = tmp_path / "mine.csv"
    path.write_text("image,caption,rating_1,rating_2,system\n1,a,3,4,x\n1,b,2,,y\n", encoding="utf-8")
    found = own.ratings(path)
    assert found.n == 3
    assert found.systems == ("x", "y")
    assert list(found.excluded.values()) == [1]


def test_own_pairs(tmp_path):
    """Labels as letters, numbers or ties; categories and references where there are."""
    rows = [
        {"image": 1, "a": "x", "b": "y", "label": "A", "references": "x z"},
        {"image": 1, "a": "x", "b": "y", "label": 1, "category": "hard"},
        {"image": 2, "a": "x", "b": "y", "label": "tie"},
    ]
    found = own.pairs(write(tmp_path / "mine.jsonl", rows))
    assert found.labels.tolist() == [0, 1, -1]
    assert found.categories == ("all", "hard", "all")
    assert found.draws == ((("x z",), (), ()),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("image,caption\n1,a\n", "row 1 has no rating or score or human"),
        ("image,caption,rating\n1,a,good\n", "'good' is no number"),
        ("image,caption,rating\n", "holds no rows"),
    ],
)
def test_own_rows_that_do_not_fit_are_named(tmp_path, text, said):
    """The message names the file, the row and the field."""
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadFormat, match=said):
        own.ratings(path)


def test_a_wrong_label_is_named(tmp_path):
    """A label that is neither caption nor tie."""
    with pytest.raises(BadFormat, match="row 1: label 'left'"):
        own.pairs(write(tmp_path / "mine.jsonl", [{"image": 1, "a": "x", "b": "y", "label": "left"}]))


def test_an_unknown_benchmark_lists_those_there_are(tmp_path):
    """The message names all of them."""
    with pytest.raises(InputError, match="pascal50s"):
        read("flickr", tmp_path)


def test_white_space_is_joined():
    """Tabs, ends of lines and doubled spaces become one space."""
    assert joined(" a\t dog \n runs ") == "a dog runs"


def test_no_checksum_no_note(tmp_path):
    """A file of which no checksum is known is taken as it is."""
    path = write(tmp_path / "x.json", [])
    assert not Wanted("x.json", "anywhere").differs(path)


def test_odd_rows_of_ones_own_are_told_or_counted(tmp_path):
    """More cells than the header, infinity, no column of labels: said; NaN is an empty rating, and counted."""
    path = tmp_path / "own.csv"
    path.write_text("image,caption,rating\na.jpg,x,1\nb.jpg,y,2,more\n")
    with pytest.raises(BadFormat, match="row 2 has more cells than the header"):
        own.ratings(path)
    path.write_text("image,caption,rating\na.jpg,x,inf\n")
    with pytest.raises(BadFormat, match="row 1: 'inf' is no number"):
        own.ratings(path)
    path.write_text("image,caption,rating\na.jpg,x,1\nb.jpg,y,nan\nc.jpg,z,\nd.jpg\n")
    with pytest.raises(BadFormat, match="row 4 has no caption"):
        own.ratings(path)
    path.write_text("image,caption,rating\na.jpg,x,1\nb.jpg,y,nan\nc.jpg,z,\n")
    found = own.ratings(path)
    assert (found.n, found.excluded) == (1, {"empty rating": 2})
    write(tmp_path / "own.json", [{"image": "a.jpg", "a": "x", "b": "y", "label": label} for label in (0, 1, -1)])
    assert own.pairs(tmp_path / "own.json").labels.tolist() == [0, 1, -1]
    path.write_text("image,a,b\na.jpg,x,y\n")
    with pytest.raises(BadFormat, match="row 1 has no label or winner or choice"):
        own.pairs(path)


def test_a_damaged_parquet_table_is_told(tmp_path):
    """Named as what it is, where a column is damaged behind a sound header."""
    pq.write_table(
        pa.table({"image": ["a.jpg"] * 50, "caption": ["a cat"] * 50, "rating": [1.0] * 50}), tmp_path / "r.parquet"
    )
    whole = (tmp_path / "r.parquet").read_bytes()
    for at in range(4, len(whole) - 8, 40):
        (tmp_path / "r.parquet").write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
        with contextlib.suppress(BadFormat, InputError):
            own.ratings(tmp_path / "r.parquet")
    (tmp_path / "r.parquet").write_bytes(b"PAR1" + b"\0" * 40 + b"PAR1")
    with pytest.raises(BadFormat, match=r"r\.parquet: Parquet that can't be read"):
        own.ratings(tmp_path / "r.parquet")
