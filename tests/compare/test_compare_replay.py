"""Replay and bundle: a saved comparison can be made again, and given away."""

import copy
import json
import zipfile

import drawn
import pytest

from clipstore import EvalSet
from clipstore.compare import bundle, compare, runs
from clipstore.compare.replay import replay
from clipstore.encoders.fake import FakeEncoder
from clipstore.errors import BadFormat, InputError, NotStored
from clipstore.evalset import save
from clipstore.evaluate.averages import average
from clipstore.evaluate.measuring import measure
from clipstore.formats import read_captions
from clipstore.significance import Settings, streams

COUNT = 110
SYSTEMS = {
    "a": drawn.captions(COUNT),
    "b": drawn.captions(COUNT, "the first words on"),
    "c": drawn.captions(COUNT, "c"),
}


@pytest.fixture
def evalset(tmp_path):
    """Enough drawn images for the bootstrap."""
    return EvalSet.read(images=drawn.draw(tmp_path / "images", COUNT), refs=drawn.references(COUNT))


def made(store, evalset, systems=SYSTEMS, groups=None, **more):
    """Measure, compare and keep."""
    space = store.custom_space(FakeEncoder(), "fake")
    measured = measure(space, systems, evalset, missing="skip")
    averaged = average(measured, groups) if groups else measured
    done = compare(averaged, settings=Settings(resamples=500), missing="skip", **more)
    return runs.keep(store.catalogue, [measured], done, groups, "skip")


@pytest.mark.parametrize("more", [{}, {"baseline": "a"}, {"slice_by": "caption-length"}], ids=str)
def test_the_same_store_gives_the_same_comparison(store, evalset, more):
    """Every hash agrees, means are exact, the same NumPy gives the same p; captions given on the spot are kept."""
    longer = {key: text + " and on" * 9 for key, text in list(SYSTEMS["a"].items())[:50]}
    systems = {**SYSTEMS, "a": {**SYSTEMS["a"], **longer}} if "slice_by" in more else SYSTEMS
    done = made(store, evalset, systems, **more)
    again = replay(store, json.loads(done.to_json()))
    assert again.same, again.first
    assert [one.what for one in again.findings] == [
        *("images", "references", "captions of a", "captions of b", "captions of c", "weights", "encoder"),
        *("settings", "systems and pairs", "means", "intervals", "rank intervals"),
        *("wins, ties, losses", "effect sizes", "p values"),
    ]
    assert again.comparison.pairs == done.pairs


def test_another_seed_agrees_within_monte_carlo_error(store, evalset):
    """The p and the intervals may move as they do between two seeds, and no further."""
    one = json.loads(made(store, evalset).to_json())
    other = compare(
        measure(store.custom_space(FakeEncoder(), "fake"), SYSTEMS, evalset), settings=Settings(resamples=500, seed=3)
    )
    moved = {**one, "pairs": other.to_dict()["pairs"]}
    assert moved["pairs"] != one["pairs"]
    assert replay(store, moved).same


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda one: one["systems"][1].update(captions="0" * 64), "captions of b"),
        (lambda one: one["eval_set"].update(hash="0" * 8, references="0" * 16), "references"),
        (lambda one: one["eval_set"].update(hash="0" * 8, images="0" * 16), "images"),
        (lambda one: one["encoder"].update(fingerprint="0" * 16, weights="1" * 16), "weights"),
        (lambda one: one["systems"][2]["metrics"]["clip_s"].update(mean=0.5), "means"),
        (lambda one: one["pairs"][0].update(p=0.9999), "p values"),
        (lambda one: one["systems"][0]["metrics"]["clip_s"].update(ci=[0.1, 0.2]), "intervals"),
    ],
)
def test_the_first_difference_is_named(store, evalset, change, what):
    """A report that was changed by hand: what differs is said, and nothing after a wrong hash is computed."""
    report = json.loads(made(store, evalset).to_json())
    report["pairs"][0]["p"] = min(report["pairs"][0]["p"], 0.5)
    changed = copy.deepcopy(report)
    change(changed)
    again = replay(store, changed)
    assert again.first is not None
    assert again.first.what == what
    assert (again.comparison is None) == (what not in {"means", "p values", "intervals"})


