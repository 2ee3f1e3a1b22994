"""``clipstore rerank``: picks where they belong, the gain where one reads it, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import drawn
import pytest

from clipstore import Store
from clipstore.storage.catalogue import runs

N = 5
Run = Callable[..., object]
FAKE = ("--model", "fake")


@pytest.fixture
def beams(desk: Path) -> str:
    """An n-best file with log-probabilities at the desk."""
    rows = [
        {"image_id": drawn.name(i), "captions": [f"beam {j} of {i}" for j in range(3)], "logprob": [-1.0, -2.0, -3.5]}
        for i in range(N)
    ]
    drawn.write_json(desk / "beams.json", rows)
    return "beams.json"


def test_picks_go_to_a_file_that_score_accepts(run: Run, given: list[str], beams: str) -> None:
    """-o picks.json is a COCO submission; stdout holds the gain; stderr says what was encoded."""
    done = run("rerank", beams, *given, *FAKE, "-o", "picks.json")
    assert done.code == 0
    rows = json.loads(Path("picks.json").read_text())
    assert [sorted(row) for row in rows] == [["caption", "image_id"]] * N
    assert done.rows[0][:3] == ["choice", "value", "95% CI"]
    assert "5 images: 5 encoded; 15 distinct candidates: 15 encoded" in done.err
    assert "upper bound" in done.out
    head = done.err.index("ten largest gains")
    listed = done.err[head:].splitlines()[2:]
    assert listed[0].split()[0].startswith("scene_")
    assert listed[0].split()[1].startswith("+")
    assert "ten largest" not in run("rerank", beams, *given, *FAKE, "-q", "-o", "picks.json").err
    scored = run("score", "picks.json", *given, "--json")
    assert scored.code == 0
    mean = scored.json["systems"][0]["metrics"]["clip_s"]["mean"]
    picked = next(row for row in done.rows if row[0] == "picked")
    assert float(picked[1]) == pytest.approx(mean, abs=1e-4)


def test_without_a_file_the_picks_are_on_stdout(run: Run, given: list[str], beams: str) -> None:
    """JSON lines a program can read, the table on stderr."""
    done = run("rerank", beams, *given, *FAKE)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["image"] for row in rows] == [drawn.name(i) for i in range(N)]
    assert "picked - first" in done.err
    coco = run("rerank", beams, *given, *FAKE, "--format", "coco")
    assert [row["caption"] for row in coco.json] == [row["caption"] for row in rows]
    both = run("rerank", beams, *given, *FAKE, "--json")
    assert both.json["picks"] == rows, "JSON holds the picks where no file does"
    assert "picks" not in run("rerank", beams, *given, *FAKE, "--json", "-o", "picks.json").json
    official = run("rerank", beams, *given, *FAKE, "--format", "clipscore")
    assert list(official.json) == [drawn.name(i) for i in range(N)]


def test_methods_that_read_texts_alone_need_no_images_and_no_model(run: Run, beams: str) -> None:
    """``logp`` and ``vote`` run on a file alone; ``clip`` asks for images."""
    done = run("rerank", beams, "--by", "logp")
    assert done.code == 0
    assert {json.loads(line)["picked"] for line in done.out.splitlines()} == {0}
    assert run("rerank", beams, "--by", "vote", "--refs", "refs.json").code == 0
    refused = run("rerank", beams, *FAKE)
    assert refused.code == 2
    assert "--images" in refused.err


def test_pooled_systems(run: Run, given: list[str]) -> None:
    """Two files of one caption an image are two candidates of each."""
    done = run("rerank", "a.json", "b.json", *given, *FAKE)
    assert {json.loads(line)["of"] for line in done.out.splitlines()} == {2}


def test_a_saved_set_keeps_the_picks(run: Run, given: list[str], beams: str) -> None:
    """--save-as makes a system that ``score -t`` finds; other picks under its name need --replace."""
    assert run("add", "-t", "five", f"beams={beams}", *given).code == 0
    done = run("rerank", "beams", "-t", "five", *FAKE, "--save-as", "best")
    assert done.code == 0, done.err
    assert "best: added in five" in done.err
    assert done.rows[0][0] == "choice"
    assert run("score", "-t", "five", "best").code == 0
    again = run("rerank", beams, "-t", "five", "--by", "logp", "--save-as", "best")
    assert again.code == 2
    assert "--replace" in again.err
    assert run("rerank", beams, "-t", "five", "--by", "logp", "--save-as", "best", "--replace").code == 0
    assert "-t SET" in run("rerank", beams, *given, *FAKE, "--save-as", "best").err


def test_cascade_and_another_judge(run: Run, given: list[str], beams: str) -> None:
    """Model names may hold colons; the number is what follows the last one."""
    done = run("rerank", beams, *given, "--cascade", "fake:32:2,fake:1", "--report-model", "fake:16", "--json")
    assert done.code == 0, done.err
    assert done.json["signature"]["stages"] == "fake:32:2,fake:1"
    assert done.json["gain"]["upper_bound"] is False
    assert run("rerank", beams, *given, "--cascade", "fake").code == 2
    two = run("rerank", beams, *given, "--cascade", "fake:32:3,fake:2")
    assert [json.loads(line)["rank"] for line in two.out.splitlines()] == [0, 1] * N
    assert "-k 2" in run("rerank", beams, *given, "--cascade", "fake:32:3,fake:2", "-o", "picks.json").err


def test_mix_tunes_its_weight(run: Run, given: list[str], beams: str) -> None:
    """The weight is said when it is nobody's choice, and found on development images."""
    assert "weight of CLIP-S is 0.5" in run("rerank", beams, *given, *FAKE, "--by", "mix").err
    tuned = run(
        "rerank", beams, *given, *FAKE, "--by", "mix", "--tune-on", beams, "--tune-refs", "refs.json", "-o", "p.jsonl"
    )
    assert tuned.code == 0, tuned.err
    assert "tuned on beams.json: 5 images, cider" in tuned.out
    circular = run("rerank", beams, *given, *FAKE, "--by", "mix", "--tune-on", beams, "--target", "clip-s")
    assert circular.code == 2
    assert "--allow-circular" in circular.err


