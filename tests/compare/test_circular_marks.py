"""A system that a metric's own model chose is marked in a comparison by that metric, and by no other."""

import drawn
import pytest

from clipstore import EvalSet, compare, measure, rerank
from clipstore.evalset import load_systems, save
from clipstore.evaluate.measuring import measure_systems
from clipstore.formats import read_captions
from clipstore.rerank import Stage, save_as
from clipstore.search import TextPool, retrieve
from clipstore.significance import Settings

QUICK = Settings(resamples=200)
COUNT = 6


@pytest.fixture
def two(store):
    """Two models in one store."""
    return store.custom_space(drawn.Watched(), "fake"), store.custom_space(drawn.Watched(32), "fake:32")


@pytest.fixture
def loaded(store, two, tmp_path):
    """A saved set with a plain system, picks of each model and of both, picks by log-probability, and a retrieval."""
    one, other = two
    evalset = EvalSet.read(images=drawn.draw(tmp_path / "images", COUNT), refs=drawn.references(COUNT))
    plain = {"plain": read_captions(drawn.captions(COUNT))}
    save(store, "six", evalset, plain, store.identify(evalset.images()).ids)
    loaded = EvalSet.load(store, "six")
    rows = [
        {"image_id": key, "captions": [f"{number} of {key}" for number in range(3)], "logprob": [-1, -3, -2]}
        for key in evalset.keys
    ]
    for name, where, options in (
        ("mine", one, {}),
        ("others", other, {}),
        ("both", store, {"cascade": [Stage(other, 2), Stage(one, 1)]}),
        ("free", store, {"by": "logp"}),
    ):
        save_as(store, loaded, name, rerank(where, rows, loaded, **options))
    found = retrieve(
        one, loaded, TextPool.of_captions(one, "A photo depicts ", [read_captions(drawn.references(COUNT))])
    )
    save(store, "six", loaded, {"near": found.as_system()}, origins={"near": found.origin})
    return loaded


def marked(store, space, loaded):
    """Return the systems that the table's notes call upper bounds."""
    table = compare(measure_systems(space, load_systems(store, loaded, empty="zero"), loaded), settings=QUICK)
    bounds = [line.partition(":")[0] for line in str(table).splitlines() if "upper bound" in line]
    said = [one["name"] for one in table.to_dict()["systems"] if any("upper bound" in line for line in one["warnings"])]
    assert sorted(bounds) == sorted(said)
    return set(bounds)


def test_picks_of_the_metrics_model_are_marked(store, two, loaded):
    """Whoever had a say counts: the selector, a stage of a cascade, the model of a retrieval."""
    assert marked(store, two[0], loaded) == {"mine", "both", "near"}
    assert marked(store, two[1], loaded) == {"others", "both"}


def test_other_captions_under_a_marked_name_are_not(two, loaded):
    """The mark belongs to the captions that were chosen."""
    made = measure(two[0], {"mine": drawn.captions(COUNT, "quite other words on")}, loaded)
    assert not made.notes
