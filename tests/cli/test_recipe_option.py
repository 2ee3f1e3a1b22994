"""``score --recipe``: each recipe is its own column, with its formula applied to the same cosines."""

import drawn
import pytest


def means(run, given, *flags):
    """Return the columns and the first metric's mean of one system."""
    done = run("score", "a.json", *given, *flags)
    assert done.code == 0, done.err
    return done.rows[0], float(done.rows[1][2])


def test_weights_differ_and_the_column_says_so(run, given):
    """PAC-S weighs 2.0 where CLIP-S weighs 2.5; the header and the signature name the recipe."""
    clip_header, clip = means(run, given)
    pac_header, pac = means(run, given, "--recipe", "pac-s")
    assert clip_header[2:4] == ["CLIP-S", "RefCLIP-S"]
    assert pac_header[2:4] == ["PAC-S", "RefPAC-S"]
    assert pac == pytest.approx(clip * 2.0 / 2.5, abs=2e-4)


def test_torchmetrics_has_no_prefix_and_no_reference_term(run, given):
    """Scale 100, no prefix, no second column; the signature says all of it."""
    done = run("score", "a.json", *given, "--recipe", "torchmetrics")
    assert len(done.rows[0]) == 5
    assert "recipe:torchmetrics|prefix:none|w:100" in done.out
    assert "distinct references" not in done.err  # no term reads them: none is encoded


def test_raw_is_the_cosine(run, given, desk):
    """The mean of raw is that of the cosines, which lie in [-1, 1]."""
    _, raw = means(run, given, "--recipe", "raw")
    assert -1 <= raw <= 1


def test_an_unknown_recipe_is_refused(run, given):
    """Exit 2 with those there are."""
    done = run("score", "a.json", *given, "--recipe", "mine")
    assert done.code == 2
    assert "hessel2021" in done.err
    assert drawn.name(0) not in done.out
