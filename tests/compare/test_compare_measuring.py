"""Measuring: every metric from a store, text metrics through the cache of pair scores."""

import shutil
from dataclasses import replace
from importlib.metadata import PackageNotFoundError

import drawn
import numpy as np
import pytest

from clipstore import EvalSet, score
from clipstore.compare import compare
from clipstore.compare.fields import leaders
from clipstore.encoders.fake import FakeEncoder
from clipstore.errors import InputError, NoReferences
from clipstore.evalset.systems import systems_of
from clipstore.evaluate import own_recipe, text_metrics
from clipstore.evaluate.measuring import measure
from clipstore.evaluate.names import metric_name, metric_names
from clipstore.evaluate.tagging import tagged
from clipstore.formats import read_captions
from clipstore.metrics.text import JavaFault, java, scoring
from clipstore.significance import Settings

QUICK = Settings(resamples=200)
COUNT = 12
needs_java = pytest.mark.skipif(
    shutil.which("java") is None or not scoring.importlib.util.find_spec("pycocoevalcap"),
    reason="needs Java and pycocoevalcap",
)


@pytest.fixture
def space(store):
    """A space whose vectors are drawn from hashes."""
    return store.custom_space(FakeEncoder(), "fake")


@pytest.fixture
def evalset(tmp_path):
    """Drawn images with two references each."""
    return EvalSet.read(images=drawn.draw(tmp_path / "images", COUNT), refs=drawn.references(COUNT))


SYSTEMS = {"a": drawn.captions(COUNT), "b": drawn.captions(COUNT, "the first words on")}
READ = {name: read_captions(own) for name, own in SYSTEMS.items()}


def test_without_names_it_is_what_score_gives(space, evalset):
    """CLIP-S and RefCLIP-S, the same numbers to the bit; the JSON has their signatures."""
    scores, made = score(space, SYSTEMS, evalset), measure(space, SYSTEMS, evalset)
    assert list(made.measures) == ["clip-s", "ref-clip-s"]
    for metric, one in made.measures.items():
        assert np.array_equal(one.per_item[1], scores["b"].metrics[metric].per_item)
    assert str(made.measures["clip-s"].signature) == str(scores.signatures["clip-s"])


def test_scores_can_be_compared_as_they_are(space, evalset):
    """``compare(score(...))``: no captions at hand, the rest the same."""
    scores = score(space, SYSTEMS, evalset)
    plain = compare(scores, baseline="a", settings=QUICK)
    full = compare(measure(space, SYSTEMS, evalset), baseline="a", settings=QUICK)
    assert plain.pairs == full.pairs


def test_retrieval_and_diversity_are_columns(space, evalset):
    """Asked for together, shown in the order asked, with their notes."""
    made = measure(space, SYSTEMS, evalset, ["clip-s", "retrieval", "mean-words", "distinct-1"])
    assert list(made.measures) == ["clip-s", "r@1", "r@5", "r@10", "median-rank", "z", "mean-words", "distinct-1"]
    hits, ranks = made.measures["r@5"].per_item[0], made.measures["median-rank"].per_item[0]
    assert np.array_equal(hits, ranks <= 5)
    done = compare(made, settings=QUICK)
    assert any("no scale of quality across models" in line for line in done.notes)
    held = done.to_dict()["systems"][0]["metrics"]
    assert held["median_rank"]["ci"] == sorted(ranks)[2:10:7], "the third smallest and largest of 12: 96.1 %"
    assert "|ci:binomial|" in str(done.signatures["median-rank"])
    assert "|pool:12|" in str(made.measures["r@1"].signature)
    assert held["distinct_1"]["ci"] is None
    for why in ("no test of a median", "a resample repeats captions", "longer is not better"):
        assert any(why in line for line in done.notes)


def test_mean_words_are_never_bold(space, evalset):
    """Longer is not better: no system leads, in no form; a column of quality beside it has its leaders."""
    longer = {key: f"{text} and then some more words" for key, text in SYSTEMS["a"].items()}
    made = measure(space, {**SYSTEMS, "long": longer}, evalset, ["mean-words", "clip-s"])
    done = compare(made, settings=QUICK)
    assert not leaders(done.parts[0], "mean-words")
    assert leaders(done.parts[0], "clip-s")
    (table,), _ = done.main()
    words = [column.header for column in table.columns].index("words/caption")
    assert {column for _, column in table.bold} == {[column.header for column in table.columns].index("CLIP-S")}
    assert all(r"\textbf" not in line.split("&")[words] for line in done.to_latex().splitlines() if line.count("&") > 5)


