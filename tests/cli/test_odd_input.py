"""Odd files, names and outputs: one clear message, the right exit code, nothing lost."""

import json
import os

import drawn
import pytest

N = 5


def test_a_link_to_itself_is_left_alone_or_named(run, given, desk):
    """A looping link beside the set's images is no error; as an image of the set it is one failed image."""
    (desk / "images" / "zz.png").symlink_to("zz.png")
    assert run("score", "a.json", *given).code == 0
    victim = desk / "images" / f"{drawn.name(1)}.png"
    victim.unlink()
    victim.symlink_to(victim.name)
    done = run("score", "a.json", *given)
    assert done.code == 1
    assert victim.name in done.err
    assert done.rows[1][1] == "4/5"


def test_a_pipe_among_the_images_is_named(run, given, desk):
    """A named pipe would keep a reader waiting for ever: it is a failed image."""
    victim = desk / "images" / f"{drawn.name(2)}.png"
    victim.unlink()
    os.mkfifo(victim)
    done = run("score", "a.json", *given)
    assert done.code == 1
    assert f"{victim.name}: is no regular file" in done.err


def test_without_references_the_line_says_how_ids_met_images(run, desk):
    """The set is the captions' ids; the line names the rule that met them with files, not 'the same ids'."""
    drawn.write_json(desk / "numbers.json", [{"image_id": i, "caption": f"words {i}"} for i in range(N)])
    done = run("score", "numbers.json", "--images", "images", "--model", "fake")
    assert "numbers.json: COCO results, 5 captions, ids = number in file name, 5/5 matched" in done.err


def test_what_skip_leaves_out_is_said(run, given, desk):
    """Both sides are counted with their first ids, under skip as under error."""
    captions = drawn.captions(N - 1)
    captions["stranger"] = "no image"
    drawn.write_json(desk / "part.json", captions)
    done = run("score", "part.json", *given, "--missing", "skip")
    assert done.code == 0
    assert "left out: 1 caption has no image in the eval set (first: stranger)" in done.err
    assert f"left out: 1 of 5 images has no caption (first: {drawn.name(N - 1)})" in done.err


@pytest.mark.parametrize("name", ["", " ", "two\nlines"])
def test_a_name_is_a_line_of_text(run, given, name):
    """Sets and systems need a name that shows on one line."""
    done = run("add", "-t", name, *given, "one=a.json")
    assert done.code == 2
    assert "can't be a name" in done.err


def test_outputs_are_checked_before_the_work(run, given, desk):
    """A folder as --per-image, or -o in a folder that is absent: refused before anything is encoded."""
    for flags in (["--per-image", "images"], ["-o", "nowhere/out.txt"]):
        done = run("score", "a.json", *given, *flags)
        assert done.code == 2
        assert "can't write" in done.err
        assert "encoding" not in done.err


def test_listings_are_typed_json(run, given):
    """Numbers are numbers, what is not set is null, and a schema says which layout it is."""
    run("add", "-t", "mine", *given, "one=a.json")
    sets = json.loads(run("ls", "sets", "--json").out)
    assert sets["schema"] == 1
    assert sets["sets"][0]["images"] == N
    told = json.loads(run("info", "--json").out)
    assert told["settings"]["split"] == {"value": None, "from": "default"}
    assert told["store"]["images"] == N


def test_add_says_how_captions_met_images(run, given):
    """The recognised line stands in add as in score."""
    assert (
        "a.json: clipscore candidates, 5 captions, ids = the same ids, 5/5 matched"
        in run("add", "-t", "mine", *given, "one=a.json").err
    )
