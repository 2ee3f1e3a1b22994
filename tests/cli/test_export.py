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


def test_each_candidate_of_an_n_best_list_has_its_own_score(run, saved, desk):
    """--scores of an n-best system scores every candidate, whatever the layout; clipscore has no place for it."""
    assert run("export", "-t", "mine", "many", "--scores", "-o", "out.json", "--model", "fake").code == 0
    rows = json.loads((desk / "out.json").read_text())
    assert len(rows) == 2 * N
    drawn.write_json(desk / "second.json", {row["image_id"]: row["caption"] for row in rows[1::2]})
    assert run("add", "-t", "mine", "second.json").code == 0
    assert run("score", "-t", "mine", "second", "--per-image", "per.json").code == 0
    told = json.loads((desk / "per.json").read_text())
    assert {row["image_id"]: row["clip_s"] for row in rows[1::2]} == pytest.approx(
        {key: one["CLIPScore"] for key, one in told.items()}
    )
    assert run("export", "-t", "mine", "one", "--scores", "--format", "clipscore", "-o", "x.json").code == 2


def test_scores_of_unreadable_images_are_partial(run, saved, desk):
    """An image that can't be decoded leaves its scores empty, is named, and exits with 1."""
    path = desk / "images" / f"{drawn.name(1)}.png"
    data = path.read_bytes()[:45]
    path.write_bytes(data)
    drawn.write_json(desk / "c.json", drawn.captions(N))
    assert run("add", "-t", "other", "c.json", "--images", "images", "--refs", "refs.json", "--no-encode").code == 0
    done = run("export", "-t", "other", "--format", "csv", "--scores", "-o", "out.csv", "--model", "fake")
    assert done.code == 1
    assert drawn.name(1) in done.err
    rows = {row["image"]: row for row in csv.DictReader((desk / "out.csv").read_text().splitlines())}
    assert rows[drawn.name(1)]["clip_s"] == ""
    assert float(rows[drawn.name(0)]["clip_s"]) >= 0


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


def test_ids_go_out_as_the_file_had_them(run, given, desk):
    """A submission by COCO numbers comes back by COCO numbers, though the references go by file name."""
    rows = [{"image_id": i, "caption": f"number {i} by b"} for i in range(N)]
    assert run("add", "-t", "mine", *given, "b.json").code == 0
    assert run("export", "-t", "mine", "b", "-o", "out.json").code == 0
    assert json.loads((desk / "out.json").read_text()) == rows
    assert "b: unchanged" in run("add", "-t", "mine", "b=out.json").err


@pytest.mark.parametrize("system", ["odd", "many"])
@pytest.mark.parametrize("layout", ["coco", "clipscore", "jsonl", "csv", "tsv", "parquet"])
def test_every_layout_reads_back_as_what_was_saved(run, saved, desk, layout, system):
    """Commas, quotes, newlines, tabs and emoji, candidates and log-probabilities come through every layout that has room."""
    odd = ['"a", b', "two\nlines\tand a tab", "\U0001f436 ünï", "  spaces ", "x | y ; z"]
    drawn.write_json(desk / "odd.json", [{"image_id": i, "caption": text} for i, text in enumerate(odd)])
    assert run("add", "-t", "mine", "odd.json").code == 0
    assert run("export", "-t", "mine", system, "--format", layout, "-o", "out.data").code == 0
    again = run("add", "-t", "mine", f"{system}=out.data")
    if (layout, system) == ("clipscore", "many"):  # this layout holds no log-probability
        assert again.code == 2
        return
    assert again.code == 0
    assert f"{system}: unchanged" in again.err
