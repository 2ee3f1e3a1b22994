"""Several runs of one system: averaged image by image, their spread kept apart."""

import numpy as np
import pytest
from made import drawn, measured

from clipstore.compare import bundle, compare
from clipstore.errors import InputError
from clipstore.evaluate.averages import average
from clipstore.evaluate.measures import Measure
from clipstore.metrics.score import Signature
from clipstore.significance import Settings

QUICK = Settings(resamples=300)


def test_runs_become_one_system():
    """Its numbers are the means at each image; the spread is that of the runs' means, beside the interval."""
    scores = drawn(4, 150)
    done = compare(average(measured(scores), {"ours": ["s1", "s3"]}), settings=QUICK)
    means = [np.float32(scores[name]).mean() for name in ("s1", "s3")]
    system = {one["name"]: one for one in done.to_dict()["systems"]}["ours"]
    metric = system["metrics"]["clip_s"]
    assert metric["mean"] == pytest.approx(np.mean(means), abs=1e-6)
    assert metric["runs"] == pytest.approx(means, abs=1e-6)
    assert metric["runs_sd"] == pytest.approx(np.std(means, ddof=1), abs=1e-6)
    assert len(system["runs"]) == 2
    assert done.to_pipe().splitlines()[0].split("\t")[:7] == ["#", "system", "n", "runs", "CLIP-S", "95% CI", "runs sd"]
    assert any(line.startswith("runs averaged image by image: ours (2)") for line in done.notes)


def test_a_corpus_metric_takes_the_mean_of_the_runs_values():
    """Not the value of the mean: systems with 1, 2 and 3 runs stand in one table."""
    rng = np.random.default_rng(0)
    statistics = rng.integers(1, 9, (6, 80, 2)).astype(float)
    given = measured(drawn(6, 80))
    ratio = Measure(
        "bleu-4",
        Signature("BLEU-4", (("v", "0"),)),
        statistics[:, :, 0] / statistics[:, :, 1],
        "corpus",
        statistics,
        lambda sums: sums[..., 0] / sums[..., 1],
    )
    from dataclasses import replace

    made = average(replace(given, measures={"bleu-4": ratio}), {"two": ["s0", "s1"], "three": ["s2", "s3", "s4"]})
    each = statistics.sum(axis=1)
    values = each[:, 0] / each[:, 1]
    assert made.names == ("two", "three", "s5")
    assert made.measures["bleu-4"].values() == pytest.approx((values[:2].mean(), values[2:5].mean(), values[5]))
    found = compare(made, settings=QUICK).to_dict()["systems"][1]["metrics"]["bleu_4"]
    assert found["ci"][0] < found["mean"] < found["ci"][1]


def test_a_run_that_is_not_there():
    """The message lists the systems there are."""
    with pytest.raises(InputError, match="no run is called 's9'"):
        average(measured(drawn(2, 10)), {"ours": ["s0", "s9"]})


def test_runs_on_some_images():
    """Slices of averaged runs count their own images and words; their captions slice, and stand in the bundle."""
    scores = {name: values.copy() for name, values in drawn(3, 120).items()}
    scores["s1"][:4] = np.nan
    tags = tuple({"domain": str(row % 2)} for row in range(120))
    made = average(measured(scores, tags=tags), {"ours": ["s2", "s1"]})
    done = compare(made, slice_by="domain", missing="skip", settings=QUICK)
    assert [[system.n for system in part.measured.systems] for part in done.parts] == [[116] * 2, [58] * 2, [58] * 2]
    assert {name for name in bundle.contents(done) if "captions" in name} == {
        "set/captions/01-s0.json",
        "set/captions/02-ours.run1.json",
        "set/captions/02-ours.run2.json",
    }
    assert '"s2 says 9"' in bundle.contents(done)["set/captions/02-ours.run1.json"]


def test_runs_stand_in_the_order_given():
    """Whatever the order of the systems, a run's number and hash go with the name that was given for it."""
    given = measured(drawn(3, 120))
    ours = next(one for one in average(given, {"ours": ["s2", "s1"]}).systems if one.name == "ours")
    assert ours.runs == (given.systems[2].captions, given.systems[1].captions)