def test_averaged_runs_are_replayed(store, evalset):
    """Each run's captions are kept and checked by their own hash."""
    done = made(store, evalset, groups={"ours": ["a", "b"]})
    again = replay(store, json.loads(done.to_json()))
    assert again.same, again.first
    assert "captions of b" in [one.what for one in again.findings]


def test_missing_captions_are_replayed(store, evalset):
    """A system that lacks images: the common images are found again."""
    some = dict(list(SYSTEMS["c"].items())[5:])
    done = made(store, evalset, {**SYSTEMS, "c": some})
    assert done.to_dict()["eval_set"]["n"] == COUNT
    assert replay(store, json.loads(done.to_json())).same


def test_a_saved_set_is_found_by_name(store, evalset, open_store, tmp_path):
    """Another store with the same set and systems under their names will do, and a changed system is named."""
    other = open_store("other")
    captions = {name: read_captions(own) for name, own in SYSTEMS.items()}
    for one in (store, other):
        ids = one.identify(evalset.images()).ids
        save(one, "coco", evalset, captions, ids)
    report = json.loads(made(store, EvalSet.load(store, "coco")).to_json())
    measure(other.custom_space(FakeEncoder(), "fake"), SYSTEMS, EvalSet.load(other, "coco"))
    assert replay(other, report).same
    changed = read_captions({**SYSTEMS["b"], drawn.name(0): "something else"})
    save(other, "coco", EvalSet.load(other, "coco"), {"b": changed}, replace=True)
    assert replay(other, report).same, "the captions that b had are kept by their hash"
    report["systems"][1]["captions"] = "0" * 64
    assert replay(other, report).first.what == "captions of b"


def test_a_store_that_knows_nothing_of_it(store, evalset, open_store):
    """The message says which store would do."""
    report = json.loads(made(store, evalset).to_json())
    with pytest.raises(NotStored, match="--store that it was made in"):
        replay(open_store("other"), report)


def test_coarse_metrics_agree_too(store, evalset, monkeypatch):
    """Hits and counts make steps: an end of an interval may move by one where another NumPy draws other numbers."""
    space = store.custom_space(FakeEncoder(), "fake")
    measured = measure(space, SYSTEMS, evalset, ["r@1", "r@5", "r@10", "mean-words"])
    done = runs.keep(store.catalogue, [measured], compare(measured, settings=Settings(resamples=2000)))
    report = json.loads(done.to_json())
    for stream in range(10, 30, 2):
        monkeypatch.setattr(streams, "_SIGNS", stream)
        monkeypatch.setattr(streams, "_COUNTS", stream + 1)
        again = replay(store, report)
        assert again.same, again.first


