"""``clipstore show``: one image with every system's caption."""

import json

import drawn
import pytest

from clipstore import EvalSet, Store
from clipstore.compare.one_image import difference
from clipstore.encoders.fake import FakeEncoder
from clipstore.evalset import save
from clipstore.formats import read_captions

pytest_plugins = ("compare_command",)
COUNT = 5
SYSTEMS = {
    "a": drawn.captions(COUNT),
    "b": drawn.captions(COUNT, "the first words on"),
    "c": dict(list(drawn.captions(COUNT, "c").items())[1:]),
}


@pytest.fixture
def stored(tmp_path, empty_store):
    """A saved set with three systems; the third lacks the first image."""
    drawn.draw(tmp_path / "images", COUNT)
    with Store.open(tmp_path / ".clipstore") as store:
        references = drawn.references(COUNT)
        references[drawn.name(0)] = references[drawn.name(0)][:1]
        evalset = EvalSet.read(images=tmp_path / "images", refs=references)
        read = {name: read_captions(own) for name, own in SYSTEMS.items()}
        save(store, "coco", evalset, read, store.identify(evalset.images()).ids, missing="skip")


def name(system):
    """Return the name of a system in the JSON."""
    return system["name"]


def shown(command, capsys, *arguments):
    """Return the JSON of a show command."""
    assert command("show", *arguments, "--json", "-q") == 0
    return json.loads(capsys.readouterr().out)


def test_all_of_one_image(command, stored, capsys):
    """References, captions best first with ranks, the closest reference, and a system without a caption last."""
    found = shown(command, capsys, drawn.name(0), "-t", "coco")
    assert found["references"] == list(drawn.references(1)[drawn.name(0)][:1])
    assert [one["rank"] for one in found["systems"]] == [1, 2, None]
    assert found["systems"][2]["caption"] is None
    scores = [one["metrics"]["clip_s"] for one in found["systems"][:2]]
    assert scores == sorted(scores, reverse=True)
    assert {one["best_reference"] for one in found["systems"][:2]} <= {1, 2}


def test_the_numbers_are_those_of_the_whole_set(command, stored, capsys, tmp_path):
    """CLIP-S of the image as score gives it, and the set's own hash in the signature."""
    from clipstore import score

    found = shown(command, capsys, drawn.name(2), "-t", "coco")
    with Store.open(tmp_path / ".clipstore") as store:
        evalset = EvalSet.load(store, "coco")
        scores = score(store.custom_space(FakeEncoder(), "fake"), {"a": SYSTEMS["a"]}, evalset)
    line = next(one for one in found["systems"] if one["name"] == "a")
    assert line["metrics"]["clip_s"] == pytest.approx(scores["a"].clip_s[drawn.name(2)], abs=1e-6)
    assert f"|set:{scores.set_digest[:8]}|" in found["signatures"][0]
    assert found["signatures"] == [str(signature) for signature in scores.signatures.values()]


def test_another_recipe(command, stored, capsys):
    """``--recipe`` says how the numbers are made: 2.0 where the paper has 2.5, and the signature names it."""
    given = (drawn.name(2), "-t", "coco")
    paper, other = shown(command, capsys, *given), shown(command, capsys, *given, "--recipe", "pac-s")
    scores = [[one["metrics"]["clip_s"] for one in sorted(each["systems"], key=name)] for each in (paper, other)]
    assert scores[1] == pytest.approx([2.0 / 2.5 * score for score in scores[0]], abs=1e-6)
    assert "|recipe:pac-s|" in other["signatures"][0]
    raw = shown(command, capsys, *given, "--recipe", "raw")
    assert all(-1 <= one["reference_similarity"] <= 1 for one in raw["systems"])


def test_an_image_is_found_by_file_and_content_id(command, stored, capsys):
    """Its key, its file's name, or 16 hex digits."""
    first = shown(command, capsys, drawn.name(1), "-t", "coco")
    assert shown(command, capsys, f"{drawn.name(1)}.png", "-t", "coco") == first
    assert shown(command, capsys, first["image_id"], "-t", "coco") == first


def test_an_image_that_is_not_there(command, stored, capsys):
    """Exit 2; the message shows what ids look like."""
    assert command("show", "391895", "-t", "coco") == 2
    assert "its ids look like scene_000000" in capsys.readouterr().err


def test_the_table_in_a_pipe(command, stored, capsys):
    """Tabs, the references first, then the systems with word differences."""
    assert command("show", drawn.name(1), "-t", "coco", "a", "b", "-q") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ref\treferences of scene_000001 scene_000001.png id ")
    rows = [line.split("\t") for line in lines if line.split("\t")[0] in {"1", "2"}][2:]
    assert {row[1] for row in rows} == {"a", "b"}
    assert "{+" in rows[1][-1]


def test_word_differences():
    """What only the best has, what only the other has."""
    assert difference("a dog on a mat", "a black dog on the mat") == "a {+black+} dog on [-a-] {+the+} mat"
    assert difference("a dog", "a dog") == "a dog"