def test_a_cached_run_encodes_nothing(run: Run, given: list[str], beams: str) -> None:
    """--no-encode works the second time and prints the same."""
    first = run("rerank", beams, *given, *FAKE)
    again = run("rerank", beams, *given, *FAKE, "--no-encode")
    assert again.out == first.out
    assert "all cached" in again.err
    assert run("rerank", beams, *given, "--model", "fake:32", "--no-encode").code == 2


def test_what_is_refused(run: Run, given: list[str], beams: str) -> None:
    """Parquet without a file, a file or a folder that is not there, several captions in a submission."""
    several = run("rerank", beams, *given, *FAKE, "-k", "2", "-o", "picks.json")
    assert several.code == 2
    assert "--format coco" in several.err
    assert "-k 2" in several.err
    assert run("rerank", beams, *given, *FAKE, "-k", "2", "-o", "picks.jsonl").code == 0
    nowhere = run("rerank", beams, *given, *FAKE, "-o", "nowhere/picks.json", "--store", "unused")
    assert nowhere.code == 2
    assert "nowhere" in nowhere.err
    assert not Path("unused").exists()
    assert "-o FILE" in run("rerank", beams, *given, *FAKE, "--format", "parquet").err
    assert run("rerank", "none.json", *given, *FAKE).code == 2


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ("--take first", "--take first"),
        ("--replace", "--replace --save-as"),
        ("--by clip --cascade fake:32:2,fake:1", "--by --cascade"),
        ("--model fake --cascade fake:32:2,fake:1", "--model --cascade"),
        ("--fuse clip,logp", "--fuse --by"),
        ("--clip-weight 0.4", "--clip-weight --by"),
        ("--by mix --tune-refs refs.json", "--tune-refs --tune-on"),
        ("--by mix --tune-images images", "--tune-images --tune-on"),
        ("--by mix --target cider", "--target --tune-on"),
        ("--by mix --allow-circular", "--allow-circular --tune-on"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    run: Run, given: list[str], beams: str, options: str, flags: str
) -> None:
    """A usage error that names both, and nothing is written."""
    model = () if "--cascade" in options else FAKE
    done = run("rerank", beams, *given, *model, *options.split(), "-o", "picks.json")
    assert done.code == 2
    assert all(flag in done.err for flag in flags.split()), done.err
    assert not Path("picks.json").exists()


def test_choices_without_a_model_are_recorded(run: Run, beams: str) -> None:
    """Cleaning up keeps the texts of a rerank by log-probability."""
    assert run("rerank", beams, "--by", "logp").code == 0
    assert run("store", "gc", "--yes", "--unused-for", "0").code == 0
    with Store.open(".clipstore", create=False) as store, store.catalogue.read() as tx:
        (kept,) = runs.all(tx)
    assert (kept.verb, len(kept.used_texts)) == ("rerank", 3 * N)
