"""What was asked of ``rerank``: kept as a run, signed, and refused before anything is encoded."""

from __future__ import annotations

from pathlib import Path

import drawn
import numpy as np
import pytest

import clipstore as cs
from clipstore import EvalSet, Store
from clipstore.errors import InputError, NoReferences
from clipstore.evalset import save, systems_in
from clipstore.formats import read_captions
from clipstore.rerank import METHODS, Stage, rerank, save_as
from clipstore.storage.catalogue import runs
from clipstore.store import Space

Rows = list[dict[str, object]]


def kept(store: Store) -> list[runs.RunRow]:
    """Return the reranks that the store knows of."""
    with store.catalogue.read() as tx:
        return [run for run in runs.all(tx) if run.verb == "rerank"]


def test_the_same_again_is_one_run(store: Store, space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Its id is the hash of what was asked, and the picks know it."""
    first, again = rerank(space, nbest, evalset), rerank(space, nbest, evalset)
    (run,) = kept(store)
    assert first.origin["run"] == again.origin["run"] == run.id
    assert run.request["set"] == evalset.digest(store.identify(evalset.images()).ids)
    assert len(run.used_images) == 6


def test_whatever_changes_a_result_is_another_run(
    store: Store, space: Space, other: Space, evalset: EvalSet, nbest: Rows, tmp_path: Path
) -> None:
    """Images, references, log-probabilities, k, beams or samples, method and judge are in the id."""
    other_logps = [{**row, "mean_logprob": [-9.0 - number for number in row["mean_logprob"]]} for row in nbest]
    references = EvalSet.read(images=tmp_path / "images", refs={drawn.name(i): [f"new {i}"] for i in range(6)})
    images = EvalSet.read(images=drawn.draw(tmp_path / "moved", 6), refs=drawn.references(6))
    (tmp_path / "moved" / f"{drawn.name(0)}.png").write_bytes(
        (tmp_path / "images" / f"{drawn.name(5)}.png").read_bytes()
    )
    asked = [
        rerank(space, nbest, evalset),
        rerank(space, nbest, references),
        rerank(space, nbest, images),
        rerank(space, other_logps, evalset),
        rerank(space, nbest, evalset, k=2),
        rerank(space, nbest, evalset, k=2, mmr=0.5),
        rerank(space, nbest, evalset, ordered=True),
        rerank(space, nbest, evalset, by="mbr"),
        rerank(space, nbest, evalset, report_space=other),
    ]
    assert len({found.origin["run"] for found in asked}) == len(asked)
    assert {run.id for run in kept(store)} == {found.origin["run"] for found in asked}


@pytest.mark.parametrize("by", ["logp", "vote", "rrf"])
def test_a_choice_without_a_model_is_recorded_too(store: Store, nbest: Rows, by: str) -> None:
    """The store alone is enough; what was used is kept, so that cleaning up spares it."""
    found = rerank(store, nbest, EvalSet.read(refs=drawn.references(6)), by=by)
    (run,) = kept(store)
    assert run.id == found.origin["run"]
    texts = {text for row in nbest for text in row["captions"]}
    assert len(run.used_texts) == len(texts) + 12, "candidates and references"
    assert rerank(None, nbest, EvalSet.read(), by=by).captions == found.captions


def test_the_judges_signature_is_that_of_score(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Weights, pixels, recipe, prompt, precision and the set's hash: the picks' own score has the same."""
    found = rerank(space, nbest, evalset)
    assert found.gain is not None
    scores = cs.score(space, {"picks": found.captions}, evalset)
    assert found.gain.judge == str(scores.signatures["clip-s"])
    assert found.gain.picked.mean == pytest.approx(scores["picks"].clip_s.mean, abs=1e-6)


def test_the_model_that_tells_captions_apart_is_named(
    store: Store, space: Space, evalset: EvalSet, nbest: Rows
) -> None:
    """--mmr compares by a model whatever chooses: it stands in signature and origin, and bounds no gain."""
    found = rerank(space, nbest, evalset, by="logp", k=2, mmr=0.5)
    assert "|model:fake|fingerprint:" in str(found.signature)
    assert found.origin["selectors"] == [space.fingerprint.digest]
    assert found.gain is not None
    assert not found.gain.upper_bound, "the first picks are by log-probability alone"
    save(store, "six", evalset, {}, store.identify(evalset.images()).ids)
    save_as(store, EvalSet.load(store, "six"), "diverse", found)
    (row,) = systems_in(store, "six")
    assert row.origin["models"] == ["fake"]


def test_intervals_come_from_as_many_resamples_as_anywhere(
    store: Store, space: Space, evalset: EvalSet, nbest: Rows
) -> None:
    """10,000 of the images, and the table says so; below 100 images they are Student's, and it says that."""
    many = {f"image {i}": [f"a dog number {i}", f"a dog with a number {i}"] for i in range(120)}
    refs = EvalSet.read(refs={key: [texts[i % 2]] for i, (key, texts) in enumerate(many.items())})
    found = rerank(store, many, refs, by="vote")
    assert found.gain is not None
    assert found.gain.resamples == cs.significance.Settings().resamples == 10_000
    assert "120 images: 10,000 resamples" in str(found)
    few = rerank(space, nbest, evalset)
    assert few.gain is not None
    assert few.gain.resamples == 0
    assert "6 images: Student's t" in str(few)
    one = rerank(space, nbest[:1], evalset, missing="skip")
    assert "no intervals" in str(one)


@pytest.mark.parametrize("by", METHODS)
def test_a_curve_that_holds_for_the_whole_list_alone_says_so(
    space: Space, evalset: EvalSet, nbest: Rows, by: str
) -> None:
    """By clip and logp a candidate's score is its own; by the others it depends on the list."""
    found = rerank(space, nbest, evalset, by=by)
    assert found.gain is not None
    assert ("whole list" in found.gain.curve_note) is (by not in {"clip", "logp"})
    assert found.gain.curve_note in str(found)


def test_nothing_is_encoded_for_what_is_refused(
    store: Store, space: Space, encoder: drawn.Watched, evalset: EvalSet, nbest: Rows, tmp_path: Path
) -> None:
    """Missing or mixed log-probabilities, no references to tune on, a circular target: before the first image."""
    plain = {key: ["a", "b"] for key in evalset.keys}
    bare = EvalSet.read(images=tmp_path / "images")
    sums = [
        {"image_id": row["image_id"], "captions": row["captions"], "sum_logprob": row["mean_logprob"]} for row in nbest
    ]
    for given, against, options in (
        (plain, evalset, {"by": "mix"}),
        (plain, evalset, {"by": "logp"}),
        (plain, evalset, {"by": "rrf", "fuse": ["clip", "logp"]}),
        (plain, evalset, {"by": "mix", "tune_on": nbest}),
        ((nbest, sums), evalset, {"by": "mix"}),
        (nbest, evalset, {"by": "mix", "tune_on": plain}),
        (nbest, evalset, {"by": "mix", "tune_on": sums}),
        (nbest, evalset, {"by": "mix", "tune_on": nbest, "target": "clip-s"}),
        (nbest, bare, {"by": "mix", "tune_on": nbest}),
        (nbest, evalset, {"by": "mix", "tune_on": nbest[:1]}),
    ):
        with pytest.raises((InputError, NoReferences)):
            rerank(space, given, against, **options)
    assert encoder.images == 0
    assert not encoder.texts
    assert not kept(store)


def test_options_that_would_do_nothing_are_refused(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Each by both names."""
    stages = [Stage(space, 2), Stage(space, 1)]
    for options, flags in (
        ({"by": "mbr", "cascade": stages}, ("--by", "--cascade")),
        ({"by": "clip", "fuse": ["clip"]}, ("--fuse", "--by rrf")),
        ({"cascade": stages, "fuse": ["clip"]}, ("--fuse", "--by rrf")),
        ({"clip_weight": 0.5}, ("--clip-weight", "--by mix")),
        ({"by": "mix", "tune_refs": drawn.references(6)}, ("--tune-refs", "--tune-on")),
        ({"by": "mix", "target": "cider"}, ("--target", "--tune-on")),
        ({"by": "mix", "allow_circular": True}, ("--allow-circular", "--tune-on")),
    ):
        with pytest.raises(InputError) as refused:
            rerank(space, nbest, evalset, **options)
        assert all(flag in str(refused.value) for flag in flags), refused.value
    with pytest.raises(InputError, match=r"--report-model .* needs images"):
        rerank(None, nbest, EvalSet.read(), by="vote", report_space=space)


def test_read_captions_know_the_kind_of_each_row() -> None:
    """One kind is one kind where a row without a number says none; shards of two kinds are mixed."""
    rows = [
        {"image_id": 1, "caption": "a", "logprob": -1.0, "score_kind": "mean"},
        {"image_id": 1, "caption": "b", "logprob": None, "score_kind": None},
        {"image_id": 2, "caption": "c", "logprob": -2.0, "score_kind": "mean"},
    ]
    one = read_captions(rows)
    assert (one.score_kind, one.score_kinds) == ("mean", None)
    assert one.kinds() == ["mean", None, "mean"]
    rows[2]["score_kind"] = "sum"
    mixed = read_captions(rows)
    assert mixed.score_kind == "unknown"
    assert mixed.first_of_kinds() == {"mean": "rows row 1", "sum": "rows row 3"}
    assert mixed.first().kinds() == ["mean", "sum"]


def test_shards_of_two_kinds_are_mixed(tmp_path: Path) -> None:
    """The row is named with its shard."""
    for number, name in enumerate(("mean_logprob", "sum_logprob")):
        drawn.write_json(
            tmp_path / f"part-{number}.json", [{"image_id": number, "captions": ["a", "b"], name: [-1, -2]}]
        )
    read = read_captions(tmp_path / "part-*.json")
    assert read.kinds() == ["mean", "mean", "sum", "sum"]
    assert list(read.first_of_kinds()) == ["mean", "sum"]
    assert "part-1.json row 1" in read.first_of_kinds()["sum"]
    assert np.isfinite(list(read.scores or ())).all()


def test_each_model_is_asked_in_its_own_way(store: Store, space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """A published scorer has its own prompt and weight, as a selector, as the judge and in a cascade."""
    watched = drawn.Watched(32)
    pick = store.custom_space(watched, "pickscore")
    found = rerank(space, nbest, evalset, report_space=pick)
    assert not any("photo depicts" in text for text in watched.texts)
    assert found.gain is not None
    assert found.gain.judge == str(
        cs.score(pick, {"picks": found.captions}, evalset, recipe="raw").signatures["clip-s"]
    )
    cascade = rerank(store, nbest, evalset, cascade=[Stage(space, 2), Stage(pick, 1)])
    assert "|recipe:hessel2021+raw|prefix:A_photo_depicts+none|" in str(cascade.signature)
    reward = cs.RewardScorer(pick, evalset)
    assert reward.encoded == 0
    assert reward(evalset.keys[:1], ["candidate 0 of picture 0"])[0] == pytest.approx(
        cs.score(pick, {"one": {evalset.keys[0]: "candidate 0 of picture 0"}}, evalset, recipe="raw", missing="skip")[
            "one"
        ].clip_s[evalset.keys[0]],
        abs=1e-6,
    )
    assert reward.encoded == 0, "cached under the model's own prompt"
    with pytest.raises(InputError, match="Java"):
        cs.RewardScorer(space, evalset, recipe="coco-ptb")