def test_distinct_n_follows_the_images_compared(space, evalset):
    """On a slice distinct-n counts the slice's captions, not the set's."""
    tags = {key: {"half": str(row % 2)} for row, key in enumerate(evalset.keys)}
    cut = replace(evalset, items=tuple(replace(item, tags=tags[item.key]) for item in evalset.items))
    done = compare(measure(space, SYSTEMS, cut, ["clip-s", "distinct-1"]), slice_by="half", settings=QUICK)
    whole, half = (part.measured.measures["distinct-1"].values()[0] for part in done.parts[:2])
    assert whole == pytest.approx((4 + COUNT) / (5 * COUNT))
    assert half == pytest.approx((4 + COUNT // 2) / (5 * COUNT // 2))


@needs_java
def test_text_metrics_are_computed_once(space, evalset, monkeypatch):
    """The second time nothing runs Java; the numbers and signatures are the same."""
    names = ["bleu-4", "rouge-l", "cider"]
    first = measure(space, SYSTEMS, evalset, names)
    monkeypatch.setattr(java, "run", lambda *_: pytest.fail("Java ran"))
    again = measure(space, SYSTEMS, evalset, names)
    for name in names:
        assert np.array_equal(first.measures[name].per_item, again.measures[name].per_item)
        assert str(first.measures[name].signature) == str(again.measures[name].signature)
    assert first.measures["bleu-4"].values()[1] > first.measures["bleu-4"].values()[0]


@needs_java
def test_a_new_system_costs_its_new_captions(space, evalset, monkeypatch):
    """Only captions without a number are scored."""
    measure(space, SYSTEMS, evalset, ["rouge-l"])
    asked = []

    def watched(references, systems, metrics):
        asked.append({name: len(own) for name, own in systems.items()})
        return scoring.score_texts(references, systems, metrics)

    monkeypatch.setattr(text_metrics, "score_texts", watched)
    measure(space, {**SYSTEMS, "c": {**SYSTEMS["a"], drawn.name(3): "a dog"}}, evalset, ["rouge-l"])
    assert asked == [{"c": 1}]


@needs_java
def test_cider_is_known_by_the_whole_set(store):
    """The same caption and references in another set have another document frequency, and are scored anew."""
    words = {row: "a red dog sits there" if row < 3 else "one blue cat walks home" for row in range(6)}
    references = {f"i{row}": [f"{words[row]} {'x' * (row + 1)}"] for row in words}
    captions = {key: f"a red dog sits {row}" for row, key in enumerate(references)}

    def first_three(count):
        keys = list(references)[:count]
        evalset = EvalSet.read(refs={key: references[key] for key in keys})
        return measure(store, {"a": {key: captions[key] for key in keys}}, evalset, ["cider"]).measures["cider"]

    whole, part = (first_three(count).per_item[0, :3] for count in (6, 3))
    assert not np.allclose(whole, part)
    assert np.array_equal(part, first_three(3).per_item[0])


def test_without_java_the_rest_still_runs(space, evalset, monkeypatch):
    """One clear line in place of the text metrics; alone they are an error."""
    pytest.importorskip("pycocoevalcap")

    def no_java(*_):
        raise JavaFault(java.NO_JAVA)

    monkeypatch.setattr(java, "run", no_java)
    made = measure(space, SYSTEMS, evalset, ["clip-s", "cider", "bleu-4"])
    assert list(made.measures) == ["clip-s"]
    assert made.notes == (f"{java.NO_JAVA}; left out: CIDEr, BLEU-4",)
    assert made.notes[0] in compare(made, settings=QUICK).notes
    with pytest.raises(InputError, match="need Java"):
        measure(space, SYSTEMS, evalset, ["cider"])


def test_without_the_extra_the_rest_still_runs(space, evalset, monkeypatch):
    """The line names the extra."""
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda _name: None)
    made = measure(space, SYSTEMS, evalset, ["clip-s", "cider"])
    assert list(made.measures) == ["clip-s"]
    assert "clipstore[text]" in made.notes[0]


def test_a_set_without_images_needs_no_encoder(store):
    """References alone: a store is enough, CLIP-S is refused with a word about images."""
    plain = EvalSet.read(refs=drawn.references(4))
    captions = {"a": drawn.captions(4)}
    assert list(measure(store, captions, plain, ["mean-words"]).measures) == ["mean-words"]
    with pytest.raises(InputError, match="clip-s: the set has no images; give --images"):
        measure(store, captions, plain, ["clip-s"])


def test_a_metric_of_references_needs_some(space, tmp_path):
    """Without references RefCLIP-S asked for is an error, not asked for it is left out."""
    bare = EvalSet.read(images=drawn.draw(tmp_path / "images", 3))
    captions = {"a": drawn.captions(3)}
    assert list(measure(space, captions, bare).measures) == ["clip-s"]
    with pytest.raises(NoReferences, match="--refs"):
        measure(space, captions, bare, ["ref-clip-s"])


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("Bleu_4", "bleu-4"), ("ROUGE_L", "rouge-l"), ("CIDEr", "cider"), ("CLIPScore", "clip-s"), ("R@5", "r@5")],
)
def test_spellings_of_other_tools(spelling, name):
    """The names of pycocoevalcap are ours too."""
    assert metric_name(spelling) == name


