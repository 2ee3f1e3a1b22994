"""``rerank``: candidates in, typed picks out, through a real store."""

from __future__ import annotations

import importlib.util
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import drawn
import numpy as np
import PIL.Image
import pytest

import clipstore as cs
from clipstore import EvalSet, Store
from clipstore.encoders.protocol import Fingerprint, PairScorer, Prepared
from clipstore.errors import InputError, NotStored, Unpaired
from clipstore.evalset import load_systems, save, systems_in
from clipstore.formats import read_captions
from clipstore.metrics.text import score_texts
from clipstore.rerank import METHODS, Stage, rerank, save_as, saved_nbest, write
from clipstore.storage.catalogue import statements
from clipstore.store import Space

Rows = list[dict[str, object]]


def test_clip_picks_what_scores_best(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Each pick is the candidate with the largest CLIP-S, and its score is what ``score`` gives it."""
    found = rerank(space, nbest, evalset)
    assert [pick.key for pick in found.picks] == list(evalset.keys)
    scores = cs.score(space, {"picks": found.captions}, evalset)
    for pick, row in zip(found, nbest, strict=True):
        assert pick.score == max(score for score in pick.scores if score is not None)
        assert pick.caption == row["captions"][pick.picked]
        assert (pick.of, pick.top1_score) == (len(row["captions"]), pick.scores[0])
        assert scores["picks"].clip_s[pick.key] == pytest.approx(pick.score, abs=1e-6)
    assert found[drawn.name(2)].key == drawn.name(2)


def test_only_new_texts_are_encoded(space: Space, encoder: drawn.Watched, evalset: EvalSet, nbest: Rows) -> None:
    """Images once, candidates once; a second file encodes its new captions alone, references never."""
    rerank(space, nbest, evalset)
    assert encoder.images == 6
    assert len(encoder.texts) == sum(len(row["captions"]) for row in nbest)
    encoder.texts.clear()
    nbest[0]["captions"] = [*nbest[0]["captions"], "a new caption"]
    nbest[0]["mean_logprob"] = [*nbest[0]["mean_logprob"], -9.0]
    found = rerank(space, nbest, evalset)
    assert encoder.images == 6
    assert encoder.texts == ["a photo depicts a new caption"]
    assert found.work.texts_encoded == 1
    assert str(found.work) == "6 images: all cached; 19 distinct candidates: 1 encoded"
    with pytest.raises(NotStored):
        rerank(space, {drawn.name(0): ["not", "stored"]}, evalset, missing="skip", encode=False)


@pytest.mark.parametrize("by", METHODS)
def test_every_method_gives_one_caption_an_image(space: Space, evalset: EvalSet, nbest: Rows, by: str) -> None:
    """Typed picks, a signature that names the method, a gain, and JSON without NaN."""
    found = rerank(space, nbest, evalset, by=by)
    assert len(found) == 6
    assert f"by:{by}" in str(found.signature)
    assert found.gain is not None
    assert found.gain.upper_bound is (by not in {"logp", "vote"})
    json.dumps(found.to_dict(), allow_nan=False)
    assert "picked - first" in str(found)


def test_log_probabilities_alone_need_no_model_and_no_image(space: Space, nbest: Rows) -> None:
    """``logp``, ``vote`` and ``rrf`` of both work without a space; CIDEr judges where references are."""
    bare = EvalSet.read(refs=drawn.references(6))
    for by in ("logp", "vote", "rrf"):
        found = rerank(None, nbest, bare, by=by)
        assert found.gain is not None
        assert found.gain.judge.startswith("CIDEr|tok:own|df:set|set:")
        assert "|refs:2|" in found.gain.judge
    best = rerank(None, nbest, bare, by="logp")
    for pick, row in zip(best, nbest, strict=True):
        assert pick.picked == int(np.argmax(row["mean_logprob"]))
    assert rerank(None, nbest, EvalSet.read(), by="vote").gain is None
    with pytest.raises(InputError, match="needs a model"):
        rerank(None, nbest, bare, by="mbr")
    with pytest.raises(InputError, match="needs images"):
        rerank(space, nbest, bare)


def test_ties_go_to_the_lower_rank(space: Space, evalset: EvalSet) -> None:
    """Equal captions and spellings that a tokenizer reads alike tie; the rank in the file decides, not the row."""
    same = {key: ["A  dog", "a dog", "a dog"] for key in evalset.keys}
    assert {pick.picked for pick in rerank(space, same, evalset)} == {0}
    rows = [
        {"image_id": key, "rank": rank, "caption": text}
        for key in evalset.keys
        for rank, text in ((1, "a dog"), (0, "A dog"))
    ]
    assert {pick.caption for pick in rerank(space, rows, evalset)} == {"A dog"}


def test_an_empty_caption_is_picked_only_where_there_is_no_other(space: Space, evalset: EvalSet) -> None:
    """It comes last whatever the method, its CLIP-S is 0, and nothing is encoded for it."""
    first, *rest = evalset.keys
    lists = {first: ["", "  "], **{key: ["", f"a caption of {key}"] for key in rest}}
    for by in ("clip", "vote", "mbr", "consensus", "rrf"):
        found = rerank(space, lists, evalset, by=by)
        assert [pick.picked for pick in found] == [0, 1, 1, 1, 1, 1]
        assert found.guards.picked.empty == 1
    assert rerank(space, lists, evalset)[first].score == 0
    diverse = rerank(space, lists, evalset, k=2, mmr=0.5)
    assert [pick.picked for pick in diverse if pick.key == first] == [0]


def test_mix_says_its_weight_and_refuses_what_it_cant_mix(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """0.5 unless given; missing or mixed log-probabilities are an error with the way out."""
    found = rerank(space, nbest, evalset, by="mix")
    assert any("weight of CLIP-S is 0.5" in line for line in found.warnings)
    assert "weight:0.5|tuned:no" in str(found.signature)
    given = rerank(space, nbest, evalset, by="mix", clip_weight=0.6)
    assert not given.warnings
    assert "weight:0.6" in str(given.signature)
    for weight, pure in ((1.0, "clip"), (0.0, "logp")):
        mixed = rerank(space, nbest, evalset, by="mix", clip_weight=weight)
        assert mixed.captions == rerank(space, nbest, evalset, by=pure).captions
    with pytest.raises(InputError, match="needs log-probabilities"):
        rerank(space, {key: ["a", "b"] for key in evalset.keys}, evalset, by="mix")
    sums = [
        {"image_id": row["image_id"], "captions": row["captions"], "sum_logprob": row["mean_logprob"]} for row in nbest
    ]
    with pytest.raises(InputError, match=r"mixed: mean \(rows row 1\), sum \(rows row 1\)"):
        rerank(space, (nbest, sums), evalset, by="mix")


def test_mixed_kinds_in_one_file_are_refused_by_their_rows(
    store: Store, space: Space, evalset: EvalSet, nbest: Rows
) -> None:
    """A column that says mean here and sum there: mix and logp name a row of each, a saved system too."""
    rows = [
        {
            "image_id": row["image_id"],
            "captions": row["captions"],
            "logprob": row["mean_logprob"],
            "score_kind": "sum" if number == 3 else "mean",
        }
        for number, row in enumerate(nbest)
    ]
    for by in ("mix", "logp"):
        with pytest.raises(InputError, match=r"mixed: mean \(rows row 1\), sum \(rows row 4\)"):
            rerank(space, rows, evalset, by=by)
    save(store, "six", evalset, {"beams": read_captions(rows)}, store.identify(evalset.images()).ids)
    with pytest.raises(InputError, match=r"mixed: mean .* sum"):
        rerank(space, saved_nbest(store, "six", "beams"), EvalSet.load(store, "six"), by="mix")
    assert len(rerank(space, rows, evalset, by="rrf")) == 6, "the fusion leaves such numbers out"


def test_pooled_files_are_one_list(space: Space, evalset: EvalSet) -> None:
    """Systems of one caption an image become candidates in the order of the files."""
    pool = tuple(drawn.captions(6, f"system {name} says") for name in "abc")
    found = rerank(space, pool, evalset)
    assert {pick.of for pick in found} == {3}
    for pick in found:
        assert pick.caption.startswith(f"system {'abc'[pick.picked]} ")


def test_pooled_log_probabilities_on_other_scales_are_named(evalset: EvalSet) -> None:
    """One system a hundred times off: logp says that it compares systems."""
    systems = [
        [
            {"image_id": key, "caption": f"{scale} {key}", "logprob": scale * (1 + i / 10)}
            for i, key in enumerate(evalset.keys)
        ]
        for scale in (-9.0, -8.0, -700.0)
    ]
    found = rerank(None, tuple(systems), EvalSet.read(), by="logp")
    assert any("different scales" in line and "place 2: 875" in line for line in found.warnings)


def test_a_cascade_that_keeps_all_is_the_last_model_alone(
    space: Space, other: Space, evalset: EvalSet, nbest: Rows
) -> None:
    """With k = N the first model has no say."""
    found = rerank(None, nbest, evalset, cascade=[Stage(space, 4), Stage(other, 1)])
    assert found.captions == rerank(other, nbest, evalset).captions
    assert "stages:fake:4,fake:32:1" in str(found.signature)


def test_the_last_stage_says_how_many_are_kept(space: Space, other: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Its number is the number of captions, the best first by its own scores; -k may ask for fewer, not for more."""
    stages = [Stage(space, 3), Stage(other, 2)]
    found = rerank(None, nbest, evalset, cascade=stages)
    assert [pick.rank for pick in found] == [0, 1] * 6
    for key in evalset.keys:
        first, second = (pick.score for pick in found if pick.key == key)
        assert first >= second
    assert rerank(None, nbest, evalset, cascade=stages, k=1).captions == found.captions
    with pytest.raises(InputError, match=r"-k 3 .* --cascade"):
        rerank(None, nbest, evalset, cascade=stages, k=3)


def test_a_cascade_encodes_survivors_only(store: Store, space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """The second model sees one candidate of each image, and that one is picked."""
    watched = drawn.Watched(16)
    second = store.custom_space(watched, "fake:16")
    found = rerank(None, nbest, evalset, cascade=[Stage(space, 1), Stage(second, 1)])
    assert len(watched.texts) == 6
    assert found.captions == rerank(space, nbest, evalset).captions
    assert all(sum(score is not None for score in pick.scores) == 1 for pick in found)
    assert found.gain is not None
    assert found.gain.upper_bound


class Longest:
    """A pair scorer: the longer caption is better."""

    fingerprint = Fingerprint({"kind": "longest"})
    environment: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self.images = 0
        self.pairs = 0

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Decode it."""
        self.images += 1
        with PIL.Image.open(io.BytesIO(image)) as opened:
            return Prepared(np.asarray(opened.convert("RGB")), opened.mode, opened.size)

    def score(self, image: Prepared, texts: Sequence[str]) -> np.ndarray:
        """Count letters."""
        assert image.pixels.ndim == 3
        self.pairs += len(texts)
        return np.array([len(text) for text in texts], np.float32)


def test_a_pair_scorer_may_decide(store: Store, space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """It looks at the survivors of the encoder alone, and its numbers are kept like vectors."""
    nbest[5]["captions"][1] = "by far the longest of all candidates"
    scorer = Longest()
    assert isinstance(scorer, PairScorer)
    found = rerank(store, nbest, evalset, cascade=[Stage(space, 3), Stage(scorer, 1)])
    assert (scorer.images, scorer.pairs) == (6, 16), "of 18 candidates, two images have four"
    assert "stages:fake:3,longest:1" in str(found.signature)
    assert scorer.fingerprint.digest in found.origin["selectors"]
    for pick in found:
        assert pick.score == max(score for score in pick.scores if score is not None)
    again = rerank(store, nbest, evalset, cascade=[Stage(space, 3), Stage(scorer, 1)], encode=False)
    assert again.captions == found.captions
    assert scorer.pairs == 16
    with pytest.raises(InputError, match="first model of a cascade is an encoder"):
        rerank(store, nbest, evalset, cascade=[Stage(scorer, 2), Stage(space, 1)])


def test_a_pair_scorer_finds_the_images_of_a_saved_set(
    store: Store, space: Space, evalset: EvalSet, nbest: Rows
) -> None:
    """A loaded set knows its images by id; an image that is gone is named."""
    save(store, "six", evalset, {}, store.identify(evalset.images()).ids)
    loaded = EvalSet.load(store, "six")
    stages = [Stage(space, 2), Stage(Longest(), 1)]
    wanted = rerank(store, nbest, evalset, cascade=stages).captions
    with store.catalogue.write() as tx:
        statements.run(tx, "DELETE FROM pair_scores")
    assert rerank(store, nbest, loaded, cascade=stages).captions == wanted
    with store.catalogue.write() as tx:
        statements.run(tx, "DELETE FROM pair_scores")
    (evalset.folder.path / evalset.paths[4]).write_bytes(b"another image")
    with pytest.raises(InputError, match=rf"1 images can't be read for the pair scorer \(first: {drawn.name(4)}\)"):
        rerank(store, nbest, loaded, cascade=stages)


@pytest.mark.parametrize("keeps", [[3], [2, 3], [0, 0]])
def test_a_cascade_must_narrow(space: Space, evalset: EvalSet, nbest: Rows, keeps: list[int]) -> None:
    """One stage, a widening one, or none kept is an error."""
    with pytest.raises(InputError, match="cascade"):
        rerank(space, nbest, evalset, cascade=[Stage(space, keep) for keep in keeps])


def test_several_captions_of_each_image(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """-k gives the best first, as many as there are; the first is the single pick."""
    one, three = rerank(space, nbest, evalset), rerank(space, nbest, evalset, k=3)
    assert [pick.caption for pick in three if pick.rank == 0] == [pick.caption for pick in one]
    assert len(three) == sum(min(3, len(row["captions"])) for row in nbest)
    for key in evalset.keys:
        scores = [pick.score for pick in three if pick.key == key]
        assert scores == sorted(scores, reverse=True)
    diverse = rerank(space, nbest, evalset, k=3, mmr=1.0)
    assert [pick.caption for pick in diverse] == [pick.caption for pick in three]


def test_another_judge_lifts_the_upper_bound(space: Space, other: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Selector = judge is titled so; a report model of its own is not."""
    own = rerank(space, nbest, evalset)
    assert own.gain is not None
    assert own.gain.upper_bound
    assert "upper bound" in str(own)
    assert "--report-model" in str(own)
    apart = rerank(space, nbest, evalset, report_space=other)
    assert apart.gain is not None
    assert not apart.gain.upper_bound
    assert "upper bound" not in str(apart)
    again = rerank(space, nbest, evalset, report_space=space)
    assert again.gain is not None
    assert again.gain.upper_bound


def test_what_judge_and_tuning_encode_is_counted(
    store: Store, space: Space, other: Space, evalset: EvalSet, nbest: Rows
) -> None:
    """The judge reads every candidate, whoever chose; nothing is called cached that was encoded."""
    by_logp = rerank(space, nbest, evalset, by="logp")
    assert str(by_logp.work) == "6 images: 6 encoded; 18 distinct candidates: 18 encoded"
    judged = rerank(space, nbest, evalset, report_space=other)
    assert str(judged.work) == "6 images: 6 encoded; 18 distinct candidates: 18 encoded"
    assert str(rerank(store, nbest, evalset, by="logp").work) == "no model looked: nothing to encode"


def test_what_is_left_out_is_said(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """With missing=skip, both sides with their first ids."""
    strange = [*nbest[1:], {"image_id": "elsewhere", "captions": ["a"], "mean_logprob": [-1.0]}]
    found = rerank(space, strange, evalset, missing="skip")
    said = " ".join(found.warnings)
    assert "1 caption has no image in the eval set (first: elsewhere)" in said
    assert f"1 of 6 images has no caption (first: {drawn.name(0)})" in said


def test_the_guards_stand_beside_the_gain(space: Space, evalset: EvalSet) -> None:
    """Words, repeats and leftovers of first captions and picks, one row each."""
    lists = {key: ["a dog and a dog <|endoftext|>", "<|endoftext|>"] for key in evalset.keys}
    rows = {row[0]: row for row in rerank(space, lists, evalset).table().rows}
    assert rows["first"][3:] == ("6.0", "100.0%", "6")
    assert rows["picked"][5] == "6"
    assert rows["oracle"][3:] == ("-", "-", "-")


def test_the_largest_changes_are_a_table(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Gains first, the largest on top, losses at the end."""
    found = rerank(space, nbest, evalset, by="logp")
    assert found.gain is not None
    rows = found.changes().rows
    assert len(rows) == len(found.gain.gains) + len(found.gain.losses)
    assert [float(row[1]) for row in rows] == sorted((float(row[1]) for row in rows), reverse=True)


def test_tuning_on_development_images(space: Space, other: Space, evalset: EvalSet, nbest: Rows) -> None:
    """The weight comes from the grid, with its line; circular targets and clashes are refused."""
    found = rerank(space, nbest, evalset, by="mix", tune_on=nbest)
    assert found.tuned is not None
    assert "cross-fitted" in found.tuned.described()
    assert "tuned:cider" in str(found.signature)
    assert rerank(space, nbest, evalset, by="mix", tune_on=nbest, tune_refs=drawn.references(6)).tuned == found.tuned
    with pytest.raises(InputError, match="--allow-circular"):
        rerank(space, nbest, evalset, by="mix", tune_on=nbest, target="clip-s")
    circular = rerank(space, nbest, evalset, by="mix", tune_on=nbest, target="clip-s", allow_circular=True)
    assert circular.tuned is not None
    assert circular.tuned.grid[-1] == max(circular.tuned.grid)
    assert rerank(space, nbest, evalset, by="mix", tune_on=nbest, target="clip-s", report_space=other).tuned
    with pytest.raises(InputError, match="leave one of them out"):
        rerank(space, nbest, evalset, by="mix", tune_on=nbest, clip_weight=0.3)
    with pytest.raises(InputError, match="tuned for --by mix"):
        rerank(space, nbest, evalset, tune_on=nbest)
    sums = [
        {"image_id": row["image_id"], "captions": row["captions"], "sum_logprob": row["mean_logprob"]} for row in nbest
    ]
    with pytest.raises(InputError, match="does not fit the other"):
        rerank(space, nbest, evalset, by="mix", tune_on=sums)


def test_a_saved_set_lends_its_images_to_tuning(
    store: Store, space: Space, evalset: EvalSet, nbest: Rows, tmp_path: Path
) -> None:
    """Development references from a file meet the images that the set has under their ids."""
    save(store, "six", evalset, {}, store.identify(evalset.images()).ids)
    refs = drawn.write_json(tmp_path / "dev.json", {drawn.name(i): [f"candidate 1 of picture {i}"] for i in range(5)})
    asked = {"by": "mix", "tune_on": nbest[:5], "tune_refs": refs}
    found = rerank(space, nbest, EvalSet.load(store, "six"), **asked)
    assert found.tuned is not None
    assert found.tuned.n == 5
    assert found.tuned == rerank(space, nbest, evalset, **asked).tuned


@pytest.mark.skipif(
    shutil.which("java") is None or not importlib.util.find_spec("pycocoevalcap"), reason="needs Java and pycocoevalcap"
)
@pytest.mark.parametrize("target", ["ROUGE_L", "meteor", "Bleu_4"])
def test_a_weight_is_tuned_on_any_text_metric(space: Space, evalset: EvalSet, nbest: Rows, target: str) -> None:
    """A candidate's number is that of a system of its place in the lists."""
    nbest[2]["captions"][3], nbest[2]["mean_logprob"][3] = "the first words on picture 2", -0.01
    found = rerank(space, nbest, evalset, by="mix", tune_on=nbest, target=target)
    assert found.tuned is not None
    assert f"tuned:{found.tuned.target}|" in str(found.signature)
    firsts = {row["image_id"]: row["captions"][0] for row in nbest}
    references = {item.key: item.references for item in evalset.items}
    score = score_texts(references, {"first": firsts}, [target]).systems["first"][found.tuned.target]
    assert found.tuned.first == pytest.approx(score.per_item.mean(), abs=1e-9)
    assert found.tuned.grid[0] > found.tuned.first, "log-probability picks the reference"


def test_what_cant_be_asked(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """Unknown names, odd numbers and uncovered images are errors that say what there is."""
    for options, words in (
        ({"by": "best"}, "there is: clip, logp"),
        ({"k": 0}, "1 or more"),
        ({"mmr": 0.5}, "give -k 2"),
        ({"mmr": 2, "k": 2}, "between 0 and 1"),
        ({"by": "mix", "clip_weight": 1.5}, "between 0 and 1"),
        ({"by": "rrf", "fuse": ["mix"]}, "rrf joins"),
        ({"by": "mix", "tune_on": nbest, "target": "blue"}, "cider, clip-s, bleu-1"),
    ):
        with pytest.raises(InputError, match=words):
            rerank(space, nbest, evalset, **options)
    with pytest.raises(Unpaired, match="1 of 6 images has no caption"):
        rerank(space, nbest[1:], evalset)
    assert len(rerank(space, nbest[1:], evalset, missing="skip")) == 5


def test_an_image_that_cant_be_read_is_left_out(space: Space, tmp_path: Path, nbest: Rows) -> None:
    """The others are reranked, and the failure is named."""
    folder = drawn.draw(tmp_path / "odd", 6)
    (folder / f"{drawn.name(3)}.png").write_bytes(b"no image")
    found = rerank(space, nbest, EvalSet.read(images=folder))
    assert len(found) == 5
    assert [failure.name for failure in found.failures] == [f"{drawn.name(3)}.png"]


def test_where_no_image_can_be_read_that_is_said(space: Space, tmp_path: Path, nbest: Rows) -> None:
    """With the first file and its reason."""
    folder = drawn.draw(tmp_path / "odd", 6)
    for path in folder.iterdir():
        path.write_bytes(b"no image")
    images = {drawn.name(i): folder / f"{drawn.name(i)}.png" for i in range(6)}
    with pytest.raises(InputError, match=r"none of 6 images can be read \(first: .*png"):
        rerank(space, nbest, EvalSet.read(images=images))


def test_a_cascade_leaves_other_models_alone(
    store: Store, space: Space, other: Space, encoder: drawn.Watched, evalset: EvalSet, nbest: Rows
) -> None:
    """The space that was given beside it encodes nothing."""
    third = store.custom_space(drawn.Watched(16), "fake:16")
    rerank(space, nbest, evalset, cascade=[Stage(other, 2), Stage(third, 1)])
    assert encoder.images == 0
    assert not encoder.texts


@pytest.mark.parametrize(
    ("format_", "name"), [("coco", "p.json"), ("clipscore", "q.json"), ("jsonl", "p.jsonl"), ("parquet", "p.parquet")]
)
def test_the_output_goes_back_into_score(
    space: Space, evalset: EvalSet, nbest: Rows, tmp_path: Path, format_: str, name: str
) -> None:
    """Each format is read by ``score`` as a system, with the ids as they came."""
    found = rerank(space, nbest, evalset)
    write(tmp_path / name, found, format_)
    scores = cs.score(space, {"picks": tmp_path / name}, evalset)
    assert scores["picks"].clip_s.mean == pytest.approx(np.mean([pick.score for pick in found]), abs=1e-6)


def test_a_row_of_the_json_lines(space: Space, evalset: EvalSet, nbest: Rows, tmp_path: Path) -> None:
    """Image, caption, picked, of, score, top1_score, and every candidate's score."""
    found = rerank(space, nbest, evalset)
    write(tmp_path / "picks.jsonl", found)
    row = json.loads((tmp_path / "picks.jsonl").read_text().splitlines()[2])
    assert list(row) == ["image", "rank", "caption", "picked", "of", "score", "top1_score", "scores"]
    assert (row["rank"], row["of"], len(row["scores"])) == (0, 4, 4)
    write(tmp_path / "three.jsonl", rerank(space, nbest, evalset, k=3))
    ranks = [json.loads(line)["rank"] for line in (tmp_path / "three.jsonl").read_text().splitlines()]
    assert ranks[:5] == [0, 1, 0, 1, 2], "the first pick has its rank like the others"
    with pytest.raises(InputError, match="coco, clipscore"):
        write(tmp_path / "x", found, "xml")


def test_picks_are_kept_as_a_system_with_their_origin(
    store: Store, space: Space, evalset: EvalSet, nbest: Rows
) -> None:
    """Under a saved set, with method, selector's fingerprint and N; an n-best system can be read back."""
    ids = store.identify(evalset.images()).ids
    save(store, "six", evalset, {"beams": read_captions(nbest)}, ids)
    loaded = EvalSet.load(store, "six")
    found = rerank(space, saved_nbest(store, "six", "beams"), loaded, by="mix")
    assert found.captions == rerank(space, nbest, evalset, by="mix").captions
    assert save_as(store, loaded, "best", found) == "added"
    kept = next(row for row in systems_in(store, "six") if row.name == "best")
    assert kept.origin["method"] == "mix"
    assert kept.origin["selectors"] == [space.fingerprint.digest]
    assert kept.origin["n"] == "2-4"
    assert load_systems(store, loaded, ["best"])[0].texts == tuple(found.captions.values())
    with pytest.raises(InputError, match="saved eval set"):
        save_as(store, replace(evalset, name=None), "best", found)


@pytest.mark.parametrize("by", ["clip", "logp", "mix"])
def test_a_repeated_candidate_changes_no_pick_of_a_file(space: Space, evalset: EvalSet, nbest: Rows, by: str) -> None:
    """Each candidate in turn comes twice, with its log-probability: every image keeps its caption."""
    wanted = rerank(space, nbest, evalset, by=by).captions
    for twin in range(2):
        more = [
            {
                "image_id": row["image_id"],
                "captions": [*row["captions"], row["captions"][twin]],
                "mean_logprob": [*row["mean_logprob"], row["mean_logprob"][twin]],
            }
            for row in nbest
        ]
        assert rerank(space, more, evalset, by=by).captions == wanted


def test_shuffled_rows_give_the_same_picks(space: Space, evalset: EvalSet, nbest: Rows) -> None:
    """The order of images in the file means nothing."""
    for by in METHODS:
        assert rerank(space, nbest[::-1], evalset, by=by).captions == rerank(space, nbest, evalset, by=by).captions
