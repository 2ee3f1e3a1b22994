"""``image-reward:FOLDER``: a pair scorer by its name, in a cascade, in the list of models, and where it can't serve."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import drawn
import pytest
from typer.testing import CliRunner

from clipstore import Store
from clipstore.encoders import fetching, image_reward, names
from clipstore.encoders.protocol import PairScorer
from clipstore.errors import FingerprintMismatch, UnknownModel
from clipstore.storage.catalogue import sets, settings

pytest.importorskip("transformers", reason="the extra clipstore[pairs] is not installed")
import small_reward
from clipstore_cli import models

N = 5
Run = Callable[..., object]
CASCADE = ("--cascade", "fake:2,image-reward:reward:1")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ImageReward's two files, at a reduced size."""
    return small_reward.written(tmp_path_factory.mktemp("named") / "reward", small_reward.upstream())


@pytest.fixture
def beams(desk: Path, folder: Path) -> str:
    """An n-best file at the desk, beside the pair scorer's folder."""
    shutil.copytree(folder, desk / "reward")
    captions = ["a dog", "the cat on the mat .", "a cat on a dog on the mat"]
    drawn.write_json(desk / "beams.json", [{"image_id": drawn.name(i), "captions": captions} for i in range(N)])
    return "beams.json"


def test_it_decides_among_the_survivors(run: Run, given: list[str], beams: str) -> None:
    """It scores what the first model kept, once; its numbers are those of Python's own; a second run scores nothing."""
    done = run("rerank", beams, *given, *CASCADE, "-o", "picks.jsonl")
    assert done.code == 0, done.err
    assert "10 pairs: 10 scored" in done.err
    rows = [json.loads(line) for line in Path("picks.jsonl").read_text().splitlines()]
    scorer = image_reward.load("reward/ImageReward.pt", "reward/vocab.txt", device="cpu")
    captions = json.loads(Path(beams).read_text())[0]["captions"]
    for row in rows:
        numbers = scorer.score(scorer.prepare_image(Path(f"images/{row['image']}.png").read_bytes()), captions)
        seen = [place for place, score in enumerate(row["scores"]) if score is not None]
        assert len(seen) == 2
        assert [row["scores"][place] for place in seen] == pytest.approx(numbers[seen].tolist(), abs=1e-5)
        assert row["picked"] == max(seen, key=lambda place: row["scores"][place])
    again = run("rerank", beams, *given, *CASCADE, "-o", "again.jsonl", "--no-encode")
    assert again.code == 0, again.err
    assert "10 pairs: all cached" in again.err
    assert Path("again.jsonl").read_text() == Path("picks.jsonl").read_text()


