"""``clipstore export``: candidates and scores go back out as they came in."""

import csv
import json

import drawn
import pytest

N = 5


@pytest.fixture
def saved(run, given, desk):
    """A saved set with one system of one caption an image, and an n-best one."""
    beams = [
        {"image_id": name, "caption": f"{text} {rank}", "score": -0.5 - rank}
        for name, text in drawn.captions(N).items()
        for rank in range(2)
    ]
    drawn.write_json(desk / "beams.json", beams)
    assert run("add", "-t", "mine", *given, "one=a.json", "many=beams.json").code == 0


def test_coco_results_come_back_as_they_went_in(run, saved, desk):
    """The file holds the same ids and captions, and add takes it back without a change."""
    assert run("export", "-t", "mine", "one", "-o", "out.json").code == 0
    rows = json.loads((desk / "out.json").read_text())
    assert {row["image_id"]: row["caption"] for row in rows} == drawn.captions(N)
    assert "one: unchanged" in run("add", "-t", "mine", "one=out.json").err


def test_candidates_keep_rank_and_log_probability(run, saved, desk):
    """An n-best system goes to JSONL with its ranks and scores."""
    assert run("export", "-t", "mine", "many", "--format", "jsonl", "-o", "out.jsonl").code == 0
    rows = [json.loads(line) for line in (desk / "out.jsonl").read_text().splitlines()]
    assert [row["rank"] for row in rows] == [0, 1] * N
    assert [row["logprob"] for row in rows[:2]] == [-0.5, -1.5]
    assert "many: unchanged" in run("add", "-t", "mine", "many=out.jsonl").err


def test_scores_stand_beside_the_captions(run, saved, desk):
    """--scores adds what score prints for each image."""
    assert (
        run("export", "-t", "mine", "one", "--format", "csv", "--scores", "-o", "out.csv", "--model", "fake").code == 0
    )
    rows = list(csv.DictReader((desk / "out.csv").read_text().splitlines()))
    mean = run("score", "-t", "mine", "one", "--json").json["systems"][0]["metrics"]["clip_s"]["mean"]
    assert sum(float(row["clip_s"]) for row in rows) / N == pytest.approx(mean)


def test_a_layout_for_one_system_refuses_several(run, saved, desk):
    """COCO results name no system: several are refused with the layouts that can hold them."""
    done = run("export", "-t", "mine", "-o", "out.json")
    assert done.code == 2
    assert "--format jsonl" in done.err
    assert not (desk / "out.json").exists()


def test_unknown_systems_are_listed(run, saved):
    """Exit 2 with the names there are."""
    done = run("export", "-t", "mine", "other", "-o", "out.json")
    assert done.code == 2
    assert "one" in done.err
