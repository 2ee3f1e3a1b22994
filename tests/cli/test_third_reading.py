"""What readers of issues 3, 5 and 6 found."""

import json

import drawn

N = 5
GERMAN = "Über größere Städte führt die schöne Straße täglich müde Gäste übers früh gefrorene Flüßchen"


def test_numbers_go_back_into_coco_results_as_numbers(run, desk):
    """References in the official layout have string keys; a submission file holds numbers all the same."""
    drawn.write_json(desk / "n.json", [{"image_id": i, "caption": f"words {i}"} for i in range(N)])
    drawn.write_json(desk / "r.json", {str(i): [f"reference {i}"] for i in range(N)})
    assert run("add", "-t", "num", "one=n.json", "--images", "images", "--refs", "r.json").code == 0
    assert run("export", "-t", "num", "one", "-o", "out.json").code == 0
    assert [row["image_id"] for row in json.loads((desk / "out.json").read_text())] == list(range(N))


def test_other_languages_are_warned_of_with_an_english_model(run, given, desk):
    """Captions far from English meet a model of English: a warning; the double knows no language."""
    drawn.write_json(desk / "de.json", {key: f"{GERMAN} {key}" for key in drawn.captions(N)})
    told = run("score", "de.json", *given, "--model", "ViT-B-32/openai", "--strict")
    assert told.code == 2
    assert "English" in told.err
    assert "English" not in run("score", "de.json", *given, "--model", "fake").err


def test_a_weight_without_a_mix_is_refused(run, given, desk):
    """A weight that nothing reads would pass for one that was used."""
    drawn.write_json(desk / "n.json", {key: [text, text + " again"] for key, text in drawn.captions(N).items()})
    done = run("rerank", "n.json", "--images", "images", "--by", "clip", "--clip-weight", "0.3", "--model", "fake")
    assert done.code == 2
    assert "--clip-weight" in done.err


def test_captions_do_not_drive_a_terminal(run, given, desk):
    """Escape sequences in a name are shown, not sent."""
    done = run("score", "\x1b[31mred=a.json", *given)
    assert "\x1b" not in done.out
    assert "\\x1b[31mred" in done.out