def test_names_of_several_metrics():
    """``text`` stands for four; each name once; an unknown one lists those there are."""
    assert metric_names(["cider", "text"]) == ["cider", "bleu-4", "meteor", "rouge-l"]
    with pytest.raises(InputError, match="no metric is called 'blue'"):
        metric_names(["blue"])


def test_tags_come_from_a_table(tmp_path, evalset):
    """Ids in the first column meet the set's ids; images that the table does not name have no tag."""
    table = tmp_path / "tags.csv"
    table.write_text("image,domain\n" + "".join(f"{drawn.name(row)},near\n" for row in range(5)), encoding="utf-8")
    made = tagged(evalset, table)
    assert [item.tags.get("domain") for item in made.items] == ["near"] * 5 + [None] * (COUNT - 5)
    table.write_text("image,domain\nx,1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2 has another number of cells"):
        tagged(evalset, table)


def test_a_published_scorer_keeps_its_own_recipe(space, evalset, monkeypatch):
    """Unless told otherwise a model that has a recipe of its own is measured by it, and by the paper's where asked."""
    scorer = next(one for one in own_recipe.PROFILES.values() if one.recipe == "pac-s")
    monkeypatch.setattr(own_recipe, "PROFILES", {space.shown: scorer})
    assert measure(space, SYSTEMS, evalset, ["clip-s"]).measures["clip-s"].shown == "PAC-S"
    assert measure(space, SYSTEMS, evalset, ["clip-s"], recipe="hessel2021").measures["clip-s"].shown == "CLIP-S"


@needs_java
def test_cached_text_metrics_need_no_package(space, evalset, monkeypatch):
    """What the store knows is answered without pycocoevalcap, signed as made; what it lacks is left out with a line."""
    before = measure(space, SYSTEMS, evalset, ["cider", "bleu-4"])

    def gone(_name):
        raise PackageNotFoundError

    monkeypatch.setattr(java.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(text_metrics.metadata, "version", gone)
    found = text_metrics.text_measures(
        space.catalogue, systems_of(READ, evalset), evalset, ["cider", "bleu-4", "rouge-l"], [("v", "0")]
    )
    assert list(found.measures) == ["cider", "bleu-4"]
    for name in found.measures:
        assert found.measures[name].values() == before.measures[name].values()
        assert (
            dict(found.measures[name].signature.fields)["impl"] == dict(before.measures[name].signature.fields)["impl"]
        )
    assert len(found.problems) == 1
    assert "clipstore[text]" in found.problems[0]
    assert found.problems[0].endswith("left out: ROUGE-L")


def test_captions_cut_are_counted_where_they_are(space, evalset):
    """With images left out, and on a slice, the count of captions that did not fit is that of the images kept."""
    keys = list(SYSTEMS["a"])
    long = {**SYSTEMS["a"], **dict.fromkeys(keys[:3], "word " * 200)}
    short = dict(list(SYSTEMS["b"].items())[1:])
    half = {key: {"half": str(place % 2)} for place, key in enumerate(keys)}
    tagged_set = replace(evalset, items=tuple(replace(item, tags=half[item.key]) for item in evalset.items))
    made = measure(space, {"long": long, "short": short}, tagged_set, ["clip-s"], missing="skip")
    done = compare(made, slice_by="half", missing="skip", settings=QUICK)
    assert [[system.cut for system in part.measured.systems] for part in done.parts] == [[2, 0], [1, 0], [1, 0]]
    assert "cut" in [column.header for column in done.main()[0][0].columns]


def test_headers_of_csv_are_distinct(space, evalset):
    """Programs read columns by name: the interval of the second metric is called by it."""
    done = compare(measure(space, SYSTEMS, evalset), settings=QUICK)
    header = done.to_csv().splitlines()[0].split(",")
    assert len(set(header)) == len(header)
    assert {"95% CI", "RefCLIP-S 95% CI"} <= set(header)
    assert done.to_pipe().splitlines()[0].split("\t").count("95% CI") == 2
