"""Checks for continuous integration."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from made import drawn, measured

from clipstore.compare import checks, compare
from clipstore.errors import InputError
from clipstore.significance import Settings

BASE = np.random.default_rng(0).normal(0.7, 0.05, 300)
NOISE = np.random.default_rng(1).normal(0, 0.05, 300)


def done(scores, **more):
    """Compare made-up scores."""
    return compare(measured(scores), settings=Settings(resamples=1000), **more)


def test_a_value_under_the_limit_fails():
    """Raw values; the metric may be left out or spelled as elsewhere."""
    found = checks.under(done({"a": BASE, "b": BASE - 0.2}), checks.limits(["0.6"], "clip-s"))
    assert [(one.system, one.passed) for one in found] == [("a", True), ("b", False)]
    assert checks.limits(["CLIPScore=0.5"], "cider") == {"clip-s": 0.5}


def test_only_a_significant_drop_beyond_the_limit_fails():
    """A large drop fails; a small one, a chance one and a gain do not."""
    scores = {"base": BASE, "far": BASE - 0.1 + NOISE, "near": BASE - 0.01, "up": BASE + 0.1, "chance": BASE + NOISE}
    found = checks.drops(done(scores, baseline="base"), {"clip-s": 0.02})
    assert {one.system: one.passed for one in found} == {"far": False, "near": True, "up": True, "chance": True}


def test_a_drop_needs_a_baseline():
    """Without a baseline there is nothing to drop from."""
    with pytest.raises(InputError, match="--baseline"):
        checks.drops(done({"a": BASE, "b": BASE}), {"clip-s": 0.02})


def test_a_limit_that_is_no_number():
    """The message shows how to write it."""
    with pytest.raises(InputError, match="write METRIC=X"):
        checks.limits(["clip-s=high"], "clip-s")


def test_a_metric_that_is_not_compared():
    """The message lists the metrics there are."""
    with pytest.raises(InputError, match="cider is not in the comparison; there is: clip-s"):
        checks.under(done(drawn(2, 20)), {"cider": 1.0})


def test_junit_is_xml_with_the_signature():
    """Names are escaped, failures counted."""
    one = done({'a<&"': BASE, "b": BASE - 0.2})
    root = ET.fromstring(checks.junit(checks.under(one, {"clip-s": 0.6}), str(one.signature)))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert root.find("properties/property").get("value") == str(one.signature)
    assert [case.get("classname") for case in root.findall("testcase")] == ['a<&"', "b"]


def test_markdown_lists_the_checks():
    """A line a check, failures marked by a word too."""
    text = checks.markdown(checks.under(done({"a": BASE, "b": BASE - 0.2}), {"clip-s": 0.6}))
    assert text.count("\n- ") == 2
    assert "FAILED: b" in text
    assert checks.markdown([]) == ""


def test_a_limit_of_what_is_better_low_is_an_upper_one():
    """A median rank under the limit passes, one above it fails; the check says which way it looks."""
    given = measured({"good": [1.0, 2.0, 3.0], "bad": [5.0, 9.0, 7.0]}, "median-rank", aggregate="median",
                     higher_is_better=False)  # fmt: skip
    made = checks.under(compare(given, settings=Settings(resamples=50)), {"median-rank": 4.0})
    assert [(one.system, one.passed) for one in made] == [("good", True), ("bad", False)]
    assert made[0].name == "median-rank at most 4"