def test_a_second_run_does_not_load_it(run: Run, given: list[str], beams: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the store knows of its files is enough; other files are another scorer, and are loaded."""
    assert run("rerank", beams, *given, *CASCADE).code == 0
    with monkeypatch.context() as patched:
        patched.setattr(image_reward, "load", lambda *_: pytest.fail("it was loaded"))
        assert run("rerank", beams, *given, *CASCADE).code == 0
    wider = run("rerank", beams, *given, "--cascade", "fake:3,image-reward:reward:1")
    assert "15 pairs: 5 scored" in wider.err, wider.err
    small_reward.written(Path("reward"), small_reward.upstream(seed=1))
    other = run("rerank", beams, *given, *CASCADE)
    assert "10 pairs: 10 scored" in other.err, other.err


def test_signature_and_origin_name_it(run: Run, given: list[str], beams: str) -> None:
    """Picks that it chose say so, with its fingerprint, as those of any selector."""
    assert run("add", "-t", "five", f"beams={beams}", *given).code == 0
    done = run("rerank", "beams", "-t", "five", *CASCADE, "--save-as", "best", "--json")
    assert done.code == 0, done.err
    digest = image_reward.load("reward/ImageReward.pt", "reward/vocab.txt").fingerprint.digest
    assert done.json["signature"]["stages"] == "fake:2,image-reward:1"
    assert digest in done.json["signature"]["fingerprint"].split("+")
    with Store.open(".clipstore") as store, store.catalogue.read() as tx:
        (origin,) = [row.origin for row in sets.systems(tx, "five") if row.name == "best"]
    assert origin["models"] == ["fake", "image-reward"]
    assert digest in origin["selectors"]


@pytest.mark.parametrize(
    "words",
    [
        ("rerank", "beams.json", "--by", "clip", "--model", "image-reward:reward"),
        ("rerank", "beams.json", "--model", "fake", "--report-model", "image-reward:reward"),
        ("score", "a.json", "--model", "image-reward:reward"),
        ("score", "a.json", "--model", "Image-Reward"),
    ],
)
def test_where_it_can_not_serve(run: Run, given: list[str], beams: str, words: tuple[str, ...]) -> None:
    """It has no vectors: the message says where it belongs."""
    refused = run(*words, *given)
    assert refused.code == 2
    assert "has no vectors: it goes into rerank --cascade as a later model" in refused.err


def test_a_first_model_has_vectors(run: Run, given: list[str], beams: str) -> None:
    """A pair scorer does not begin a cascade."""
    refused = run("rerank", beams, *given, "--cascade", "image-reward:reward:2,fake:1")
    assert refused.code == 2
    assert "put pair scorers after it" in refused.err


@pytest.mark.parametrize("missing", ["ImageReward.pt", "vocab.txt"])
def test_a_missing_file_is_named(run: Run, given: list[str], beams: str, missing: str) -> None:
    """With where it comes from."""
    Path("reward", missing).unlink()
    refused = run("rerank", beams, *given, *CASCADE)
    assert refused.code == 2
    repository = {"ImageReward.pt": "THUDM/ImageReward", "vocab.txt": "google-bert/bert-base-uncased"}[missing]
    assert f"image-reward:reward: no {missing} in reward." in refused.err
    assert f"`hf download {repository} {missing} --local-dir reward`" in refused.err
    assert refused.err.count("hf download") == 1


def test_a_missing_folder_is_named(run: Run, given: list[str], beams: str) -> None:
    """Both files and the folder; without one, how to write it."""
    refused = run("rerank", beams, *given, "--cascade", "fake:2,image-reward:nowhere:1")
    assert refused.code == 2
    assert "no ImageReward.pt and no vocab.txt because there is no folder nowhere" in refused.err
    half = run("rerank", beams, *given, "--cascade", "fake:2,image-reward:1")
    assert half.code == 2
    assert "write image-reward:FOLDER" in half.err


def test_it_is_listed() -> None:
    """Formula, length, and where its files are; fetching says how they are had."""
    done = CliRunner().invoke(models.app, ["--json"])
    (row,) = [row for row in json.loads(done.stdout)["models"] if row["name"] == "image-reward:FOLDER"]
    assert row["formula"] == "(MLP(text that attends to the image) - 0.1672) / 1.0333"
    assert row["context_length"] == 35
    assert "ImageReward.pt of THUDM/ImageReward" in row["where"]
    assert "rerank --cascade" in row["where"]
    assert f"{image_reward.MEAN:.4f}" in row["formula"]
    assert f"{image_reward.STD:.4f}" in row["formula"]
    with pytest.raises(UnknownModel, match="hf download THUDM/ImageReward"):
        fetching.fetch("image-reward", Path("unused"))


def test_its_name_in_python(store: Store, folder: Path) -> None:
    """A store gives it by name; what is remembered wrongly is said when it is loaded."""
    name = f"image-reward:{folder}"
    scorer = store.pair_scorer(name, device="cpu")
    assert isinstance(scorer, PairScorer)
    again = store.pair_scorer(name, device="cpu")
    assert isinstance(again, PairScorer)
    assert again.fingerprint.digest == scorer.fingerprint.digest
    picture = drawn.picture(1)
    one, two = (each.score(each.prepare_image(picture), ["a dog"]) for each in (scorer, again))
    assert one.tolist() == two.tolist()
    setting = f"pair-scorer:{folder.resolve()}"
    with store.catalogue.write() as tx:
        noted = json.loads(settings.get(tx, setting) or "")
        noted["fields"]["weights"] = "others"
        settings.set(tx, setting, json.dumps(noted))
    with pytest.raises(FingerprintMismatch, match="weights: others ->"):
        store.pair_scorer(name, device="cpu").prepare_image(picture)
    with pytest.raises(UnknownModel, match="write image-reward:FOLDER"):
        store.pair_scorer("tiny")
    assert names.parse_pair(f" Image-Reward:{folder}").folder == folder
