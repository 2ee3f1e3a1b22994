"""``clipstore rerank`` on the n-best files that people published, with drawn images under their ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import drawn
import pytest

Run = Callable[..., object]
COUNT = 60


def pictures(folder: Path, names: list[str]) -> Path:
    """Draw an image under each name."""
    folder.mkdir()
    for number, name in enumerate(names):
        drawn.picture(number).save(folder / f"{name}.jpg")
    return folder


@pytest.mark.parametrize("file", ["coco_10_samples.json", "coco_2_best.json"])
def test_samples_and_beams_of_coco(run: Run, shared_data: Path, tmp_path: Path, file: str) -> None:
    """Ten samples an image, and two beams in NeuralTalk's layout: picks that ``score`` accepts."""
    read = json.loads((shared_data / "nbest" / file).read_text())
    blobs = read["imgblobs"] if isinstance(read, dict) else read
    names = [Path(one["img_path"]).stem if "img_path" in one else f"{one['image_id']:012d}" for one in blobs]
    images = pictures(tmp_path / "coco", names[:COUNT])
    given = ["--images", images, "--missing", "skip"]
    done = run("rerank", shared_data / "nbest" / file, *given, "--model", "fake", "-o", "picks.json")
    assert done.code == 0, done.err
    assert "left out" in done.err
    scored = run("score", "picks.json", *given, "--json")
    assert scored.code == 0
    picked = next(row for row in done.rows if row[0] == "picked")
    assert float(picked[1]) == pytest.approx(scored.json["systems"][0]["metrics"]["clip_s"]["mean"], abs=1e-4)
    refused = run("rerank", shared_data / "nbest" / file, *given, "--model", "fake", "--by", "mix")
    assert refused.code == 2
    assert "no candidate has one" in refused.err


@pytest.mark.parametrize("by", ["clip", "logp", "mix", "mbr", "consensus", "vote", "rrf"])
def test_eleven_systems_with_log_probabilities_on_different_scales(
    run: Run, shared_data: Path, tmp_path: Path, by: str
) -> None:
    """Pooled they are eleven candidates; logp and mix say that one system's scale decides."""
    references = json.loads((shared_data / "flickr30k" / "references.json").read_text())
    images = pictures(tmp_path / "flickr", list(references)[:COUNT])
    systems = sorted((shared_data / "flickr30k" / "systems").glob("spijs-*.json"))
    assert len(systems) == 11
    given = ["--images", images, "--refs", shared_data / "flickr30k" / "references.json", "--missing", "skip"]
    done = run("rerank", *systems, *given, "--model", "fake", "--by", by, "-o", "picks.json")
    assert done.code == 0, done.err
    assert ("on different scales" in done.err) is (by in {"logp", "mix", "rrf"})
    assert len(json.loads(Path("picks.json").read_text())) == COUNT
    assert run("score", "picks.json", *given).code == 0