def changed(report, way, value):
    """Return a copy of a report with one value put in at a path such as ``pairs.0.w``; None takes it out."""
    copied = copy.deepcopy(report)
    *path, last = [int(step) if step.isdigit() else step for step in way.split(".")]
    inner = copied
    for step in path:
        inner = inner[step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return copied


@pytest.mark.parametrize(
    ("way", "value", "what"),
    [
        ("pairs.0.w", 7, "wins, ties, losses"),
        ("pairs.0.t", 110, "wins, ties, losses"),
        ("pairs.1.l", 3, "wins, ties, losses"),
        ("pairs.0.n", 109, "wins, ties, losses"),
        ("pairs.0.exact", True, "wins, ties, losses"),
        ("pairs.0.dz", 0.9, "effect sizes"),
        ("pairs.0.win_rate", 0.9, "effect sizes"),
        ("pairs.0.p_adj", 0.0001, "p values"),
        ("pairs.0.delta", 0.5, "means"),
        ("systems.0.metrics.clip_s.rank_ci", [3, 3], "rank intervals"),
        ("systems.0.metrics.clip_s.n", 3, "means"),
        ("systems.0.cut", 3, "wins, ties, losses"),
        ("settings.alpha", 0.01, "settings"),
        ("settings.seed", 1, "settings"),
        ("signature.clip_s.w", "2", "settings"),
        ("pairs.0", None, "systems and pairs"),
        ("systems.2", None, "systems and pairs"),
        ("encoder.weights", "sha256:0", "weights"),
        ("encoder.fingerprint", "0" * 16, "encoder"),
    ],
)
def test_every_number_of_a_report_is_checked(store, evalset, way, value, what):
    """Whatever is changed by hand in a report, replay names it."""
    report = json.loads(made(store, evalset).to_json())
    if way == "systems.2":  # with its pairs, so that the report still makes sense
        report["pairs"] = [pair for pair in report["pairs"] if "c" not in {pair["a"], pair["b"]}]
    assert replay(store, changed(report, way, value)).first.what == what


@pytest.mark.parametrize(
    ("way", "value", "said"),
    [
        ("settings.resamples", "many", 'settings.resamples is "many", not integer'),
        ("settings.resamples", True, "settings.resamples is true, not integer"),
        ("settings.seed", None, "settings.seed is missing"),
        ("systems.0.metrics", None, "metrics is missing"),
        ("systems.0.metrics", {}, "'a' and the signatures differ in the metric 'clip_s'"),
        ("systems.0.metrics.clip_s.mean", float("nan"), "mean is NaN, not number"),
        ("systems.0.metrics.clip_s.ci", [0.1], r"ci has 1 entries, not 2"),
        ("systems.1.name", "a", "systems has 'a' twice"),
        ("pairs.0.b", "nobody", "'a' against 'nobody' under clip_s, which the report lacks"),
        ("encoder", {}, "encoder.fingerprint is missing"),
        ("parts", "none", 'parts is "none", not array'),
        ("eval_set", [], r"eval_set is \[\], not object"),
        ("more", 1, "more is no part of the schema"),
    ],
)
def test_a_damaged_report_is_refused(store, evalset, way, value, said):
    """What is missing, of another kind, twice or without meaning is named by its place."""
    report = json.loads(made(store, evalset).to_json())
    with pytest.raises(BadFormat, match=said):
        replay(store, changed(report, way, value))


def test_the_recipe_is_kept(store, evalset, open_store):
    """A comparison of another recipe comes out the same, from its run and by the names of its set."""
    captions = {name: read_captions(own) for name, own in SYSTEMS.items()}
    space = store.custom_space(FakeEncoder(), "fake")
    save(store, "coco", evalset, captions, store.identify(evalset.images()).ids)
    measured = measure(space, SYSTEMS, EvalSet.load(store, "coco"), recipe="raw")
    done = runs.keep(store.catalogue, [measured], compare(measured, settings=Settings(resamples=500)))
    report = json.loads(done.to_json())
    assert report["signature"]["clip_s"]["recipe"] == "raw"
    assert replay(store, report).same
    again = replay(store, report | {"run": None})
    assert again.same, again.first
    assert again.comparison.signature == done.signature


@pytest.mark.parametrize("report", [[], {"schema": 1}, None], ids=str)
def test_something_else_is_no_report(store, report):
    """Any other JSON is refused."""
    with pytest.raises(BadFormat, match="compare --json"):
        replay(store, report)


def test_a_bundle_holds_all_and_no_clock(store, evalset, tmp_path):
    """Captions, references, numbers, signatures; equal comparisons give equal bytes."""
    done = made(store, evalset)
    for name in ("one.zip", "two.zip"):
        bundle.write(done, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as file:
        assert set(file.namelist()) == {
            *("README.txt", "report.json", "table.txt", "signatures.txt", "set/references.json", "set/per_item.csv"),
            *("set/captions/01-a.json", "set/captions/02-b.json", "set/captions/03-c.json"),
        }
        assert json.loads(file.read("set/captions/01-a.json")) == SYSTEMS["a"]
        assert replay(store, json.loads(file.read("report.json"))).same
        rows = file.read("set/per_item.csv").decode().splitlines()
        everything = b"".join(file.read(name) for name in file.namelist())
    assert len(rows) == 1 + 3 * COUNT
    assert str(tmp_path).encode() not in everything


def test_plain_scores_have_no_bundle(store, evalset, tmp_path):
    """Without captions at hand a bundle is refused, and no file is left."""
    from clipstore import score

    scores = score(store.custom_space(FakeEncoder(), "fake"), SYSTEMS, evalset)
    with pytest.raises(InputError, match="captions are not at hand"):
        bundle.write(compare(scores, settings=Settings(resamples=100)), tmp_path / "x.zip")
    assert not list(tmp_path.glob("*.zip"))
