"""What else is made of an evaluation: information gain, reference curves, probes, systems, plots."""

import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from metaeval_made import ratings

from clipstore.errors import InputError
from clipstore.metaeval import Ratings, gain, metaeval, probes, references, svg, systems
from clipstore.metaeval.scoring import Sources
from clipstore.tables import text


def function(values):
    """Return a metric that gives these numbers."""
    return lambda *_: values


@pytest.fixture
def three(store):
    """An evaluation of three metrics: one that people follow, one that adds to it, one of noise."""
    rng = np.random.default_rng(4)
    main, more, noise = rng.normal(size=(3, 240))
    judged = ratings(main + 0.5 * more, levels=20, per_image=3)
    metrics = {"noise": function(noise), "more": function(more), "main": function(main)}
    return metaeval(judged, store, metrics=[], functions=metrics, resamples=0)


def test_information_gain_takes_the_best_first(three):
    """The metric that explains most comes first in every resample, noise last, and R^2 rises with what adds."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra clipstore[metaeval])")
    found = gain.information_gain(three, resamples=4)
    assert found.picks == (("main", "more", "noise"),) * 4
    curve = found.scores.mean(axis=0)
    assert curve[1] > curve[0] + 0.05
    assert abs(curve[2] - curve[1]) < 0.02
    assert found.to_dict()["steps"][0]["picks"] == {"main": 4}
    assert "main" in text(found.table())
    assert ET.fromstring(found.svg()).tag.endswith("svg")


def test_gain_drops_rows_jointly(store):
    """A rating that one metric lacks a score for counts for none."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra clipstore[metaeval])")
    rng = np.random.default_rng(0)
    good, holes = rng.normal(size=(2, 60))
    holes[:7] = np.nan
    found = gain.select({"a": good, "b": holes}, good, np.arange(60), 2)
    assert (found.n, found.dropped) == (53, 7)


def test_gain_without_scikit_learn(three, monkeypatch):
    """The message names the extra."""
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(InputError, match=r"clipstore\[metaeval\]"):
        gain.information_gain(three)


def test_gain_needs_two_metrics(store):
    """One metric: nothing to choose."""
    judged = ratings(np.arange(20.0))
    done = metaeval(judged, store, metrics=[], functions={"a": function(np.arange(20.0))}, resamples=0)
    with pytest.raises(InputError, match="two metrics or more"):
        gain.information_gain(done)


def test_a_reference_curve_grows_with_references(store, monkeypatch):
    """Each size uses that many references of a row, each set part of the next."""
    asked = []

    def scored(rows, metrics, _sources):
        asked.append([len(own) for own in rows.references])
        return type("Scored", (), {"values": {"m": np.array([float(len(own)) for own in rows.captions])}})

    monkeypatch.setattr(references, "score_rows", scored)
    judged = ratings(np.arange(12.0))
    found = references.curve(judged, ["m"], Sources(store))
    assert asked == [[1] * 12, [2] * 12]
    assert found.sizes == (1, 2)
    assert found.to_dict()["references"] == [1, 2]
    assert ET.fromstring(found.svg()).tag.endswith("svg")
    bare = Ratings("r", ("i",), ("c",), ((),), np.ones((1, 1)))
    with pytest.raises(InputError, match="needs references"):
        references.curve(bare, ["m"], Sources(store))


def test_systems_are_ranked_against_people(store):
    """A metric that orders systems as people do has rho 1, its reverse -1; few systems carry a warning."""
    names = tuple("abcde"[row % 5] for row in range(100))
    level = np.array(["abcde".index(name) for name in names], float)
    judged = ratings(level, systems=names, levels=5, per_image=5)
    metrics = {"same": function(level), "reverse": function(-level)}
    done = metaeval(judged, store, metrics=[], functions=metrics, resamples=0)
    found = systems.rank(done, resamples=50)
    assert found.spearman == {"same": pytest.approx(1), "reverse": pytest.approx(-1)}
    assert found.systems[0] == "e"
    assert found.intervals["same"] == pytest.approx((1, 1))
    assert "prove little" in found.warning
    assert "5 systems" in text(found.table())


def test_ratings_without_systems_have_no_ranking(three):
    """The message says how many systems are named."""
    with pytest.raises(InputError, match="name 0 systems"):
        systems.rank(three)


REFERENCES = {
    "1": ["Two dogs run left of a red car", "two brown dogs on grass"],
    "2": ["a photo", "an image"],
}


def test_a_probe_swaps_one_word_for_one_that_no_reference_has():
    """A is a reference as written, B differs in one word, of the same family, capital kept; the others stay."""
    found = probes.probe(REFERENCES, seed=3)
    assert set(found.categories) == {"noun", "colour", "count", "relation"}
    known = " ".join(REFERENCES["1"]).lower().split()
    for right, wrong, left in zip(found.first, found.second, found.draws[0], strict=True):
        assert right in REFERENCES["1"]
        assert right not in left
        (pair,) = [pair for pair in zip(right.split(), wrong.split(), strict=True) if pair[0] != pair[1]]
        assert pair[1].lower() not in known
        assert pair[0][0].isupper() == pair[1][0].isupper()
    assert found.excluded["image without a noun to swap"] == 1
    assert set(found.labels.tolist()) == {0}


def test_probes_of_your_own_words():
    """Another list gives other kinds; one that fits nothing is an error."""
    found = probes.probe(REFERENCES, {"medium": [["photo", "painting"]]})
    assert (found.first, found.second) == (("a photo",), ("a painting",))
    with pytest.raises(InputError, match="no reference holds a word"):
        probes.probe(REFERENCES, {"medium": [["opera", "ballet"]]})


def test_a_plot_describes_itself():
    """What a screen reader is told: a title, and what is drawn by what."""
    root = ET.fromstring(svg.lines({"a<b": [1, 2]}, ["x", "y"], "Title", "refs", "tau"))
    said = {one.tag.rpartition("}")[2]: one.text for one in root if one.tag.endswith(("title", "desc"))}
    assert said == {"title": "Title", "desc": "tau by refs: a<b"}


def test_no_two_ticks_of_a_plot_read_alike():
    """Where values lie close together, ticks have the digits that tell them apart."""
    drawing = svg.lines({"a": [0.5346, 0.5370, 0.5372]}, ["1", "2", "3"], "t", "x", "y")
    ticks = re.findall(r'text-anchor="end">([0-9.]+)<', drawing)
    assert len(ticks) == len(set(ticks)) == 6


def test_a_plot_says_its_title_and_escapes_names():
    """SVG that parses, one line a series, with names as they are."""
    made = svg.lines({"a<b": [1.0, 2.0], "c": [float("nan"), 1.5]}, ["x", "y"], "Title & more", "x", "y")
    tree = ET.fromstring(made)
    words = [one.text for one in tree.iter() if one.text]
    assert "Title & more" in words
    assert "a<b" in words
    assert len([one for one in tree.iter() if one.tag.endswith("polyline")]) == 2
